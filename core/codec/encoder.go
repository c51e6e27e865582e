package codec

import (
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Encoder turns audio into codes: SEANet brings the samples to 25 rows a second, a transformer looks back over all of
// them, a convolution halves their rate, and two residual vector quantisers, semantic and acoustic, each starting from
// that latent, name its nearest codebook entries. It is the reference's Mimi encoder ("Moshi: a speech-text foundation
// model for real-time dialogue", Défossez et al. 2024). It computes in F32 throughout: nearest neighbours do not forgive
// less.
//
// It holds the weights and does not change.
type Encoder struct {
	cfg     EncoderConfig
	be      *ggml.Backend
	weights *nn.Weights

	seanet      SEANet
	transformer EncoderTransformer
	downsample  Downsample
	semantic    EncoderQuantizer
	acoustic    EncoderQuantizer
}

// encoderPrefix and decoderPrefix are how the names of the two halves' tensors start.
const (
	encoderPrefix = "tok_enc."
	decoderPrefix = "tok_dec."
)

func isEncoder(t gguf.TensorInfo) bool { return strings.HasPrefix(t.Name, encoderPrefix) }

// LoadEncoder brings the encoder's weights onto a backend. The file must stay open until Free. Errors name the tensor.
func LoadEncoder(be *ggml.Backend, f *gguf.File, cfg EncoderConfig) (*Encoder, error) {
	e := &Encoder{cfg: cfg, be: be}
	l := nn.NewLoader(be, f)
	l.Ignore(decoderPrefix)
	err := e.load(l)
	if err != nil {
		l.Abandon()
	} else {
		e.weights, err = l.Finish()
	}
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return e, nil
}

func (e *Encoder) load(l *nn.Loader) error {
	c := &e.cfg
	dims := c.Attention.Dims(nn.Dims{
		"embd": c.Width, "ffn": c.FFN, "book": c.CodebookDim, "entries": c.CodebookSize, "kernel": 2 * c.Downsampling,
		"downsamplebias": flag(c.downsampleBias), "outputs": flag(c.outputs),
	})
	e.transformer.Layers = make([]EncoderLayer, c.Layers)
	e.downsample.stride = c.Downsampling
	e.semantic.Codebooks = make([]Codebook, c.Semantic)
	e.acoustic.Codebooks = make([]Codebook, c.Codebooks-c.Semantic)
	if err := e.seanet.load(l, c); err != nil {
		return err
	}
	for _, part := range []struct {
		dst  any
		name string
	}{{&e.transformer, ""}, {&e.downsample, ""}, {&e.semantic, "vq_semantic"}, {&e.acoustic, "vq_acoustic"}} {
		if err := l.Load(part.dst, strings.TrimSuffix(encoderPrefix+part.name, "."), dims); err != nil {
			return err
		}
	}
	return nil
}

// flag is an optional tensor's entry among the dimensions.
func flag(there bool) int {
	if there {
		return 1
	}
	return 0
}

// Free releases the weights.
func (e *Encoder) Free() {
	if e != nil {
		e.weights.Free()
	}
}

// Config is the encoder's geometry.
func (e *Encoder) Config() EncoderConfig { return e.cfg }

// Hop is the number of samples that become a frame.
func (e *Encoder) Hop() int { return e.cfg.Hop }

// Codebooks is the number of codes in a frame.
func (e *Encoder) Codebooks() int { return e.cfg.Codebooks }

// CodebookSize is the number of entries of a codebook: codes are below it.
func (e *Encoder) CodebookSize() int { return e.cfg.CodebookSize }

// Bytes are the sizes of the weights used in place and of the copies.
func (e *Encoder) Bytes() (inPlace, copied uint64) { return e.weights.Bytes() }

// convs lists what the convolutions remember.
func (e *Encoder) convs() []rated {
	return append(e.seanet.convs(), rated{past: &e.downsample.Kernel.past})
}
