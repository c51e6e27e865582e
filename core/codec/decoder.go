package codec

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Decoder turns codes into audio. It holds the weights and does not change; a Stream decodes.
type Decoder struct {
	cfg     Config
	be      *ggml.Backend
	weights *nn.Weights

	first, rest Quantizer
	front       front
	upsample    []Upsample
	convPre     Conv
	blocks      []Block
	actPost     Snake
	convPost    Conv
}

// front is what comes before the sample rate rises.
type front struct {
	Conv        Conv        `gguf:"pre_conv" shape:"3,rvq,latent"`
	Transformer Transformer `gguf:"pre_tfm"`
}

// LoadDecoder brings the decoder's weights onto a backend. The file must stay open until Close. Errors name the tensor.
func LoadDecoder(be *ggml.Backend, f *gguf.File, cfg Config) (*Decoder, error) {
	d := &Decoder{cfg: cfg, be: be}
	l := nn.NewLoader(be, f)
	l.Ignore("tok_enc.")
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

func (d *Decoder) load(l *nn.Loader) error {
	c := &d.cfg.Decoder
	dims := c.Attention.Dims(nn.Dims{
		"book": c.CodebookDim, "entries": c.CodebookSize, "rvq": c.RVQDim, "latent": c.Latent, "4latent": 4 * c.Latent,
		"embd": c.Width, "ffn": c.FFN,
	})
	d.first.Codebooks = make([]ggml.Tensor, c.Semantic)
	d.rest.Codebooks = make([]ggml.Tensor, c.Codebooks-c.Semantic)
	d.front.Transformer.Layers = make([]Layer, c.Layers)
	for _, part := range []struct {
		dst  any
		name string
	}{{&d.first, "tok_dec.vq_first"}, {&d.rest, "tok_dec.vq_rest"}, {&d.front, "tok_dec"}} {
		if err := l.Load(part.dst, part.name, dims); err != nil {
			return err
		}
	}
	d.upsample = make([]Upsample, len(c.Upsampling))
	for i := range d.upsample {
		d.upsample[i].Conv.stride, dims["ratio"] = c.Upsampling[i], c.Upsampling[i]
		if err := l.Load(&d.upsample[i], fmt.Sprintf("tok_dec.upsample.%d", i), dims); err != nil {
			return err
		}
	}
	return d.loadDAC(l, c)
}

func (d *Decoder) loadDAC(l *nn.Loader, c *DecoderConfig) error {
	n := len(c.Strides)
	if err := d.convPre.LoadFrom(l, blockName(0)+".conv", []int{7, c.Latent, c.Channels[0]}); err != nil {
		return err
	}
	for i, stride := range c.Strides {
		d.blocks = append(d.blocks, newBlock(stride))
		dims := nn.Dims{"taps": 2 * stride, "in": c.Channels[i], "out": c.Channels[i+1]}
		if err := l.Load(&d.blocks[i], blockName(i+1), dims); err != nil {
			return err
		}
	}
	if err := d.actPost.LoadFrom(l, blockName(n+1)+".snake", []int{c.Channels[n]}); err != nil {
		return err
	}
	return d.convPost.LoadFrom(l, blockName(n+2)+".conv", []int{7, c.Channels[n], 1})
}

// Close releases the weights, after all streams.
func (d *Decoder) Close() { d.weights.Free() }

// Config is the decoder's geometry.
func (d *Decoder) Config() Config { return d.cfg }

// SampleRate of the audio, Hz.
func (d *Decoder) SampleRate() int { return d.cfg.SampleRate }

// Hop is the number of samples a frame becomes.
func (d *Decoder) Hop() int { return d.cfg.Hop }

// Codebooks is the number of codes in a frame.
func (d *Decoder) Codebooks() int { return d.cfg.Decoder.Codebooks }

// CodebookSize is the number of entries of a codebook: codes are below it.
func (d *Decoder) CodebookSize() int { return d.cfg.Decoder.CodebookSize }

// WeightBytes are the sizes of the weights used in place and of the copies.
func (d *Decoder) WeightBytes() (inPlace, copied uint64) { return d.weights.Bytes() }

// convs lists what convolutions remember.
func (d *Decoder) convs() []*past {
	list := []*past{&d.front.Conv.past}
	for i := range d.upsample {
		list = append(list, &d.upsample[i].Conv.past, &d.upsample[i].DW.past)
	}
	list = append(list, &d.convPre.past)
	for i := range d.blocks {
		list = append(list, &d.blocks[i].Conv.past)
		for j := range d.blocks[i].Res {
			list = append(list, &d.blocks[i].Res[j].Conv1.past)
		}
	}
	return append(list, &d.convPost.past)
}

// forward maps codes I32 [T, codebooks] to samples [1, hop·T], not yet limited.
func (d *Decoder) forward(codes ggml.Tensor, m *memory, span *nn.Span) ggml.Tensor {
	firstSum, first := d.first.Forward(codes, 0)
	restSum, rest := d.rest.Forward(codes, d.cfg.Decoder.Semantic)
	firstSum.Tap("rvq_first_embsum")
	restSum.Tap("rvq_rest_embsum")
	x := first.Tap("rvq_first").Add(rest.Tap("rvq_rest")).Tap("rvq_sum") // [RVQ, T]
	x = d.front.Conv.Forward(x, m).Tap("pre_conv")                       // [latent, T]
	x = d.front.Transformer.Forward(x, span, &d.cfg.Decoder)
	for i := range d.upsample {
		x = d.upsample[i].Forward(x, m, i) // [latent, ratio·T]
	}
	x = d.convPre.Forward(x, m).Tap("dac_conv_pre")
	for i := range d.blocks {
		x = d.blocks[i].Forward(x, m, i) // [C/2, stride·T]
	}
	x = d.actPost.Forward(x).Tap("dac_snake_post")
	return d.convPost.Forward(x, m).Tap("dac_conv_post") // [1, T]
}
