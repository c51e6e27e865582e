package codec

import (
	"fmt"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// EncoderConfig is the geometry of the encoder.
type EncoderConfig struct {
	Hop          int // samples a frame
	Codebooks    int // codes a frame
	Semantic     int // of these, the ones of the semantic quantiser; the rest are acoustic
	CodebookSize int // entries of a codebook
	CodebookDim  int // width of an entry

	Channels  []int // of SEANet: after the first convolution, after each stage
	Strides   []int // of SEANet's stages, in the order in which the rate falls
	Residuals int   // units in a stage
	Growth    int   // of their dilations, from one unit of a stage to the next
	Compress  int   // channels of a unit's input to those within
	Kernels   SEANetKernels

	Layers, Width, FFN int // of the transformer
	Eps                float32
	Attention          nn.AttentionConfig

	Downsampling int // stride of the convolution behind the transformer; its kernel is twice as long

	// What files may leave out: a bias that published models do not have, and projections that only decoding would ask for.
	downsampleBias, outputs bool
}

// SEANetKernels are the taps of SEANet's convolutions; those of a strided one are twice its stride.
type SEANetKernels struct{ First, Residual, Last int }

// minHop keeps a damaged file from asking for thousands of frames a second: real models have 1920 samples.
const minHop = 240

// ReadEncoderConfig takes the encoder's geometry from a file's metadata, and from the shapes of its tensors what
// metadata does not tell. ReadConfig does not ask for it: a file may hold the decoder alone.
func ReadEncoderConfig(f *gguf.File) (EncoderConfig, error) {
	c, err := readEncoderConfig(f)
	if err != nil {
		return EncoderConfig{}, fmt.Errorf("codec: %w", err)
	}
	return c, nil
}

func readEncoderConfig(f *gguf.File) (EncoderConfig, error) {
	arch, err := f.String("general.architecture")
	if err != nil {
		return EncoderConfig{}, err
	}
	if arch != Architecture {
		return EncoderConfig{}, fmt.Errorf("general.architecture is %q, want %q: this file is not a speech tokenizer", arch, Architecture)
	}
	if !slices.ContainsFunc(f.Tensors(), isEncoder) {
		return EncoderConfig{}, fmt.Errorf("%s*: missing: this speech tokenizer can only decode", encoderPrefix)
	}
	m := &metadata{f: f, prefix: Architecture + "."}
	c := EncoderConfig{Hop: m.int("encode_downsample_rate", minHop, maxHop), Codebooks: m.count("encoder_valid_num_quantizers")}
	m.intOr("input_sample_rate", SampleRate, SampleRate, SampleRate)
	m.prefix += "encoder."
	m.quantizers(&c)
	m.seanet(&c)
	m.transformer(&c)
	m.downsample(&c)
	if m.err == nil && c.hop() != c.Hop {
		m.fail("encode_downsample_rate is %d, but SEANet strides %v and downsampling by %d make %d",
			c.Hop, c.Strides, c.Downsampling, c.hop())
	}
	return c, gguf.AllOf(m.all)
}

// intOr is an integer within bounds that the file may leave out.
func (m *metadata) intOr(key string, def, low, high int) int {
	if m.f.Has(m.prefix + key) {
		return m.int(key, low, high)
	}
	return def
}

func (m *metadata) quantizers(c *EncoderConfig) {
	const book = encoderPrefix + "vq_semantic.0.codebook"
	c.Semantic = m.intOr("num_semantic_quantizers", 1, 1, maxCount)
	c.CodebookSize = m.widthOr("codebook_size", func() int { return m.dim(book, 1) })
	c.CodebookDim = m.widthOr("vector_quantization_hidden_dim", func() int { return m.dim(book, 0) })
	if c.Semantic >= c.Codebooks {
		m.fail("metadata %snum_semantic_quantizers: %d of %d quantizers", m.prefix, c.Semantic, c.Codebooks)
	}
	c.outputs = m.f.Tensor(encoderPrefix+"vq_semantic.output_proj.weight") != nil
}

func (m *metadata) seanet(c *EncoderConfig) {
	filters := m.count("num_filters")
	c.Strides = slices.Clone(m.ratios("upsampling_ratios"))
	slices.Reverse(c.Strides) // the reference names the ratios of its mirror image
	c.Residuals = m.intOr("num_residual_layers", 1, 1, maxStages)
	c.Growth = m.intOr("dilation_growth_rate", 2, 1, maxStages)
	c.Compress = m.intOr("compress", 2, 1, maxCount)
	if len(c.Strides) == 0 {
		m.fail("metadata %supsampling_ratios: none", m.prefix)
	}
	if m.err != nil {
		return
	}
	for i := range len(c.Strides) + 1 {
		c.Channels = append(c.Channels, filters<<i)
	}
	if filters%c.Compress != 0 {
		m.fail("metadata %scompress: %d channels cannot be divided by %d", m.prefix, filters, c.Compress)
	}
	c.Kernels = SEANetKernels{
		First:    m.kernel("kernel_size", convName(0)),
		Residual: m.kernel("residual_kernel_size", unitName(c.module(0, 0))+".blk.1"),
		Last:     m.kernel("last_kernel_size", convName(c.module(len(c.Strides), 1))),
	}
	if d := c.dilation(c.Residuals - 1); d > maxWindow {
		m.fail("metadata %sdilation_growth_rate: %d is too much for %d units", m.prefix, c.Growth, c.Residuals)
	}
}

// kernel is the number of a convolution's taps.
func (m *metadata) kernel(key, name string) int {
	if m.f.Has(m.prefix + key) {
		return m.int(key, 1, maxCount)
	}
	k := m.dim(name+".weight", 0)
	if k > maxCount {
		m.fail("%s.weight: a kernel of %d", name, k)
	}
	return k
}

func (m *metadata) transformer(c *EncoderConfig) {
	c.Layers, c.Width, c.FFN = m.count("num_hidden_layers"), m.width("hidden_size"), m.width("intermediate_size")
	c.Eps = m.floatOr("norm_eps", 1e-5)
	heads := m.count("num_attention_heads")
	c.Attention = nn.AttentionConfig{
		Heads: heads, KVHeads: m.intOr("num_key_value_heads", heads, 1, maxCount),
		HeadDim: m.intOr("head_dim", c.Width/max(heads, 1), 2, maxWidth), RopeBase: m.floatOr("rope_theta", 10000),
	}
	if a := c.Attention; m.err == nil && (a.HeadDim < 2 || a.HeadDim%2 != 0 || a.Heads%a.KVHeads != 0) {
		m.fail("metadata %s*: attention heads %d, key-value heads %d, head_dim %d do not fit together", m.prefix, a.Heads, a.KVHeads, a.HeadDim)
	}
}

func (m *metadata) downsample(c *EncoderConfig) {
	const name = encoderPrefix + "downsample"
	k := m.dim(name+".weight", 0)
	if m.err == nil && (k%2 != 0 || k > 2*maxHop) {
		m.fail("%s.weight: a kernel of %d is not twice a stride", name, k)
	}
	c.Downsampling = k / 2
	c.downsampleBias = m.f.Tensor(name+".bias") != nil
}

// hop is the number of samples that become a frame; more than maxHop is not counted to the end.
func (c *EncoderConfig) hop() int {
	n := c.Downsampling
	for _, r := range c.Strides {
		if n *= r; n > maxHop {
			return n
		}
	}
	return n
}

// dilation of unit j of a stage; more than maxWindow is not counted to the end.
func (c *EncoderConfig) dilation(j int) int {
	d := 1
	for range j {
		if d *= c.Growth; d > maxWindow {
			break
		}
	}
	return d
}
