package lm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml"
)

// ErrContext: the positions asked for exceed the context.
var ErrContext = errors.New("context exceeded")

const (
	minSlots     = 128 // smallest cache and window; both grow by doubling
	prefillChunk = 48  // positions computed at once: what a kernel takes in one go
)

// Talker computes sequences, each in a lane of its own, that share a cache and graphs. A lane's results do not depend on
// the others: which there are, how many are computed together, and where it lies.
type Talker struct {
	m      *Model
	limit  int // most positions of a lane
	probe  Probe
	cache  *nn.Cache
	steps  map[stepKind]*step
	bridge *ggml.Arena
	hidden ggml.Tensor // F32 [E, bridges]: final-norm hidden state of each lane's last position; stays on the device
	lanes  []lane
	at     []int // scratch: positions
	one    [1]Feed
}

// lane is where a sequence stands.
type lane struct {
	prompt  *prompt.Prompt // nil: no sequence
	xvector []float32
	read    int       // texts of the overlay that were embedded
	pos     int       // positions computed
	overlay []float32 // [E] a row: the text's share of each coming frame's embedding, then tts_pad's
	logits  []float32 // [V]
	spoiled bool      // what is not finite has been computed: the cache may have it
}

// NewTalker starts one lane of at most limit positions. A probe makes all graphs keep their stages.
func (m *Model) NewTalker(limit int, probe Probe) (*Talker, error) {
	return m.newTalker(limit, 1, probe)
}

// NewTalkerOf starts lanes of at most limit positions each.
func (m *Model) NewTalkerOf(limit, lanes int) (*Talker, error) { return m.newTalker(limit, lanes, nil) }

func (m *Model) newTalker(limit, lanes int, probe Probe) (*Talker, error) {
	t := &Talker{m: m, limit: min(limit, m.Context), probe: probe, steps: map[stepKind]*step{}, bridge: m.be.NewArena(1),
		lanes: make([]lane, lanes), at: make([]int, lanes)}
	for i := range t.lanes {
		t.lanes[i].logits = make([]float32, m.CodecVocab)
	}
	t.hidden = t.bridge.New(ggml.F32, m.Talker.Width, bridges(lanes))
	if err := t.bridge.Alloc(); err != nil {
		t.bridge.Free()
		return nil, err
	}
	return t, nil
}

// bridges is the number of hidden states: that of each lane and, if there are several, one that is written in place of
// those that are not to change.
func bridges(lanes int) int {
	if lanes == 1 {
		return 1
	}
	return lanes + 1
}

// Close releases the session.
func (t *Talker) Close() {
	t.dropSteps()
	t.cache.Free()
	t.bridge.Free()
}

func (t *Talker) dropSteps() {
	for w, s := range t.steps {
		s.graph.Free()
		delete(t.steps, w)
	}
}

// Limit is the most positions of a lane.
func (t *Talker) Limit() int { return t.limit }

// Bytes of the cache.
func (t *Talker) Bytes() uint64 {
	if t.cache == nil {
		return 0
	}
	return t.cache.Bytes()
}

// Hidden are the final-norm hidden states of the lanes' last positions, on the device: [E, 1] of a single lane, else
// [E, lanes+1], of which the last means nothing.
func (t *Talker) Hidden() ggml.Tensor { return t.hidden }

// Logits are those [V] for codebook 0 of a lane's next frame, valid until the lane goes on.
func (t *Talker) Logits(lane int) []float32 { return t.lanes[lane].logits }

// reserve makes room for n positions in each lane, keeping those that are there.
func (t *Talker) reserve(n int) error {
	if n > t.limit {
		return fmt.Errorf("%w: %d positions, the limit is %d", ErrContext, n, t.limit)
	}
	if t.cache != nil && t.cache.Slots() >= n {
		return nil
	}
	grown, err := nn.NewCacheOf(t.m.be, t.m.Talker.Layers, room(n), len(t.lanes), t.m.keyType, t.m.Talker.AttentionConfig)
	if err != nil {
		return fmt.Errorf("cache of %d positions for each of %d: %w", room(n), len(t.lanes), err)
	}
	if t.cache != nil {
		for i := range t.lanes {
			grown.CopyLane(i, t.cache, i, t.lanes[i].pos)
		}
		t.cache.Free()
	}
	t.cache = grown
	t.dropSteps() // their graphs hold the old cache
	return nil
}

// Length is the number of positions computed in a lane.
func (t *Talker) Length(lane int) int { return t.lanes[lane].pos }

