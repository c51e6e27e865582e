package codec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// Architecture is general.architecture of a file that holds the speech tokenizer.
const Architecture = "qwen3-tts-tokenizer"

// SampleRate of the audio, Hz; files with another one are refused.
const SampleRate = 24000

// Config is the geometry of the speech tokenizer.
type Config struct {
	Hop     int // samples a frame
	Decoder DecoderConfig
	Kernels kernels.Level // of the convolutions on the CPU; None: ggml's operations, as on other devices
	Rounded bool          // convolutions round weights and inputs to BF16 where Kernels has products of it
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
	maxStages = 16      // of upsampling
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
	m.int("output_sample_rate", SampleRate, SampleRate)
	c := Config{Hop: m.int("decode_upsample_rate", 1, maxHop), Kernels: kernels.Best()}
	m.prefix += "decoder."
	c.Decoder = m.decoder()
	if m.err == nil && c.Decoder.hop() != c.Hop {
		m.fail("decode_upsample_rate is %d, but upsampling by %v and DAC strides %v make %d",
			c.Hop, c.Decoder.Upsampling, c.Decoder.Strides, c.Decoder.hop())
	}
	return c, gguf.AllOf(m.all)
}

// metadata reads values and shapes and remembers the failures.
type metadata struct {
	f      *gguf.File
	prefix string
	err    error // the first
	all    []error
}

func (m *metadata) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if m.err == nil {
		m.err = err
	}
	m.all = append(m.all, err)
}

// int is an integer within bounds.
func (m *metadata) int(key string, low, high int) int {
	n, err := m.f.Int(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	} else if n < low || n > high {
		m.fail("metadata %s%s: %d is not %s", m.prefix, key, n, span(low, high))
	}
	return n
}

func span(low, high int) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("within %d..%d", low, high)
}

func (m *metadata) count(key string) int { return m.int(key, 1, maxCount) }
func (m *metadata) width(key string) int { return m.int(key, 1, maxWidth) }

// float is a positive number.
func (m *metadata) float(key string) float32 { return m.positive(key, m.f.Float32) }

// floatOr is a positive number that the file may leave out.
func (m *metadata) floatOr(key string, def float32) float32 {
	return m.positive(key, func(key string) (float32, error) { return gguf.Or(def)(m.f.Float32(key)) })
}

func (m *metadata) positive(key string, get func(string) (float32, error)) float32 {
	x, err := get(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	} else if !(x > 0) {
		m.fail("metadata %s%s: %g is not positive", m.prefix, key, x)
	}
	return x
}

// widthOr is a width that the file may leave out.
func (m *metadata) widthOr(key string, def func() int) int {
	if m.f.Has(m.prefix + key) {
		return m.width(key)
	}
	return def()
}

// dim is a dimension of a tensor, ggml order; 0 after a failure.
func (m *metadata) dim(name string, i int) int {
	t := m.f.Tensor(name)
	switch {
	case t == nil:
		m.fail("%s: missing", name)
	case i >= len(t.Shape) || t.Shape[i] > maxWidth:
		m.fail("%s: shape %s is not that of this model", name, gguf.FormatShape(t.Shape))
	default:
		return int(t.Shape[i])
	}
	return 0
}

func (m *metadata) decoder() DecoderConfig {
	c := DecoderConfig{
		Codebooks: m.count("num_quantizers"), Semantic: m.count("num_semantic_quantizers"), CodebookSize: m.width("codebook_size"),
		Latent: m.width("latent_dim"), Layers: m.count("num_hidden_layers"), Width: m.width("hidden_size"), FFN: m.width("intermediate_size"),
		Window: m.int("sliding_window", 1, maxWindow), Eps: m.floatOr("rms_norm_eps", 1e-5),
		Attention: nn.AttentionConfig{
			Heads: m.count("num_attention_heads"), KVHeads: m.count("num_key_value_heads"), HeadDim: m.int("head_dim", 2, maxWidth),
			RopeBase: m.float("rope_theta"),
		},
	}
	if c.Semantic >= c.Codebooks {
		m.fail("metadata %snum_semantic_quantizers: %d of %d quantizers", m.prefix, c.Semantic, c.Codebooks)
	}
	if a := c.Attention; m.err == nil && (a.HeadDim%2 != 0 || a.Heads%a.KVHeads != 0) {
		m.fail("metadata %s*: attention heads %d, key-value heads %d, head_dim %d do not fit together", m.prefix, a.Heads, a.KVHeads, a.HeadDim)
	}
	// The reference derives what follows from one number each; files tell that number or have it in their shapes.
	c.CodebookDim = m.widthOr("codebook_dim_internal", func() int { return m.dim("tok_dec.vq_first.0.codebook", 0) })
	c.RVQDim = m.widthOr("codebook_dim", func() int { return 2 * c.CodebookDim })
	c.Upsampling = m.ratios("upsampling_ratios")
	c.Strides = m.strides()
	width := m.widthOr("decoder_dim", func() int { return m.dim(blockName(0)+".conv.weight", 2) })
	for i := range len(c.Strides) + 1 {
		c.Channels = append(c.Channels, width>>i)
	}
	if m.err == nil && width%(1<<len(c.Strides)) != 0 {
		m.fail("DAC chain: %d channels cannot be halved in %d blocks", width, len(c.Strides))
	}
	return c
}

// ratios are factors of the sample rate.
func (m *metadata) ratios(key string) []int {
	list, err := m.f.Ints(m.prefix + key)
	if err != nil {
		m.fail("%w", err)
	}
	if len(list) > maxStages {
		m.fail("metadata %s%s: %d stages", m.prefix, key, len(list))
		return nil
	}
	for i, n := range list {
		if n < 1 || n > maxHop {
			m.fail("metadata %s%s[%d]: %d is not within 1..%d", m.prefix, key, i, n, maxHop)
			return nil
		}
	}
	return list
}

// strides of the DAC blocks. Where metadata does not tell, the blocks are those that have tensors, and their
// transposed convolutions have kernels of twice the stride.
func (m *metadata) strides() (list []int) {
	const key = "upsample_rates"
	if m.f.Has(m.prefix + key) {
		return m.ratios(key)
	}
	for i := 1; m.hasBlock(i) && i <= maxStages && m.err == nil; i++ {
		name := blockName(i) + ".conv_t.weight"
		k := m.dim(name, 0)
		if m.err == nil && (k%2 != 0 || k > 2*maxHop) {
			m.fail("%s: a kernel of %d is not twice a stride", name, k)
		}
		list = append(list, k/2)
	}
	return list
}

func (m *metadata) hasBlock(i int) bool {
	return slices.ContainsFunc(m.f.Tensors(), func(t gguf.TensorInfo) bool {
		return strings.HasPrefix(t.Name, blockName(i)+".res.") || strings.HasPrefix(t.Name, blockName(i)+".conv_t.")
	})
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
