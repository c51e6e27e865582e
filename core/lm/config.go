// Package lm has the two language models of Qwen3-TTS, both stacks of Qwen3 decoder layers: the Talker, which writes
// codebook 0 of each frame, and the CodePredictor, which writes the other codebooks of that frame.
//
// Reference: Qwen3TTSTalkerForConditionalGeneration and Qwen3TTSTalkerCodePredictorModelForConditionalGeneration
// of the official qwen-tts package.
//
// Axes, ggml order (ne[0] first): E channels of the Talker, P channels of the CodePredictor, N positions, V vocabulary.
package lm

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Architecture is general.architecture of a file that holds these models.
const Architecture = "qwen3-tts"

// StackConfig is the geometry of one stack of decoder layers.
type StackConfig struct {
	Layers, Width, FFN int
	nn.AttentionConfig
}

// Config is the geometry of both models.
type Config struct {
	Talker, Predictor StackConfig

	TextVocab, TextWidth int // rows and width of the text embedding
	CodecVocab           int // the Talker's: codes and control ids
	Codebooks            int // codes in a frame, codebook 0 included
	CodebookSize         int // the CodePredictor's vocabulary
	Context              int // most positions of the Talker
}

// Upper bounds that keep a damaged file from asking for absurd work; real models are far below.
const (
	maxLayers = 1024
	maxWidth  = 1 << 20
	maxVocab  = 1 << 24
)

// ReadConfig reads the geometry from a file's metadata.
func ReadConfig(f *gguf.File) (Config, error) {
	m := meta{f: f}
	c := m.config()
	return c, gguf.AllOf(m.all)
}

func (m *meta) config() Config {
	return Config{
		Talker:       m.stack("qwen3-tts.talker."),
		Predictor:    m.stack("qwen3-tts.code_pred."),
		TextVocab:    m.int("qwen3-tts.talker.text_vocab_size", 1, maxVocab),
		TextWidth:    m.int("qwen3-tts.talker.text_hidden_size", 1, maxWidth),
		CodecVocab:   m.int("qwen3-tts.talker.vocab_size", 1, maxVocab),
		Codebooks:    m.int("qwen3-tts.num_code_groups", 2, 256),
		CodebookSize: m.int("qwen3-tts.code_pred.vocab_size", 2, maxVocab),
		Context:      m.int("qwen3-tts.talker.context_length", 64, 1<<24),
	}
}

// meta reads metadata and keeps the errors.
type meta struct {
	f   *gguf.File
	err error // the first
	all []error
}

func (m *meta) fail(err error) {
	if m.err == nil {
		m.err = err
	}
	m.all = append(m.all, err)
}

func (m *meta) int(key string, lo, hi int) int {
	v, err := m.f.Int(key)
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("%s: %d is not in %d..%d", key, v, lo, hi)
	}
	if err != nil {
		m.fail(err)
	}
	return v
}

func (m *meta) float(key string) float32 {
	v, err := m.f.Float32(key)
	if err == nil && v <= 0 {
		err = fmt.Errorf("%s: %v is not above 0", key, v)
	}
	if err != nil {
		m.fail(err)
	}
	return v
}

func (m *meta) stack(prefix string) StackConfig {
	s := StackConfig{
		Layers: m.int(prefix+"block_count", 1, maxLayers),
		Width:  m.int(prefix+"embedding_length", 1, maxWidth),
		FFN:    m.int(prefix+"feed_forward_length", 1, maxWidth),
		AttentionConfig: nn.AttentionConfig{
			Heads:    m.int(prefix+"attention.head_count", 1, 4096),
			KVHeads:  m.int(prefix+"attention.head_count_kv", 1, 4096),
			HeadDim:  m.int(prefix+"attention.key_length", 2, 4096),
			RopeBase: m.float(prefix + "rope.freq_base"),
			Eps:      m.float(prefix + "attention.layer_norm_rms_epsilon"),
		},
	}
	if m.err == nil && s.Heads%s.KVHeads != 0 {
		m.fail(fmt.Errorf("%sattention.head_count: %d heads are no multiple of %d key/value heads", prefix, s.Heads, s.KVHeads))
	}
	if m.err == nil && s.HeadDim%2 != 0 {
		m.fail(fmt.Errorf("%sattention.key_length: %d is odd", prefix, s.HeadDim))
	}
	return s
}

// dims are the sizes that the shape tags of a stack name.
func (s StackConfig) dims(more nn.Dims) nn.Dims {
	d := nn.Dims{"embd": s.Width, "ffn": s.FFN, "qknorm": 1}
	for k, v := range more {
		d[k] = v
	}
	return s.Dims(d)
}