// Start begins a sequence with a prompt; Advance computes it. xvector [E] stands in for the rows that name the speaker;
// it may be nil if none does.
func (t *Talker) Start(lane int, p *prompt.Prompt, xvector []float32) error {
	t.clean(lane)
	l := &t.lanes[lane]
	l.prompt, l.xvector, l.pos, l.read = p, xvector, 0, 0
	l.overlay = make([]float32, (len(p.Overlay)+1)*t.m.Talker.Width)
	if err := t.reserve(len(p.Rows)); err != nil {
		return fmt.Errorf("talker: %w", err)
	}
	return nil
}

// Advance computes the next piece of a prompt, prefillChunk positions at most, and tells whether it was the last. The
// logits are those of the first frame then.
func (t *Talker) Advance(lane int) (done bool, err error) {
	l := &t.lanes[lane]
	if l.read < len(l.prompt.Overlay)+1 {
		if err := t.embedOverlay(l); err != nil {
			return false, err
		}
		return false, nil
	}
	n := min(prefillChunk, len(l.prompt.Rows)-l.pos)
	if t.probe != nil {
		n = len(l.prompt.Rows) // stages in one piece
	}
	if err := t.prefill(lane, n); err != nil {
		return false, fmt.Errorf("talker: prefill: %w", err)
	}
	l.pos += n
	return l.pos == len(l.prompt.Rows), nil
}

// Prefill starts the first lane over with a prompt and returns the logits [V] for codebook 0 of the first frame.
func (t *Talker) Prefill(ctx context.Context, p *prompt.Prompt, xvector []float32) ([]float32, error) {
	if err := t.Start(0, p, xvector); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if done, err := t.Advance(0); done || err != nil {
			return t.Logits(0), err
		}
	}
}

// clean removes from the cache what a sequence has left there that is not finite: the next one does not see it, but adds
// the product with zero, or minus infinity to it.
func (t *Talker) clean(lane int) {
	if t.lanes[lane].spoiled {
		t.cache.ClearLane(lane)
		t.lanes[lane].spoiled = false
	}
}

// judge looks at the logits: they are not finite if anything in the cache is not.
func (l *lane) judge() {
	for _, x := range l.logits {
		if !(math.Abs(float64(x)) <= math.MaxFloat32) {
			l.spoiled = true
			return
		}
	}
}

// Stop ends a lane's sequence.
func (t *Talker) Stop(lane int) {
	t.clean(lane)
	t.lanes[lane].prompt, t.lanes[lane].pos, t.lanes[lane].overlay = nil, 0, nil
}

// Move takes a lane's sequence, which Advance has completed, to a lane without one.
func (t *Talker) Move(to, from int) {
	t.cache.CopyLane(to, t.cache, from, t.lanes[from].pos)
	h := make([]float32, t.m.Talker.Width)
	t.hidden.GetF32At(from*len(h), h)
	t.hidden.SetF32At(to*len(h), h)
	t.lanes[to], t.lanes[from] = t.lanes[from], t.lanes[to]
	t.lanes[from].spoiled = t.lanes[to].spoiled
	t.Stop(from)
}

// prefill computes the next n rows of a lane's prompt.
func (t *Talker) prefill(lane, n int) error {
	var in *rowInputs
	var span *nn.Span
	var logits ggml.Tensor
	l := &t.lanes[lane]
	rows := l.prompt.Rows[l.pos:][:n]
	g, err := ggml.Build(t.m.be, t.m.talker.nodes(), t.probe != nil, func(b *ggml.Builder) {
		in = t.m.rowInputs(b, l.prompt, rows)
		span = t.cache.FixedSpanOf(b, lane, 1, l.pos, n)
		x := in.embed().Tap("prefill_embeds")
		x = t.m.talker.Forward(x, span, "prefill_layer%d")
		h := last(t.m.talker.OutputNorm.Forward(x, t.m.Talker.Eps).Tap("prefill_norm"), 1)
		h.CopyTo(b.Use(t.hidden).Slice(1, lane, 1))
		logits = b.Output("logits", t.m.talker.CodecHead.Forward(h).Tap("prefill_logits_last"))
	})
	if err != nil {
		return err
	}
	defer g.Free()
	if err := in.set(l.prompt, rows, l.xvector); err != nil {
		return err
	}
	span.SetFixed()
	if err := g.Compute(); err != nil {
		return err
	}
	logits.GetF32(l.logits)
	l.judge()
	report(g, "", t.probe)
	return nil
}

// stepKind is what graphs of a frame differ in.
type stepKind struct {
	window int // of the cache
	width  int // lanes computed
}

// step is the graph of one frame.
type step struct {
	graph   *ggml.Graph
	codes   ggml.Tensor // I32 [width, codebooks], input
	overlay ggml.Tensor // F32 [E, width], input
	places  ggml.Tensor // I64 [width], input: where the hidden states go
	span    *nn.Span
	logits  ggml.Tensor // F32 [V, width]

	host struct {
		codes   []int32
		overlay []float32
		places  []int64
		logits  []float32
	}
}

