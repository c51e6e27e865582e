package speaker

import (
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/ggml"
)

// pass is the graph for one clip.
type pass struct {
	graph   *ggml.Graph
	in      *inputs
	xvector ggml.Tensor // [Width, 1]
}

// build makes the graph for a number of frames.
func (e *Encoder) build(frames int, taps bool) (*pass, error) {
	p := &pass{}
	nodes := 256 + len(e.net.Blocks)*(64+16*e.cfg.Scale)
	var err error
	p.graph, err = ggml.Build(e.be, nodes, taps, func(b *ggml.Builder) {
		p.in = newInputs(b, frames)
		p.xvector = b.Output("xvector", e.net.Forward(p.in))
	})
	return p, err
}

// Forward maps the mel spectrogram [bands, T] to the x-vector [Width, 1].
func (n *network) Forward(in *inputs) ggml.Tensor {
	x := tap(n.Stem.Forward(in.mel.Tap("mel"), in), "blk0_tdnn") // [C, T]
	outs := make([]ggml.Tensor, len(n.Blocks))
	for i := range n.Blocks {
		x = n.Blocks[i].Forward(x, in, i+1)
		outs[i] = x
	}
	x = tap(n.Aggregate.Forward(concat(outs), in), "mfa") // [A, T]
	x = tap(n.Pooling.Forward(x, in), "asp_pooled")       // [2A, 1]
	return n.FC.Forward(x, in).Tap("xvector")
}

// inputs of a graph: the spectrogram, and for each window of a convolution the frames that its outputs see.
type inputs struct {
	b       *ggml.Builder
	mel     ggml.Tensor            // F32 [bands, T]
	windows map[window]ggml.Tensor // I32 [K·T]
}

func newInputs(b *ggml.Builder, frames int) *inputs {
	return &inputs{b: b, mel: b.Input("mel", ggml.F32, audio.MelBands, frames), windows: map[window]ggml.Tensor{}}
}

// frames are the numbers of the frames that a window's outputs see.
func (in *inputs) frames(w window) ggml.Tensor {
	ids, ok := in.windows[w]
	if !ok {
		ids = in.b.Input("frames", ggml.I32, w.taps*in.mel.Dim(1))
		in.windows[w] = ids
	}
	return ids
}

// set uploads all inputs.
func (in *inputs) set(mel []float32) {
	in.mel.SetF32(mel)
	for w, ids := range in.windows {
		ids.SetI32(w.frames(in.mel.Dim(1)))
	}
}

// Probe receives the result of a stage under the name that the reference data has for it, with its shape in ggml order.
type Probe func(name string, shape []int, values []float32)

// tap names a stage [C, T]; it is kept as [T, C], which is how the reference lays it out.
func tap(x ggml.Tensor, format string, args ...any) ggml.Tensor {
	x.Transpose().TapF(format, args...)
	return x
}

// report hands the stages of a computed graph to probe.
func report(g *ggml.Graph, probe Probe) {
	for _, t := range g.Taps() {
		v := make([]float32, t.Elements())
		t.GetF32(v)
		probe(t.Name, t.Shape(), v)
	}
}
