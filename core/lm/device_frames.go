package lm

import (
	"fmt"
	"math"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
)

// Frames computes a Talker's frames whole on the device: a graph draws code 0 from the Talker's logits, completes the
// frame with the CodePredictor, drawing each code and gathering its embedding where it is, and feeds the frame to the
// Talker, whose next logits stay for the next run. What crosses to the device and back is a few kilobytes up and a row of
// numbers down, once a frame. On a GPU that saves more than the computation costs; on the CPU there is nothing to save.
//
// There is a graph for each window of the cache and each way of drawing; the rest is data, so that a graph is replayed
// unchanged.
type Frames struct {
	t      *Talker
	cache  *nn.Cache // of the CodePredictor
	talker *nn.Cache // that the graphs hold
	state  *ggml.Arena
	logits ggml.Tensor // F32 [V, 1]: the Talker's, of the position reached
	graphs map[frameKind]*frame

	codes  []int32
	result []float32
	barred []float32
	seen   []float32
	at     [1]int
}

// frameKind is what graphs differ in.
type frameKind struct {
	window            int
	talker, predictor drawKind
}

// frame is the graph of one frame.
type frame struct {
	graph             *ggml.Graph
	uniforms          []ggml.Tensor // F32 [1] of each codebook
	scores            *talkerScores
	talker, predictor *drawer
	overlay           ggml.Tensor // F32 [E, 1]
	span              *nn.Span
	fixed             []*nn.Span
	result            ggml.Tensor // F32 [2·codebooks]: the codes, and for each the spread of its logits
}

// NewFrames prepares to compute a Talker's only lane. If the device lacks an operation, shared tells that: then drawing on
// the host is the better way.
func (m *Model) NewFrames(t *Talker) (f *Frames, shared bool, err error) {
	f = &Frames{t: t, state: m.be.NewArena(1), graphs: map[frameKind]*frame{}, codes: make([]int32, m.Codebooks),
		result: make([]float32, 2*m.Codebooks), barred: make([]float32, m.CodecVocab), seen: make([]float32, m.CodecVocab)}
	f.logits = f.state.New(ggml.F32, m.CodecVocab, 1)
	if err := f.state.Alloc(); err != nil {
		f.Close()
		return nil, false, err
	}
	if f.cache, err = nn.NewCache(m.be, m.Predictor.Layers, m.Codebooks, m.cacheType, m.Predictor.AttentionConfig); err == nil {
		err = t.reserve(1)
	}
	var g *frame
	if err == nil {
		g, err = f.graph(frameKind{window: minSlots, talker: drawKind{topP: true}, predictor: drawKind{topP: true}})
	}
	if err != nil {
		f.Close()
		return nil, false, fmt.Errorf("frames: %w", err)
	}
	return f, g.graph.Shared(), nil
}

// Close releases the graphs and states; the Talker stays.
func (f *Frames) Close() {
	f.drop()
	f.cache.Free()
	f.state.Free()
}

func (f *Frames) drop() {
	for kind, g := range f.graphs {
		g.graph.Free()
		delete(f.graphs, kind)
	}
}

// Start begins after Prefill: the first frame is drawn from its logits.
func (f *Frames) Start() { f.logits.SetF32(f.t.Logits(0)) }

// Next computes generated frame number n, from 0, as the sampler would draw it, which remembers code 0. The codes are valid
// until the next call. If code 0 is the sampler's EOS, the frame is none and the others mean nothing.
func (f *Frames) Next(n int, s *sample.Sampler) ([]int32, error) {
	l := &f.t.lanes[0]
	if err := f.t.reserve(l.pos + 1); err != nil {
		return nil, err
	}
	c := s.Config()
	g, err := f.graph(frameKind{room(l.pos + 1), kindOf(c.Talker), kindOf(c.Predictor)})
	if err != nil {
		return nil, fmt.Errorf("frame %d: %w", n, err)
	}
	f.upload(g, n, s)
	if err := g.graph.Compute(); err != nil {
		return nil, fmt.Errorf("frame %d: %w", n, err)
	}
	g.result.GetF32(f.result)
	l.pos++
	if err := f.read(n); err != nil {
		l.spoiled = true
		return nil, err
	}
	s.Accept(f.codes[0])
	return f.codes, nil
}

// read takes the codes out of the result, whose second half tells whether the logits were sound: their spread is not
// finite where one of them is not, and zero where all are the same, as sample checks.
func (f *Frames) read(n int) error {
	for k := range f.codes {
		if spread := f.result[len(f.codes)+k]; !(spread > 0 && spread <= math.MaxFloat32) {
			return fmt.Errorf("codebook %d, frame %d: the logits are not finite, or all the same", k, n)
		}
		f.codes[k] = int32(f.result[k])
	}
	return nil
}

