package checkpoint

import (
	"encoding/json"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// model is what a checkpoint becomes.
type model struct {
	metadata []gguf.Entry
	layout
	textVocab int      // rows of the text embedding; 0 for the codec
	textIDs   []textID // text tokens that the prompt is made of
}

// textID is a field of config.json with the id of a text token.
type textID struct {
	field string
	id    int
}

func (m *model) set(key string, value any) {
	m.metadata = append(m.metadata, gguf.Entry{Key: key, Value: value})
}

// setInt stores an integer as GGUF files of this kind have them.
func (m *model) setInt(key string, n int) { m.set(key, uint32(n)) }

func (m *model) setInts(key string, list []int) {
	out := make([]int32, len(list))
	for i, n := range list {
		out[i] = int32(n)
	}
	m.set(key, out)
}

// describe reads the configuration and returns the model, without having looked at the weights.
func describe(config object) (*model, error) {
	var m *model
	switch kind := modelType(config); kind {
	case "qwen3_tts":
		m = describeTalker(config)
	case "qwen3_tts_tokenizer_12hz":
		m = describeCodec(config)
	case "":
		config.failf("model_type", "missing")
	case "qwen3_tts_tokenizer_25hz":
		config.failf("model_type", "the 25 Hz tokenizer is not supported, only the one of 12 Hz")
	default:
		config.failf("model_type", "%q is not a Qwen3-TTS model", kind)
	}
	if err := *config.err; err != nil {
		return nil, err
	}
	return m, nil
}

// modelType is model_type, or what the class in architectures implies when that is all there is.
func modelType(config object) string {
	if config.has("model_type") {
		return config.string("model_type")
	}
	var classes []string
	if json.Unmarshal(config.values["architectures"], &classes) != nil || len(classes) == 0 {
		return ""
	}
	switch classes[0] {
	case "Qwen3TTSForConditionalGeneration":
		return "qwen3_tts"
	case "Qwen3TTSTokenizerV2Model":
		return "qwen3_tts_tokenizer_12hz"
	}
	return classes[0]
}
