package lm

import (
	"context"
	"errors"
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/ggml"
)

// ErrContext: the positions asked for exceed the context.
var ErrContext = errors.New("context exceeded")

const (
	minSlots     = 128 // smallest cache and window; both grow by doubling
	prefillChunk = 48  // positions computed at once, between two looks at the context's state: what a kernel takes in one go
)

// Talker is one session of the Talker: its cache, its graphs, and where it stands.
type Talker struct {
	m      *Model
	limit  int // most positions
	probe  Probe
	cache  *nn.Cache
	steps  map[int]*step // by window
	bridge *ggml.Arena
	hidden ggml.Tensor // F32 [E, 1]: final-norm hidden state of the last position; stays on the device

	pos     int
	overlay []float32 // [E] a row: the text's share of each coming frame's embedding, then tts_pad's
	logits  []float32
}

// NewTalker starts a session of at most limit positions. A probe makes all graphs keep their stages.
func (m *Model) NewTalker(limit int, probe Probe) (*Talker, error) {
	t := &Talker{m: m, limit: min(limit, m.Context), probe: probe, steps: map[int]*step{}, bridge: m.be.NewArena(1),
		logits: make([]float32, m.CodecVocab)}
	t.hidden = t.bridge.New(ggml.F32, m.Talker.Width, 1)
	if err := t.bridge.Alloc(); err != nil {
		t.bridge.Free()
		return nil, err
	}
	return t, nil
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

// Limit is the most positions of the session.
func (t *Talker) Limit() int { return t.limit }

// Bytes of the cache.
func (t *Talker) Bytes() uint64 {
	if t.cache == nil {
		return 0
	}
	return t.cache.Bytes()
}

// Hidden is the final-norm hidden state [E, 1] of the last position, on the device.
func (t *Talker) Hidden() ggml.Tensor { return t.hidden }

// room is the smallest power of two of slots, from minSlots on, that holds n positions, bounded by the limit.
func (t *Talker) room(n int) int {
	slots := minSlots
	for slots < n {
		slots *= 2
	}
	return slots
}

// reserve makes room for n positions, keeping those that are there.
func (t *Talker) reserve(n int) error {
	if n > t.limit {
		return fmt.Errorf("%w: %d positions, the limit is %d", ErrContext, n, t.limit)
	}
	if t.cache != nil && t.cache.Slots() >= n {
		return nil
	}
	grown, err := nn.NewCache(t.m.be, t.m.Talker.Layers, t.room(n), t.m.cacheType, t.m.Talker.AttentionConfig)
	if err != nil {
		return fmt.Errorf("talker: cache of %d positions: %w", t.room(n), err)
	}
	if t.cache != nil {
		grown.CopyFrom(t.cache, t.pos)
		t.cache.Free()
	}
	t.cache = grown
	t.dropSteps() // their graphs hold the old cache
	return nil
}

// Prefill starts over with a prompt and returns the logits [V] for codebook 0 of the first frame, valid until the
// next call. xvector [E] stands in for the rows that name the speaker; it may be nil if none does.
func (t *Talker) Prefill(ctx context.Context, p *prompt.Prompt, xvector []float32) ([]float32, error) {
	t.pos = 0
	if err := t.reserve(len(p.Rows)); err != nil {
		return nil, err
	}
	if err := t.embedOverlay(ctx, p); err != nil {
		return nil, err
	}
	chunk := prefillChunk
	if t.probe != nil {
		chunk = len(p.Rows) // stages in one piece
	}
	for at := 0; at < len(p.Rows); at += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(chunk, len(p.Rows)-at)
		if err := t.prefill(p, p.Rows[at:at+n], at, xvector); err != nil {
			return nil, fmt.Errorf("talker: prefill: %w", err)
		}
		t.pos += n
	}
	return t.logits, nil
}

// prefill computes the rows from position at on.
func (t *Talker) prefill(p *prompt.Prompt, rows []prompt.Row, at int, xvector []float32) error {
	var in *rowInputs
	var span *nn.Span
	var logits ggml.Tensor
	g, err := ggml.Build(t.m.be, t.m.talker.nodes(), t.probe != nil, func(b *ggml.Builder) {
		in = t.m.rowInputs(b, p, rows)
		span = t.cache.FixedSpan(b, at, len(rows))
		x := in.embed().Tap("prefill_embeds")
		x = t.m.talker.Forward(x, span, "prefill_layer%d")
		logits = t.m.head(b, x, t.hidden, "prefill_norm", "prefill_logits_last")
	})
	if err != nil {
		return err
	}
	defer g.Free()
	if err := in.set(p, rows, xvector); err != nil {
		return err
	}
	span.SetFixed()
	if err := g.Compute(); err != nil {
		return err
	}
	logits.GetF32(t.logits)
	report(g, "", t.probe)
	return nil
}

// head ends a graph of the Talker: it leaves the last position's hidden state in bridge [E, 1] and returns the
// logits [V, 1].
func (m *Model) head(b *ggml.Builder, x, bridge ggml.Tensor, normTap, logitsTap string) ggml.Tensor {
	x = m.talker.OutputNorm.Forward(x, m.Talker.Eps).Tap(normTap)
	h := last(x)
	h.CopyTo(bridge)
	return b.Output("logits", m.talker.CodecHead.Forward(h).Tap(logitsTap))
}

// step is the graph of one frame for one window of the cache.
type step struct {
	graph   *ggml.Graph
	codes   ggml.Tensor // I32 [codebooks], input
	overlay ggml.Tensor // F32 [E], input
	span    *nn.Span
	logits  ggml.Tensor
}

// Step feeds the codes of generated frame number frame, from 0, and returns the logits [V] for codebook 0 of the
// next one, valid until the next call.
func (t *Talker) Step(codes []int32, frame int) ([]float32, error) {
	if err := t.reserve(t.pos + 1); err != nil {
		return nil, err
	}
	s, err := t.step(t.room(t.pos + 1))
	if err != nil {
		return nil, fmt.Errorf("talker: %w", err)
	}
	s.codes.SetI32(codes)
	s.overlay.SetF32(t.overlayAt(frame))
	s.span.Set(t.pos, t.pos+1)
	if err := s.graph.Compute(); err != nil {
		return nil, fmt.Errorf("talker: step: %w", err)
	}
	s.logits.GetF32(t.logits)
	t.pos++
	return t.logits, nil
}

// step returns the graph for a window, built on first use.
func (t *Talker) step(window int) (*step, error) {
	if s := t.steps[window]; s != nil {
		return s, nil
	}
	s := &step{}
	var err error
	s.graph, err = ggml.Build(t.m.be, t.m.talker.nodes(), false, func(b *ggml.Builder) {
		s.codes = b.Input("codes", ggml.I32, t.m.Codebooks)
		s.overlay = b.Input("overlay", ggml.F32, t.m.Talker.Width)
		s.span = t.cache.Span(b, 1, window)
		x := t.m.frameEmbedding(func(k int) ggml.Tensor { return s.codes.Slice(0, k, 1) }).Add(s.overlay)
		x = t.m.talker.Forward(x, s.span, "")
		s.logits = t.m.head(b, x, t.hidden, "", "")
	})
	if err != nil {
		return nil, err
	}
	t.steps[window] = s
	return s, nil
}
