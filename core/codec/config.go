package codec

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Architecture is general.architecture of a file that holds the speech tokenizer.
const Architecture = "qwen3-tts-tokenizer"

// Config is the geometry of the speech tokenizer.
type Config struct {
	SampleRate int // of the audio, Hz
	Hop        int // samples a frame
	Decoder    DecoderConfig
}

// DecoderConfig is the geometry of the decoder.
type DecoderConfig struct {
	Codebooks    int // codes a frame
	Semantic     int // of these, the ones of the first quantiser; the rest are acoustic
	CodebookSize int // entries of a codebook
	CodebookDim  int // width of an entry
	RVQDim       int // width of a quantiser's output

	Latent     int   // channels between the quantisers and the DAC chain
	Upsampling []int // ratios of the ConvNeXt stages

	Layers, Width, FFN int // of the transformer
	Window             int // positions that a frame attends to, itself included
	Eps                float32
	Attention          nn.AttentionConfig

	Channels []int // of the DAC chain: before the first block, after each block
	Strides  []int // of the DAC blocks
}

// Upper bounds that keep a damaged file from asking for absurd work; real models are far below.
const (
	maxCount  = 1 << 10 // layers, heads, codebooks
	maxWidth  = 1 << 20 // channels, entries
	maxWindow = 1 << 12 // frames
	maxHop    = 1 << 16 // samples
)

// ReadConfig takes the geometry from a file's metadata, and from the shapes of its tensors what metadata does not tell.
func ReadConfig(f *gguf.File) (Config, error) {
	cfg, err := readConfig(f)
	if err != nil {
		return Config{}, fmt.Errorf("codec: %w", err)
	}
	return cfg, nil
}

func readConfig(f *gguf.File) (Config, error) {
	arch, err := f.String("general.architecture")
	if err != nil {
		return Config{}, err
	}
	if arch != Architecture {
		return Config{}, fmt.Errorf("general.architecture is %q, want %q: this file is not a speech tokenizer", arch, Architecture)
	}
	m := &metadata{f: f, prefix: Architecture + "."}
	c := Config{SampleRate: m.int("output_sample_rate", 1, 1<<20), Hop: m.int("decode_upsample_rate", 1, maxHop)}
	m.prefix += "decoder."
	c.Decoder = m.decoder()
	if m.err == nil && c.Decoder.hop() != c.Hop {
		return Config{}, fmt.Errorf("decode_upsample_rate is %d, but upsampling by %v and DAC strides %v make %d",
			c.Hop, c.Decoder.Upsampling, c.Decoder.Strides, c.Decoder.hop())
	}
	return c, m.err
}

// metadata reads values and shapes and remembers the first failure.
type metadata struct {
	f      *gguf.File
	prefix string
	err    error
}

func (m *metadata) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// int is an integer within bounds.
func (m *metadata) int(key string, low, high int) int {
	n, err := m.f.Int(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	} else if n < low || n > high {
		m.fail("metadata %s%s: %d is not within %d..%d", m.prefix, key, n, low, high)
	}
	return n
}

func (m *metadata) count(key string) int { return m.int(key, 1, maxCount) }
func (m *metadata) width(key string) int { return m.int(key, 1, maxWidth) }

// float is a positive number.
func (m *metadata) float(key string) float32 {
	x, err := m.f.Float32(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	} else if !(x > 0) {
		m.fail("metadata %s%s: %g is not positive", m.prefix, key, x)
	}
	return x
}

// shape of a tensor with three dimensions; zeros after a failure.
func (m *metadata) shape(name string) (s [3]int) {
	t := m.f.Tensor(name)
	if t == nil {
		m.fail("%s: missing", name)
		return s
	}
	s = [3]int{1, 1, 1}
	for i, n := range t.Shape {
		if i >= 3 && n != 1 || n > maxWidth {
			m.fail("%s: shape %s is not one of a convolution", name, gguf.FormatShape(t.Shape))
			return s
		}
		if i < 3 {
			s[i] = int(n)
		}
	}
	return s
}

func (m *metadata) decoder() DecoderConfig {
	c := DecoderConfig{
		Codebooks: m.count("num_quantizers"), Semantic: m.count("num_semantic_quantizers"), CodebookSize: m.width("codebook_size"),
		Latent: m.width("latent_dim"), Layers: m.count("num_hidden_layers"), Width: m.width("hidden_size"), FFN: m.width("intermediate_size"),
		Window: m.int("sliding_window", 1, maxWindow), Eps: m.float("rms_norm_eps"),
		Attention: nn.AttentionConfig{
			Heads: m.count("num_attention_heads"), KVHeads: m.count("num_key_value_heads"), HeadDim: m.int("head_dim", 2, maxWidth),
			RopeBase: m.float("rope_theta"),
		},
	}
	if c.Semantic >= c.Codebooks {
		m.fail("metadata %snum_semantic_quantizers: %d of %d quantizers", m.prefix, c.Semantic, c.Codebooks)
	}
	if a := c.Attention; m.err == nil && (a.HeadDim%2 != 0 || a.Heads%a.KVHeads != 0) {
		m.fail("metadata %s: attention heads %d, key-value heads %d, head_dim %d do not fit together", m.prefix, a.Heads, a.KVHeads, a.HeadDim)
	}
	out := m.shape("tok_dec.vq_first.output_proj.weight") // [1, CodebookDim, RVQDim]
	c.CodebookDim, c.RVQDim = out[1], out[2]
	c.Upsampling = m.ratios()
	m.dac(&c)
	return c
}

// ratios of the ConvNeXt stages, whose transposed convolutions have as many taps.
func (m *metadata) ratios() []int {
	const key = "upsampling_ratios"
	list, err := m.f.Ints(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	}
	for _, n := range list {
		if len(list) > maxCount || n < 1 || n > maxHop {
			m.fail("metadata %s%s: %d stages, one with ratio %d", m.prefix, key, len(list), n)
			return nil
		}
	}
	return list
}

// dac follows the DAC blocks for as long as there is one. Their transposed convolutions [2·stride, C out, C in] tell
// strides and channels.
func (m *metadata) dac(c *DecoderConfig) {
	c.Channels = []int{m.shape("tok_dec.dec.0.conv.weight")[2]}
	for i := 1; m.f.Tensor(blockName(i)+".conv_t.weight") != nil; i++ {
		s := m.shape(blockName(i) + ".conv_t.weight")
		if s[0]%2 != 0 || s[0] == 0 || s[0] > 2*maxHop {
			m.fail("%s.conv_t.weight: %d taps, want two for each of the outputs of a row", blockName(i), s[0])
		}
		c.Strides = append(c.Strides, s[0]/2)
		c.Channels = append(c.Channels, s[1])
	}
	if len(c.Strides) == 0 {
		m.fail("%s.conv_t.weight: missing", blockName(1))
	}
}

// blockName of the DAC chain's entry i: 0 is a convolution, the blocks follow, then an activation and a convolution.
func blockName(i int) string { return fmt.Sprintf("tok_dec.dec.%d", i) }

// hop is the number of samples a frame becomes; more than maxHop is not counted to the end.
func (c *DecoderConfig) hop() int {
	n := 1
	for _, list := range [][]int{c.Upsampling, c.Strides} {
		for _, r := range list {
			if n *= r; n > maxHop {
				return n
			}
		}
	}
	return n
}
