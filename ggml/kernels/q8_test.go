package kernels_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/internal/testenv"
)

// q8Weights are random Q8_0 weights [k, m], as bytes and as numbers.
func q8Weights(r *rand.Rand, k, m int) (raw []byte, values []float64) {
	for range m * k / 32 {
		d := half.F16(float32(r.Float64()+.1) / 127)
		raw = binary.LittleEndian.AppendUint16(raw, d)
		for range 32 {
			q := int8(r.IntN(255) - 127)
			raw = append(raw, byte(q))
			values = append(values, float64(half.FromF16(d))*float64(q))
		}
	}
	return raw, values
}

// product computes w·x on a backend.
func product(t *testing.T, be *ggml.Backend, raw []byte, x []float32, k, m int) []float32 {
	t.Helper()
	return compute(t, be, raw, gguf.Q8_0, []int{k, m}, x, k, m, kernels.MatMul)
}

// panelled is product with the weights in panels.
func panelled(t *testing.T, be *ggml.Backend, raw []byte, x []float32, k, m int) []float32 {
	t.Helper()
	shape, ok := kernels.PanelShape(be, gguf.Q8_0, k, m)
	require.True(t, ok)
	packed := make([]byte, len(raw))
	kernels.PackPanels(gguf.Q8_0, packed, raw, k)
	return compute(t, be, packed, gguf.I8, shape, x, k, m, func(x, w ggml.Tensor) ggml.Tensor {
		return kernels.Panels{Data: w, Type: gguf.Q8_0, In: k, Out: m}.MatMul(x)
	})
}

func compute(t *testing.T, be *ggml.Backend, raw []byte, typ gguf.Type, shape []int, x []float32, k, m int, f func(x, w ggml.Tensor) ggml.Tensor) []float32 {
	t.Helper()
	n := len(x) / k
	var w, in, out ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		w, in = b.Input("w", typ, shape...), b.Input("x", ggml.F32, k, n)
		out = b.Output("y", f(in, w))
	})
	require.NoError(t, err)
	defer g.Free()
	w.SetBytes(raw)
	in.SetF32(x)
	require.NoError(t, g.Compute())
	y := make([]float32, m*n)
	out.GetF32(y)
	return y
}

// TestQ8ProductsAreClose compares with float64; what is lost is the rounding of the columns to 8 bits.
func TestQ8ProductsAreClose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ k, m, n int }{{64, 48, 1}, {96, 17, 1}, {1024, 48, 1}, {3072, 35, 1}, {1440, 40, 1}, {2048, 16, 3}, {96, 32, 4}, {32, 1, 2}, {64, 5, 3}, {256, 33, 16}, {1024, 50, 17}, {96, 16, 37}, {512, 21, 48}, {64, 7, 49}, {128, 40, 100}} {
		raw, w := q8Weights(r, c.k, c.m)
		x := make([]float32, c.k*c.n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for _, threads := range []int{1, 3} {
			y := product(t, testenv.CPU(t, threads), raw, x, c.k, c.m)
			var signal, noise float64
			for n := range c.n {
				for m := range c.m {
					sum := 0.0
					for k := range c.k {
						sum += w[m*c.k+k] * float64(x[n*c.k+k])
					}
					d := float64(y[n*c.m+m]) - sum
					signal, noise = signal+sum*sum, noise+d*d
				}
			}
			assert.Greater(t, 10*math.Log10(signal/noise), 36.0, "%v", c)
		}
	}
}

// TestAQ8ColumnDoesNotDependOnTheOthers: the bits are the same in any company.
func TestAQ8ColumnDoesNotDependOnTheOthers(t *testing.T) {
	be := testenv.CPU(t, 1)
	if !kernels.HasQ8() {
		t.Skip("this processor has no AVX-512 VNNI, or there is no cgo")
	}
	const most = 70
	r := rand.New(rand.NewPCG(3, 4))
	// Rows that are short and long for the first cache, an odd number of blocks, rows that are no panel.
	for _, c := range []struct{ k, m int }{{128, 37}, {96, 53}, {1024, 48}, {1440, 32}, {3072, 59}} {
		raw, _ := q8Weights(r, c.k, c.m)
		x := make([]float32, c.k*most)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		all := product(t, be, raw, x, c.k, c.m)
		for _, n := range []int{1, 2, 3, 4, 5, 15, 16, 17, 31, 48, 49, 64} {
			assert.Equal(t, all[:n*c.m], product(t, be, raw, x[:n*c.k], c.k, c.m), "%v, %d columns", c, n)
		}
	}
}