// upload sets a graph's inputs, which go up together.
func (f *Frames) upload(g *frame, n int, s *sample.Sampler) {
	c := s.Config()
	for k, u := range g.uniforms {
		u.SetF32([]float32{sample.Uniform(c.Seed, n, k)})
	}
	g.talker.set(c.Talker)
	g.predictor.set(c.Predictor)
	for i := range f.barred {
		f.barred[i], f.seen[i] = 0, 0
	}
	s.Bar(n, f.barred, never)
	for _, id := range s.Drawn() {
		f.seen[id] = 1
	}
	g.scores.penalty.SetF32([]float32{c.Talker.RepetitionPenalty})
	g.scores.one.SetF32([]float32{1})
	g.scores.seen.SetF32(f.seen)
	g.scores.barred.SetF32(f.barred)
	l := &f.t.lanes[0]
	width := f.t.m.Talker.Width
	row := min(n, len(l.overlay)/width-1)
	g.overlay.SetF32(l.overlay[row*width:][:width])
	f.at[0] = l.pos
	g.span.SetLanes(f.at[:])
}

// graph returns that of a kind, built on first use.
func (f *Frames) graph(kind frameKind) (*frame, error) {
	if f.talker != f.t.cache {
		f.drop() // they hold the cache that was outgrown
		f.talker = f.t.cache
	}
	if g := f.graphs[kind]; g != nil {
		return g, nil
	}
	g := &frame{}
	var err error
	m := f.t.m
	nodes := m.talker.nodes() + (m.Codebooks-1)*(m.predictor.nodes()+drawNodes)
	g.graph, err = ggml.Build(m.be, nodes, false, func(b *ggml.Builder) { f.build(b, g, kind) })
	if err != nil {
		return nil, err
	}
	for _, s := range g.fixed {
		s.SetFixed()
	}
	f.graphs[kind] = g
	return g, nil
}

// drawNodes is more than the nodes that drawing a code takes.
const drawNodes = 64

func (f *Frames) build(b *ggml.Builder, g *frame, kind frameKind) {
	m := f.t.m
	for range m.Codebooks {
		g.uniforms = append(g.uniforms, b.Input("uniform", ggml.F32, 1))
	}
	g.scores = newTalkerScores(b, m.CodecVocab)
	g.talker, g.predictor = newDrawer(b, kind.talker, m.CodecVocab), newDrawer(b, kind.predictor, m.CodebookSize)
	g.overlay = b.Input("overlay", ggml.F32, m.Talker.Width, 1)
	g.span = f.talker.Span(b, 1, kind.window)

	ids, numbers, spreads := make([]ggml.Tensor, m.Codebooks), make([]ggml.Tensor, m.Codebooks), make([]ggml.Tensor, m.Codebooks)
	logits := b.Use(f.logits).Reshape(m.CodecVocab)
	ids[0], numbers[0] = g.talker.draw(g.scores.forward(logits), g.uniforms[0])
	spreads[0] = spread(logits)
	for k := range m.Codebooks - 1 {
		logits := f.predict(b, g, k, ids[k]).Reshape(m.CodebookSize)
		ids[k+1], numbers[k+1] = g.predictor.draw(logits, g.uniforms[k+1])
		spreads[k+1] = spread(logits)
	}
	g.result = b.Output("frame", strung(slices.Concat(numbers, spreads))) // before the states that it is made of change
	f.feed(b, g, ids)
}

// predict is the CodePredictor's step that follows code k: the logits of code k+1.
func (f *Frames) predict(b *ggml.Builder, g *frame, k int, id ggml.Tensor) ggml.Tensor {
	m := f.t.m
	var x ggml.Tensor
	at, n := k+1, 1
	if k == 0 {
		at, n = 0, 2
		x = b.Use(f.t.hidden).Concat(id.GetRows(m.talker.CodecEmbd), 1) // [E, 2]
	} else {
		x = id.GetRows(m.predictor.CodecEmbd[k-1])
	}
	span := f.cache.FixedSpan(b, at, n)
	g.fixed = append(g.fixed, span)
	x = m.predictor.Forward(m.project(nn.Few(x)), span, "")
	return m.predictor.Heads[k].Forward(m.predictor.OutputNorm.Forward(last(x, 1), m.Predictor.Eps))
}

// feed is the Talker's step with a frame: it leaves the hidden state and the logits where the next run finds them.
func (f *Frames) feed(b *ggml.Builder, g *frame, ids []ggml.Tensor) {
	m := f.t.m
	x := m.frameEmbedding(func(k int) ggml.Tensor { return ids[k] }).Add(g.overlay)
	x = m.talker.Forward(nn.Few(x), g.span, "")
	h := m.talker.OutputNorm.Forward(x, m.Talker.Eps)
	logits := m.talker.CodecHead.Forward(h)
	h.CopyTo(b.Use(f.t.hidden))
	logits.CopyTo(b.Use(f.logits))
}

// spread is the sum of the squared distances [1] of logits [V] from the first.
func spread(logits ggml.Tensor) ggml.Tensor {
	return logits.Sub(logits.Slice(0, 0, 1)).Sqr().SumRows()
}

// strung puts numbers [1] side by side, halves first.
func strung(x []ggml.Tensor) ggml.Tensor {
	if len(x) == 1 {
		return x[0].Reshape(1)
	}
	half := len(x) / 2
	return strung(x[:half]).Concat(strung(x[half:]), 0)
}
