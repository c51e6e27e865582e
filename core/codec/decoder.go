package codec

import (
	"fmt"
	"math"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Decoder turns codes into audio. It holds the weights and does not change; a Stream decodes.
type Decoder struct {
	cfg     Config
	be      *ggml.Backend
	weights *nn.Weights

	front    front
	upsample []Upsample
	convPre  Conv
	blocks   []Block
	actPost  Snake
	convPost Conv
	lookback int // frames whose rows reach the ones that follow through the convolutions after the front
}

// front is what works at the rate of the frames.
type front struct {
	First       Quantizer   `gguf:"vq_first"`
	Rest        Quantizer   `gguf:"vq_rest"`
	Conv        Conv        `gguf:"pre_conv" shape:"3,rvq,latent"`
	Transformer Transformer `gguf:"pre_tfm"`
}

// LoadDecoder brings the decoder's weights onto a backend. The file must stay open until Free. Errors name the tensor.
func LoadDecoder(be *ggml.Backend, f *gguf.File, cfg Config) (*Decoder, error) {
	d := &Decoder{cfg: cfg, be: be}
	l := nn.NewLoader(be, f)
	l.Ignore("tok_enc.")
	l.Later = true // while the first codes are made
	err := d.load(l)
	if err != nil {
		l.Abandon()
	} else {
		d.weights, err = l.Finish()
	}
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return d, nil
}

// form is what the backend can compute convolutions with.
func (d *Decoder) form() form {
	if d.be != nil && !d.be.HasKernels() { // without a backend nothing is loaded, see Check
		return form{}
	}
	return form{d.cfg.Kernels, d.cfg.Rounded && d.cfg.Kernels.Rounds()}
}

func (d *Decoder) load(l *nn.Loader) error {
	c := &d.cfg.Decoder
	dims := c.Attention.Dims(nn.Dims{
		"book": c.CodebookDim, "entries": c.CodebookSize, "rvq": c.RVQDim, "latent": c.Latent, "4latent": 4 * c.Latent,
		"embd": c.Width, "ffn": c.FFN,
	})
	d.front.First.Codebooks = make([]ggml.Tensor, c.Semantic)
	d.front.Rest.Codebooks = make([]ggml.Tensor, c.Codebooks-c.Semantic)
	d.front.Transformer.Layers = make([]Layer, c.Layers)
	f := d.form()
	d.front.Conv.form, d.convPre.form, d.convPost.form = f, f, f
	if err := l.Load(&d.front, "tok_dec", dims); err != nil {
		return err
	}
	d.upsample = make([]Upsample, len(c.Upsampling))
	for i := range d.upsample {
		d.upsample[i].Conv.stride, dims["ratio"] = c.Upsampling[i], c.Upsampling[i]
		d.upsample[i].Conv.form = f
		if err := l.Load(&d.upsample[i], fmt.Sprintf("tok_dec.upsample.%d", i), dims); err != nil {
			return err
		}
	}
	return d.loadDAC(l, c, f)
}

func (d *Decoder) loadDAC(l *nn.Loader, c *DecoderConfig, f form) error {
	n := len(c.Strides)
	if err := d.convPre.LoadFrom(l, blockName(0)+".conv", []int{7, c.Latent, c.Channels[0]}); err != nil {
		return err
	}
	for i, stride := range c.Strides {
		d.blocks = append(d.blocks, newBlock(stride, f))
		dims := nn.Dims{"taps": 2 * stride, "in": c.Channels[i], "out": c.Channels[i+1]}
		if err := l.Load(&d.blocks[i], blockName(i+1), dims); err != nil {
			return err
		}
	}
	if err := d.actPost.LoadFrom(l, blockName(n+1)+".snake", []int{c.Channels[n]}); err != nil {
		return err
	}
	err := d.convPost.LoadFrom(l, blockName(n+2)+".conv", []int{7, c.Channels[n], 1})
	d.lookback = lookback(d.convs()[1:])
	return err
}

// Free releases the weights, after all streams were closed.
func (d *Decoder) Free() {
	if d != nil {
		d.weights.Free()
	}
}

// Config is the decoder's geometry.
func (d *Decoder) Config() Config { return d.cfg }

// Hop is the number of samples a frame becomes.
func (d *Decoder) Hop() int { return d.cfg.Hop }

// Codebooks is the number of codes in a frame.
func (d *Decoder) Codebooks() int { return d.cfg.Decoder.Codebooks }

// CodebookSize is the number of entries of a codebook: codes are below it.
func (d *Decoder) CodebookSize() int { return d.cfg.Decoder.CodebookSize }

// Bytes are the sizes of the weights used in place and of the copies.
func (d *Decoder) Bytes() (inPlace, copied uint64) { return d.weights.Bytes() }

// Pending is about how many bytes of weights are still to be copied; see nn.Weights.
func (d *Decoder) Pending() uint64 { return d.weights.Pending() }

// forward maps codes I32 [T, codebooks] to samples [1, hop·T], not yet limited.
func (d *Decoder) forward(codes ggml.Tensor, m *memory, span *nn.Span) ggml.Tensor {
	x := d.front.Forward(codes, m, span, &d.cfg.Decoder)
	for i := range d.upsample {
		x = d.upsample[i].Forward(x, m, i) // [latent, ratio·T]
	}
	y, x := d.convPre.forward(x, m, then{snake: d.act(0)})
	y.Tap("dac_conv_pre")
	for i := range d.blocks {
		x = d.blocks[i].Forward(x, m, i, d.act(i+1)) // [C/2, stride·T]
	}
	x.Tap("dac_snake_post")
	return d.convPost.Forward(x, m).Tap("dac_conv_post") // [1, T]
}

// act is the activation before the DAC chain's block i, or after the last block.
func (d *Decoder) act(i int) *Snake {
	if i < len(d.blocks) {
		return &d.blocks[i].Act
	}
	return &d.actPost
}

// Forward maps codes I32 [T, codebooks] to [latent, T].
func (f *front) Forward(codes ggml.Tensor, m *memory, span *nn.Span, c *DecoderConfig) ggml.Tensor {
	firstSum, first := f.First.Forward(codes, 0)
	restSum, rest := f.Rest.Forward(codes, c.Semantic)
	firstSum.Tap("rvq_first_embsum")
	restSum.Tap("rvq_rest_embsum")
	x := first.Tap("rvq_first").Add(rest.Tap("rvq_rest")).Tap("rvq_sum") // [RVQ, T]
	x = f.Conv.Forward(x, m).Tap("pre_conv")                             // [latent, T]
	return f.Transformer.Forward(x, span, c)
}

// convs lists what the convolutions remember, in the order of the computation, each with the rows that a frame has
// there.
func (d *Decoder) convs() (list []rated) {
	add := func(p *past, rate int) { list = append(list, rated{p, rate}) }
	rate := 1
	add(&d.front.Conv.past, rate)
	for i := range d.upsample {
		u := &d.upsample[i]
		add(&u.Conv.past, rate)
		rate *= u.Conv.stride
		add(&u.DW.past, rate)
	}
	add(&d.convPre.past, rate)
	for i := range d.blocks {
		b := &d.blocks[i]
		add(&b.Conv.past, rate)
		rate *= b.Conv.stride
		for j := range b.Res {
			add(&b.Res[j].Conv1.past, rate)
		}
	}
	add(&d.convPost.past, rate)
	return list
}

// rated is what a convolution remembers, at some number of rows a frame.
type rated struct {
	*past
	rate int
}

// lookback is the number of frames after which the convolutions remember nothing of what came before these.
func lookback(convs []rated) int {
	frames := 0.0
	for _, c := range convs {
		frames += float64(c.rows) / float64(c.rate)
	}
	return int(math.Ceil(frames))
}
