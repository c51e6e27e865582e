package codec

import (
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// Needs are what a speech tokenizer takes, in bytes.
type Needs struct {
	Decoder nn.Footprint // on a CPU
	Plain   nn.Footprint // the decoder on a device for which there are no kernels of ours
	Encoder nn.Footprint
	State   uint64 // of a stream: what convolutions and attention remember
	Graphs  uint64 // of intermediate results, for so many frames at a time; estimated
}

// Check tells all that loading the decoder and, if the file has it, the encoder would refuse, and what they and a stream
// of width frames at a time would take. With values it also reads all weights for wrong ones. It loads nothing.
func Check(f *gguf.File, width int, values bool) (n Needs, err error) {
	var all []error
	cfg, err := ReadConfig(f)
	if err != nil {
		all = append(all, err)
	} else {
		d := &Decoder{cfg: cfg}
		var problems []error
		n.Decoder, problems = check(f, values, encoderPrefix, d.load)
		all = append(all, problems...)
		plain := cfg
		plain.Kernels = kernels.None
		n.Plain, _ = check(f, false, encoderPrefix, (&Decoder{cfg: plain}).load)
		n.State, n.Graphs = d.stateBytes(), d.graphBytes(width)
	}
	if slices.ContainsFunc(f.Tensors(), isEncoder) {
		if cfg, err := ReadEncoderConfig(f); err != nil {
			all = append(all, err)
		} else {
			var problems []error
			n.Encoder, problems = check(f, values, decoderPrefix, (&Encoder{cfg: cfg}).load)
			all = append(all, problems...)
		}
	}
	return n, gguf.AllOf(all)
}

// check goes through what load loads, but for the tensors of the other half.
func check(f *gguf.File, values bool, other string, load func(*nn.Loader) error) (nn.Footprint, []error) {
	l := nn.NewChecker(f)
	l.Ignore(other)
	if err := load(l); err != nil {
		return nn.Footprint{}, []error{err}
	}
	return l.Footprint(), l.Problems(values)
}

// stateBytes are those of a stream's memory.
func (d *Decoder) stateBytes() uint64 {
	n := uint64(0)
	for _, p := range d.convs() {
		n += uint64(p.channels) * uint64(p.rows) * uint64(p.typ.BlockBytes())
	}
	c := d.cfg.Decoder
	return n + 2*uint64(ggml.F32.BlockBytes())*uint64(c.Layers)*uint64(c.Attention.KVHeads*c.Attention.HeadDim)*uint64(c.slots())
}

// buffers is about how many rows of the widest stage a graph holds at a time.
const buffers = 12

// graphBytes estimates the intermediate results of width frames.
func (d *Decoder) graphBytes(width int) uint64 {
	c := d.cfg.Decoder
	rate, widest := 1, 0
	for _, r := range c.Upsampling {
		rate *= r
	}
	for i, s := range c.Strides {
		rate *= s
		widest = max(widest, rate*c.Channels[i+1])
	}
	return 4 * buffers * uint64(widest) * uint64(width)
}