// Feed is a frame for a lane: the codes of generated frame number Frame, from 0.
type Feed struct {
	Lane  int
	Codes []int32
	Frame int
}

// Step feeds the codes of generated frame number frame, from 0, to the first lane and returns the logits [V] for
// codebook 0 of the next one, valid until the next call.
func (t *Talker) Step(codes []int32, frame int) ([]float32, error) {
	t.one[0] = Feed{Codes: codes, Frame: frame}
	err := t.StepAll(t.one[:])
	return t.Logits(0), err
}

// StepAll feeds a frame to some lanes, each at most once; the logits are then those of their next frames.
func (t *Talker) StepAll(feeds []Feed) error {
	s, err := t.stepFor(feeds)
	if err != nil {
		return fmt.Errorf("talker: %w", err)
	}
	t.upload(s, feeds)
	if err := s.graph.Compute(); err != nil {
		return fmt.Errorf("talker: step: %w", err)
	}
	s.logits.GetF32(s.host.logits)
	for _, f := range feeds {
		l := &t.lanes[f.Lane]
		copy(l.logits, s.host.logits[f.Lane*len(l.logits):])
		l.judge()
		l.pos++
	}
	return nil
}

// stepFor makes room and returns the graph for some lanes, built on first use.
func (t *Talker) stepFor(feeds []Feed) (*step, error) {
	lanes, most := 0, 0
	for _, f := range feeds {
		lanes, most = max(lanes, f.Lane+1), max(most, t.lanes[f.Lane].pos+1)
	}
	for i := range t.lanes { // a lane at rest has a place after its last position, too
		if t.lanes[i].prompt != nil {
			most = max(most, min(t.lanes[i].pos+1, t.limit))
		}
	}
	if err := t.reserve(most); err != nil {
		return nil, err
	}
	kind := stepKind{room(most), t.m.width(lanes, len(t.lanes))}
	if s := t.steps[kind]; s != nil {
		return s, nil
	}
	s, err := t.buildStep(kind)
	if err == nil {
		t.steps[kind] = s
	}
	return s, err
}

func (t *Talker) buildStep(kind stepKind) (s *step, err error) {
	s = &step{}
	w, width := kind.width, t.m.Talker.Width
	s.graph, err = ggml.Build(t.m.be, t.m.talker.nodes(), false, func(b *ggml.Builder) {
		s.codes = b.Input("codes", ggml.I32, w, t.m.Codebooks)
		s.overlay = b.Input("overlay", ggml.F32, width, w)
		s.places = b.Input("places", ggml.I64, w)
		s.span = t.cache.SpanOf(b, w, 1, kind.window)
		x := t.m.frameEmbedding(func(k int) ggml.Tensor { return s.codes.Slice(1, k, 1).Reshape(w) }).Add(s.overlay)
		x = t.m.talker.Forward(nn.Few(x), s.span, "")
		h := t.m.talker.OutputNorm.Forward(x, t.m.Talker.Eps)
		b.Expand(h.Reshape(width, w).SetRows(b.Use(t.hidden), s.places))
		s.logits = b.Output("logits", t.m.talker.CodecHead.Forward(h))
	})
	if err != nil {
		return nil, err
	}
	s.host.codes, s.host.overlay = make([]int32, w*t.m.Codebooks), make([]float32, w*width)
	s.host.places, s.host.logits = make([]int64, w), make([]float32, w*t.m.CodecVocab)
	return s, nil
}

// upload sets a graph's inputs. Lanes of its width that are not fed compute something that nobody reads: their hidden
// states go to the row after the last lane's, and their keys to the slot that their next position will overwrite.
func (t *Talker) upload(s *step, feeds []Feed) {
	width, w := t.m.Talker.Width, len(s.host.places)
	for i := range w {
		s.host.places[i] = int64(t.hidden.Dim(1) - 1)
		t.at[i] = min(t.lanes[i].pos, t.cache.Slots()-1)
	}
	for _, f := range feeds {
		l := &t.lanes[f.Lane]
		for k, c := range f.Codes {
			s.host.codes[k*w+f.Lane] = c
		}
		row := min(f.Frame, len(l.overlay)/width-1)
		copy(s.host.overlay[f.Lane*width:][:width], l.overlay[row*width:])
		s.host.places[f.Lane] = int64(f.Lane)
	}
	s.codes.SetI32(s.host.codes)
	s.overlay.SetF32(s.host.overlay)
	s.places.SetI64(s.host.places)
	s.span.SetLanes(t.at)
}

// width is the smallest power of two that is at least n, bounded by most: graphs are built for these numbers of lanes.
func (m *Model) width(n, most int) int {
	w := 1
	for w < n {
		w *= 2
	}
	return min(w, most)
}
