package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// activate is Snake of each x with each (alpha, inv beta): that of a convolution that passes its input through.
func activate(t *testing.T, level kernels.Level, be *ggml.Backend, x, alpha, invBeta []float32) []float32 {
	t.Helper()
	n := len(alpha)
	p := &problem{in: 1, out: n, taps: 1, dilation: 1, rows: len(x), period: n, typ: gguf.F32, snake: true}
	p.w, p.bias, p.alpha, p.invBeta, p.x = make([]float32, n), make([]float32, n), alpha, invBeta, x
	for i := range p.w {
		p.w[i] = 1
	}
	return p.run(t, level, be).activated
}

// TestSnake states the error against double precision, relative to |x| + sin²(a·x)/b.
func TestSnake(t *testing.T) {
	be := testenv.CPU(t, 1)
	r := rand.New(rand.NewPCG(1, 1))
	logUniform := func(low, high float64) float32 {
		return float32(math.Exp(math.Log(low) + r.Float64()*(math.Log(high)-math.Log(low))))
	}
	for _, c := range []struct {
		name              string
		xLow, xHigh       float64
		aLow, aHigh       float64
		invBLow, invBHigh float64
		nearZeroes        bool // x near multiples of π/a
	}{
		{name: "of models", xLow: 1e-4, xHigh: 100, aLow: .05, aHigh: 20, invBLow: .05, invBHigh: 20},
		{name: "steep", xLow: 1e-4, xHigh: 1000, aLow: 10, aHigh: 1e4, invBLow: 10, invBHigh: 1e4},
		{name: "around the end of the single-precision reduction", xLow: 1e3, xHigh: 1e5, aLow: 1, aHigh: 10, invBLow: 1, invBHigh: 1e6},
		{name: "huge", xLow: 1e4, xHigh: 1e30, aLow: 1e-3, aHigh: 1e8, invBLow: 1, invBHigh: 1e30},
		{name: "tiny", xLow: 1e-44, xHigh: 1e-10, aLow: 1e-5, aHigh: 1e5, invBLow: 1e-5, invBHigh: 1e5},
		{name: "around zeroes of the sine", aLow: .5, aHigh: 50, invBLow: 1, invBHigh: 1e6, nearZeroes: true},
	} {
		const n = 61
		x, alpha, invBeta := make([]float32, 2000), make([]float32, n), make([]float32, n)
		for i := range alpha {
			alpha[i], invBeta[i] = logUniform(c.aLow, c.aHigh), logUniform(c.invBLow, c.invBHigh)
		}
		for i := range x {
			if c.nearZeroes {
				x[i] = float32(math.Pi * float64(r.IntN(1000)) / float64(alpha[i%n]) * (1 + 1e-6*r.NormFloat64()))
			} else {
				x[i] = logUniform(c.xLow, c.xHigh)
			}
			if r.IntN(2) == 0 {
				x[i] = -x[i]
			}
		}
		for _, level := range levels(t) {
			y, worst := activate(t, level, be, x, alpha, invBeta), 0.0
			for i, got := range y {
				v, a, b := float64(x[i/n]), float64(alpha[i%n]), float64(invBeta[i%n])
				s := math.Sin(a * v)
				if size := math.Abs(v) + s*s*b; size < math.MaxFloat32 {
					const least = 2 * math.SmallestNonzeroFloat32
					worst = max(worst, (math.Abs(float64(got)-(v+s*s*b))-least)/size)
				}
			}
			assert.LessOrEqual(t, worst, 1e-6, "%v: %s", level, c.name)
			t.Logf("%v: %s: relative error %.2g", level, c.name, worst)
		}
	}
}

func TestSnakeOfWhatIsNotANumber(t *testing.T) {
	be := testenv.CPU(t, 1)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	alpha, invBeta := make([]float32, 19), make([]float32, 19)
	for i := range alpha {
		alpha[i], invBeta[i] = float32(i), 1
	}
	for _, level := range levels(t) {
		for _, x := range []float32{inf, -inf, nan} {
			for i, y := range activate(t, level, be, []float32{x}, alpha, invBeta) {
				finite := y-y == 0
				assert.False(t, finite, "%v: Snake(%g) with a = %d is %g", level, x, i, y)
			}
		}
		y := activate(t, level, be, []float32{0, nan, 2}, alpha, invBeta)
		require.Equal(t, make([]float32, len(alpha)), y[:len(alpha)], "zero stays zero, beside a row that is no number")
		for i, v := range y[2*len(alpha):] {
			require.InDelta(t, snake(2, float64(alpha[i]), 1), v, 1e-6)
		}
		mixed := append([]float32{1e30}, alpha[1:]...) // one lane beyond the reduction in single precision
		y = activate(t, level, be, []float32{1.5}, mixed, invBeta)
		for i, v := range y {
			require.InDelta(t, snake(1.5, float64(mixed[i]), 1), v, 1e-6)
		}
	}
}
