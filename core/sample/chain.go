package sample

import (
	"errors"
	"math"
)

// chain draws one code from scores: temperature, top-k, top-p, softmax, inverse of the cumulative distribution.
// Its buffers grow to the largest codebook seen; after that a draw allocates nothing.
type chain struct {
	params Params
	tail   float32 // probability that top-p may cut off

	kept []candidate // what can be drawn, in ascending order of id
	work []candidate // reordered by the partial selection
}

// candidate is a code that can be drawn.
type candidate struct {
	id     int32
	score  float32 // logit / temperature
	weight float64 // softmax numerator exp(score - best score); its unit is the selection's while one runs
}

func newChain(p Params) chain { return chain{params: p, tail: p.Tail()} }

// errNothingLeft: every code is suppressed or has a logit of -Inf.
var errNothingLeft = errors.New("no code left to draw: all logits are -Inf or suppressed")

// pick returns a code. scores are finite or -Inf (can't be drawn); u is in [0, 1).
func (c *chain) pick(scores []float32, u float32) (int32, error) {
	if c.params.Greedy() {
		return argmax(scores)
	}
	best := c.gather(scores)
	if len(c.kept) == 0 || math.IsInf(float64(best), 1) {
		return argmax(scores) // the temperature is so close to 0 that the division overflows
	}
	if k := c.params.TopK; k > 0 && k < len(c.kept) {
		c.topK(k)
	}
	c.weigh(best)
	if c.params.TopP < 1 {
		c.topP()
	}
	return c.draw(u), nil
}

// argmax returns the first of the best codes.
func argmax(scores []float32) (int32, error) {
	at, best := int32(-1), minusInf
	for id, s := range scores {
		if s > best {
			at, best = int32(id), s
		}
	}
	if at < 0 {
		return 0, errNothingLeft
	}
	return at, nil
}

// gather fills kept with the codes that can be drawn, their scores divided by the temperature, and returns the best
// of these scores.
func (c *chain) gather(scores []float32) (best float32) {
	c.kept, best = c.kept[:0], minusInf
	for id, s := range scores {
		s /= c.params.Temperature
		if s == minusInf {
			continue
		}
		best = max(best, s)
		c.kept = append(c.kept, candidate{id: int32(id), score: s})
	}
	return best
}

// topK keeps the k best candidates and all that tie with the k-th.
func (c *chain) topK(k int) {
	c.work = append(c.work[:0], c.kept...)
	for i := range c.work {
		c.work[i].weight = 1
	}
	last := boundary(c.work, float32(len(c.work)-k))
	c.keep(func(x *candidate) bool { return x.score >= last.score })
}

// topP removes, from the worst candidate on, as many as together have a probability of at most 1 - TopP, but never
// the best one. Of equal ones those with the higher ids go first (the reference's order of equals is unspecified).
func (c *chain) topP() {
	total := 0.0
	for i := range c.kept {
		total += c.kept[i].weight
	}
	c.work = append(c.work[:0], c.kept...)
	for i := range c.work {
		c.work[i].weight = float64(float32(c.work[i].weight / total)) // the softmax rounds to float32
	}
	last := boundary(c.work, c.tail)
	c.keep(func(x *candidate) bool { return !x.less(&last) })
}

// keep filters the candidates, in their order.
func (c *chain) keep(ok func(*candidate) bool) {
	n := 0
	for i := range c.kept {
		if ok(&c.kept[i]) {
			c.kept[n] = c.kept[i]
			n++
		}
	}
	c.kept = c.kept[:n]
}

// weigh sets the softmax numerators.
func (c *chain) weigh(best float32) {
	for i := range c.kept {
		c.kept[i].weight = math.Exp(float64(c.kept[i].score - best))
	}
}

// draw returns the first candidate, in ascending order of id, up to which the probabilities add up to more than u.
// Its probability can't be zero, for it is what lifted the sum above u.
func (c *chain) draw(u float32) int32 {
	total := 0.0
	for i := range c.kept {
		total += c.kept[i].weight
	}
	target, sum := float64(u)*total, 0.0
	for i := range c.kept {
		sum += c.kept[i].weight
		if sum > target {
			return c.kept[i].id
		}
	}
	return c.heaviest() // only if u isn't below 1
}

// heaviest returns the likeliest candidate.
func (c *chain) heaviest() int32 {
	at := 0
	for i := range c.kept {
		if c.kept[i].weight > c.kept[at].weight {
			at = i
		}
	}
	return c.kept[at].id
}
