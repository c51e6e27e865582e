package main

import (
	"fmt"
	"math"
	"slices"
)

// cosine of the angle between two vectors.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
	}
	if aa == bb && aa == 0 {
		return 1
	}
	return dot / math.Sqrt(aa*bb)
}

// snr is 10 log10(Σ want² / Σ (got-want)²) in dB.
func snr(want, got []float32) float64 {
	var signal, noise float64
	for i := range want {
		w, d := float64(want[i]), float64(got[i])-float64(want[i])
		signal += w * w
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}

// divergence is the Kullback-Leibler divergence Σ p log(p/q) in nats of the distributions that logits stand for: what
// is lost by drawing from those of got.
func divergence(want, got []float32) float64 {
	p, q := logSoftmax(want), logSoftmax(got)
	sum := 0.
	for i := range p {
		sum += math.Exp(p[i]) * (p[i] - q[i])
	}
	return max(sum, 0) // rounding
}

func logSoftmax(x []float32) []float64 {
	top := float64(slices.Max(x))
	sum := 0.
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) - top - math.Log(sum)
	}
	return out
}

// spread gathers a figure over frames.
type spread struct {
	what, unit string
	values     []float64
}

func newSpread(what, unit string) *spread { return &spread{what: what, unit: unit} }

func (s *spread) add(x float64) { s.values = append(s.values, x) }

// row is the mean, the best and the worst of the figures; less is better or more.
func (s *spread) row(lessIsBetter bool) string {
	if len(s.values) == 0 {
		return ""
	}
	mean := 0.
	for _, x := range s.values {
		mean += x / float64(len(s.values))
	}
	best, worst := slices.Max(s.values), slices.Min(s.values)
	if lessIsBetter {
		best, worst = worst, best
	}
	return fmt.Sprintf("%-24s %-18s %10.6f %10.6f %10.6f\n", s.what, s.unit, mean, best, worst)
}

// scores compares logits.
type scores struct {
	cosine, divergence *spread
	what               string
	same               int
}

func newScores(what string) *scores {
	return &scores{cosine: newSpread(what, "cosine"), divergence: newSpread("", "KL, nats"), what: what}
}

func (s *scores) add(want, got []float32) {
	s.cosine.add(cosine(want, got))
	s.divergence.add(divergence(want, got))
	if best(want) == best(got) {
		s.same++
	}
}

func (s *scores) rows() string {
	if len(s.cosine.values) == 0 {
		return ""
	}
	return s.cosine.row(false) + s.divergence.row(true) +
		fmt.Sprintf("%-24s %-18s %9.1f %%\n", "", "same best code", 100*float64(s.same)/float64(len(s.cosine.values)))
}

func best(x []float32) int {
	at := 0
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}