// TestPanelsGiveTheSameBits as the weights in the file's order, for any number of columns and threads.
func TestPanelsGiveTheSameBits(t *testing.T) {
	if !kernels.HasQ8() {
		t.Skip("this processor has no AVX-512 VNNI, or there is no cgo")
	}
	const most = 19
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct{ k, m int }{{32, 16}, {96, 48}, {1024, 64}, {3072, 32}} {
		raw, _ := q8Weights(r, c.k, c.m)
		x := make([]float32, c.k*most)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		all := product(t, testenv.CPU(t, 1), raw, x, c.k, c.m)
		for _, n := range []int{1, 2, 3, 4, 7, 8, 9, 15, 19} {
			for _, threads := range []int{1, 2} {
				assert.Equal(t, all[:n*c.m], panelled(t, testenv.CPU(t, threads), raw, x[:n*c.k], c.k, c.m), "%v, %d columns", c, n)
			}
		}
	}
}

// TestWhatHasNoPanels: other types, rows that are no blocks and no whole panels stay as they are.
func TestWhatHasNoPanels(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, c := range []struct {
		t       gguf.Type
		in, out int
	}{{gguf.F16, 32, 16}, {gguf.Q4_0, 32, 16}, {gguf.Q8_0, 48, 16}, {gguf.Q8_0, 32, 24}} {
		_, ok := kernels.PanelShape(be, c.t, c.in, c.out)
		assert.False(t, ok, "%v", c)
	}
}

func TestQ8NumbersThatAreNotFinite(t *testing.T) {
	if !kernels.HasQ8() {
		t.Skip("ggml lets a number that is not finite spoil other columns, or rounds it")
	}
	be := testenv.CPU(t, 1)
	const k, m = 64, 16
	raw, _ := q8Weights(rand.New(rand.NewPCG(5, 6)), k, m)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, n := range []int{2, 6} { // few, wide
			x := make([]float32, n*k)
			for i := range x {
				x[i] = 1
			}
			x[k+40] = float32(bad)
			for _, f := range []func(*testing.T, *ggml.Backend, []byte, []float32, int, int) []float32{product, panelled} {
				for i, v := range f(t, be, raw, x, k, m) {
					finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					assert.Equal(t, i/m != 1, finite, "only the column with %v suffers", bad)
				}
			}
		}
	}
}

// TestQ8NumbersThatAreTiny: columns whose scale has no inverse in single precision give what they should, or zero.
func TestQ8NumbersThatAreTiny(t *testing.T) {
	if !kernels.HasQ8() {
		t.Skip("this processor has no AVX-512 VNNI, or there is no cgo")
	}
	be := testenv.CPU(t, 1)
	const k, m = 64, 16
	raw, w := q8Weights(rand.New(rand.NewPCG(7, 6)), k, m)
	for _, tiny := range []float32{1e-45, 1e-40, 1e-38, 1e-37, 1e-36} {
		for _, n := range []int{2, 6} { // few, wide
			x := make([]float32, n*k)
			for i := range x {
				x[i] = tiny
			}
			for _, f := range []func(*testing.T, *ggml.Backend, []byte, []float32, int, int) []float32{product, panelled} {
				for i, v := range f(t, be, raw, x, k, m) {
					sum := 0.0
					for _, v := range w[i%m*k:][:k] {
						sum += v
					}
					y := float64(v) / float64(tiny)
					assert.True(t, y == 0 || math.Abs(y-sum) < .1, "%v: %v, want %v", tiny, y, sum)
				}
			}
		}
	}
}
