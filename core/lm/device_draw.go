package lm

import (
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
)

// What core/sample does with logits, as operations of a graph, so that a frame's codes need not visit the host. The sums
// are in F32 and in the device's order, sample's in float64: a code differs where the random number falls on the edge
// between two codes, about once in a hundred thousand draws, and at exact ties: those with the last score that top-p
// keeps all stay.

// drawKind is what graphs that draw differ in; everything else is data.
type drawKind struct {
	greedy, topP bool
}

func kindOf(p sample.Params) drawKind {
	if p.Greedy() {
		return drawKind{greedy: true}
	}
	return drawKind{topP: p.TopP < 1}
}

// drawer is one stack's parameters as inputs of a graph.
type drawer struct {
	drawKind
	size        int         // of the vocabulary
	temperature ggml.Tensor // F32 [1]
	kth         ggml.Tensor // I32 [1]: rank of the last code that top-k keeps
	tail        ggml.Tensor // F32 [1]: probability that top-p may cut off
	last        ggml.Tensor // I32 [1]: size - 1
	count       ggml.Tensor // F32 [1]: size
}

func newDrawer(b *ggml.Builder, kind drawKind, size int) *drawer {
	d := &drawer{drawKind: kind, size: size}
	if kind.greedy {
		return d
	}
	d.temperature, d.kth = b.Input("temperature", ggml.F32, 1), b.Input("kth", ggml.I32, 1)
	d.last, d.count = b.Input("last", ggml.I32, 1), b.Input("count", ggml.F32, 1)
	if kind.topP {
		d.tail = b.Input("tail", ggml.F32, 1)
	}
	return d
}

// set uploads the parameters.
func (d *drawer) set(p sample.Params) {
	if d.greedy {
		return
	}
	k := d.size
	if p.TopK > 0 {
		k = min(p.TopK, d.size)
	}
	d.temperature.SetF32([]float32{p.Temperature})
	d.kth.SetI32([]int32{int32(k - 1)})
	d.last.SetI32([]int32{int32(d.size - 1)})
	d.count.SetF32([]float32{float32(d.size)})
	if d.topP {
		d.tail.SetF32([]float32{p.Tail()})
	}
}

// draw maps scores F32 [V, 1] and a random number F32 [1] to a code I32 [1] and the same as F32 [1].
func (d *drawer) draw(scores, u ggml.Tensor) (id, number ggml.Tensor) {
	if d.greedy {
		// An index of logits that are not numbers may be anything, and is not to lead a gather astray.
		number = scores.Reshape(d.size, 1).ArgMax().Cast(ggml.F32).Clamp(0, float32(d.size-1))
		return number.Cast(ggml.I32), number
	}
	s := scores.Reshape(d.size).Div(d.temperature)
	ranked := s.ArgSort(true).GetRows(column(s)) // [1, V]: the best first
	w := s.Sub(ranked.Reshape(d.size).Slice(0, 0, 1)).Exp()
	w = drop(w, s, d.kth.GetRows(ranked))
	if d.topP {
		w = drop(w, s, d.worstKept(s, w))
	}
	sums := w.CumSum()
	at := d.passed(sums, u)
	return at.Cast(ggml.I32), at
}

// column views a vector [V] as a table of V rows [1, V].
func column(x ggml.Tensor) ggml.Tensor { return x.Reshape(1, x.Elements()) }

// drop makes the weights w [V] of codes whose score is below least [1, 1] zero.
func drop(w, scores, least ggml.Tensor) ggml.Tensor {
	below := scores.Sub(least.Reshape(1)).Scale(-1).Step()
	return w.Sub(w.Mul(below))
}

// passed is the index F32 [1] of the first of ascending sums [V] beyond a share [1] of the last one.
func (d *drawer) passed(sums, share ggml.Tensor) ggml.Tensor {
	total := d.last.GetRows(column(sums)).Reshape(1)
	beyond := sums.Sub(total.Mul(share)).Step()
	return d.count.Sub(beyond.SumRows()).Clamp(0, float32(d.size-1))
}

// worstKept is the score [1, 1] of the worst code that top-p keeps: from the worst one on, as many go as together have
// no more than the tail of all weight, but never the best.
func (d *drawer) worstKept(scores, w ggml.Tensor) ggml.Tensor {
	order := scores.ArgSort(false)
	sums := order.GetRows(column(w)).Reshape(d.size).CumSum()
	at := d.passed(sums, d.tail).Cast(ggml.I32)
	return at.GetRows(order.GetRows(column(scores)))
}

// never takes the place of minus infinity in sums with products: 0 · never is 0.
const never = -1e30

// talkerScores is what sample makes of the Talker's logits before it draws: repetition penalty, minimum of new tokens,
// suppression of special ids.
type talkerScores struct {
	penalty ggml.Tensor // F32 [1]
	seen    ggml.Tensor // F32 [V]: 1 for codes drawn before
	one     ggml.Tensor // F32 [1]: 1
	barred  ggml.Tensor // F32 [V]: never for ids that are no codes, else 0
}

func newTalkerScores(b *ggml.Builder, size int) *talkerScores {
	return &talkerScores{penalty: b.Input("penalty", ggml.F32, 1), seen: b.Input("seen", ggml.F32, size),
		one: b.Input("one", ggml.F32, 1), barred: b.Input("barred", ggml.F32, size)}
}

// forward maps logits [V] to scores [V]. Factors are exactly 0 or 1, and the penalty divides what is above 0 and
// multiplies what is below, so the scores are sample's to the bit.
func (t *talkerScores) forward(logits ggml.Tensor) ggml.Tensor {
	weakened := logits.ReLU().Div(t.penalty).Sub(logits.Scale(-1).ReLU().Mul(t.penalty))
	unseen := t.seen.Scale(-1).Add(t.one)
	return weakened.Mul(t.seen).Add(logits.Mul(unseen)).Add(t.barred)
}
