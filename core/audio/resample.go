package audio

import (
	"fmt"
	"math"
)

// The filter of the resampler, in units of the lower of the two rates' Nyquist frequency. What is below the pass band's
// end passes unchanged; nothing from the Nyquist frequency on is left. The figures are those of soxr's HQ setting,
// which the reference implementation resamples with.
const (
	passBand    = 0.913
	attenuation = 126 // dB

	// finestPhases bounds the table of the filter: ratios that would need more rows interpolate between two of them,
	// with an error of (π/1024)²/8, 118 dB below the signal.
	finestPhases = 1024
)

// Resample converts samples from one rate to another, in Hz, by convolution with a Kaiser-windowed sinc. It adds no
// delay: output i lies at input i·from/to, and there are ⌈len·to/from⌉ of them. Before the first and after the last
// sample there is silence. With equal rates the result is x itself.
func Resample(x []float32, from, to int) ([]float32, error) {
	for _, rate := range []int{from, to} {
		if rate < MinRate || rate > MaxRate {
			return nil, fmt.Errorf("resample: a rate of %d Hz, must be %d to %d", rate, MinRate, MaxRate)
		}
	}
	if from == to {
		return x, nil
	}
	n := resampledLen(len(x), from, to)
	if n > MaxValues {
		return nil, fmt.Errorf("resample: %d samples at %d Hz would become %d at %d Hz, more than %d", len(x), from, n, to, MaxValues)
	}
	y := make([]float32, n)
	newResampler(from, to).run(y, x)
	return y, nil
}

// resampledLen is ⌈n·to/from⌉.
func resampledLen(n, from, to int) int64 {
	return (int64(n)*int64(to) + int64(from) - 1) / int64(from)
}

// resampler is a polyphase filter from `down` samples to `up` samples.
type resampler struct {
	up, down int // without a common factor
	half     int // taps on each side of the output's place
	rows     int // places between two inputs that the bank has: up, or fewer to interpolate between
	// bank[r][j] weighs input ⌊t⌋-half+1+j for an output at t = ⌊t⌋ + r/rows; row `rows` is the next input's row 0.
	bank [][]float32
}

func newResampler(from, to int) *resampler {
	g := gcd(from, to)
	r := &resampler{up: to / g, down: from / g}
	shrink := min(1, float64(to)/float64(from)) // of the bandwidth
	f := newSincFilter(shrink)
	r.half = int(math.Ceil(f.half))
	r.rows = min(r.up, int(math.Ceil(finestPhases*shrink)))
	r.bank = make([][]float32, r.rows+1)
	for i := range r.bank {
		row := make([]float32, 2*r.half)
		for j := range row {
			row[j] = float32(f.at(float64(i)/float64(r.rows) + float64(r.half-1-j)))
		}
		r.bank[i] = row
	}
	return r
}

// run fills y, which has ⌈len(x)·up/down⌉ samples.
func (r *resampler) run(y, x []float32) {
	whole, part := 0, 0 // the place in x is whole + part/up
	for i := range y {
		place := part * r.rows
		row, between := place/r.up, place%r.up
		y[i] = r.tap(x, whole, row)
		if between != 0 {
			w := float32(between) / float32(r.up)
			y[i] += w * (r.tap(x, whole, row+1) - y[i])
		}
		whole += r.down / r.up
		part += r.down % r.up
		if part >= r.up {
			whole, part = whole+1, part-r.up
		}
	}
}

// tap is the sum of the inputs around x[at], weighed by a row of the bank.
func (r *resampler) tap(x []float32, at, row int) float32 {
	h, first := r.bank[row], at-r.half+1
	if first < 0 {
		h, first = h[-first:], 0
	}
	x = x[first:]
	if len(h) > len(x) {
		h = h[:len(x)]
	}
	return dot(h, x[:len(h)])
}

// dot is the inner product of vectors of one length. Four sums let the processor overlap the additions.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// sincFilter is a low-pass filter: a sinc in a Kaiser window. Lengths are in input samples.
type sincFilter struct {
	cutoff float64 // cycles a sample
	half   float64 // the window reaches this far to each side
	beta   float64 // of the window
	peak   float64 // of the window, before it is scaled to 1
}

// newSincFilter designs the filter for a bandwidth in units of the input's Nyquist frequency, by Kaiser's formulas.
func newSincFilter(bandwidth float64) *sincFilter {
	transition := math.Pi * bandwidth * (1 - passBand) // radians a sample
	beta := 0.1102 * (attenuation - 8.7)
	return &sincFilter{
		cutoff: bandwidth * (1 + passBand) / 4,
		half:   (attenuation - 7.95) / (2.285 * transition) / 2,
		beta:   beta,
		peak:   besselI0(beta),
	}
}

// at is the impulse response at t.
func (f *sincFilter) at(t float64) float64 {
	u := t / f.half
	if u*u >= 1 {
		return 0
	}
	window := besselI0(f.beta*math.Sqrt(1-u*u)) / f.peak
	if t == 0 {
		return 2 * f.cutoff
	}
	return math.Sin(2*math.Pi*f.cutoff*t) / (math.Pi * t) * window
}

// besselI0 is the modified Bessel function of order 0: Σ ((x/2)^k / k!)².
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
