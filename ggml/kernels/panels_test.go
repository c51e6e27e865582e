package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
)

// TestPanelsOfKQuantsAreClose compares with the weights that ggml decodes, in float64; what is lost is the rounding of
// the columns to 8 bits. A column's bits do not depend on the others, nor on the threads.
func TestPanelsOfKQuantsAreClose(t *testing.T) {
	if !kernels.HasQ8() {
		t.Skip("this processor has no AVX-512 VNNI, or there is no cgo")
	}
	const most = 19
	for _, typ := range []gguf.Type{gguf.Q4_K, gguf.Q6_K} {
		for _, c := range []struct{ k, m int }{{256, 16}, {1024, 48}, {3072, 32}} {
			be := testenv.CPU(t, 1)
			r := rand.New(rand.NewPCG(9, uint64(c.k)))
			raw, w := quantized(t, r, typ, c.k, c.m)
			x := make([]float32, c.k*most)
			for i := range x {
				x[i] = float32(r.NormFloat64()) + .5 // an offset shows what minima do
			}
			all := panels(t, be, typ, raw, x, c.k, c.m)
			assert.Greater(t, snr(all, w, x, c.k, c.m), 36.0, "%v %v", typ, c)
			for _, n := range []int{1, 2, 3, 7, 8, 9, 15} {
				assert.Equal(t, all[:n*c.m], panels(t, be, typ, raw, x[:n*c.k], c.k, c.m), "%v %v, %d columns", typ, c, n)
			}
			assert.Equal(t, all, panels(t, testenv.CPU(t, 2), typ, raw, x, c.k, c.m), "%v %v, 2 threads", typ, c)
		}
	}
}

// quantized are random weights [k, m] whose rows differ in scale and offset: their blocks, and what these decode to.
func quantized(t *testing.T, r *rand.Rand, typ gguf.Type, k, m int) (raw []byte, w []float32) {
	t.Helper()
	w = make([]float32, k*m)
	for i := range w {
		w[i] = float32((r.NormFloat64() + .3) * (1 + float64(i/64%7)))
	}
	raw = make([]byte, k/256*map[gguf.Type]int{gguf.Q4_K: 144, gguf.Q6_K: 210}[typ]*m)
	require.NoError(t, ggml.Quantize(typ, raw, w, k))
	require.NoError(t, ggml.Dequantize(typ, w, raw))
	return raw, w
}

func panels(t *testing.T, be *ggml.Backend, typ gguf.Type, raw []byte, x []float32, k, m int) []float32 {
	t.Helper()
	shape, ok := kernels.PanelShape(be, typ, k, m)
	require.True(t, ok)
	packed := make([]byte, shape[0]*shape[1])
	kernels.PackPanels(typ, packed, raw, k)
	return compute(t, be, packed, gguf.I8, shape, x, k, m, func(x, w ggml.Tensor) ggml.Tensor {
		return kernels.Panels{Data: w, Type: typ, In: k, Out: m}.MatMul(x)
	})
}

// snr of y = w·x in decibels.
func snr(y, w, x []float32, k, m int) float64 {
	var signal, noise float64
	for i, v := range y {
		sum := 0.0
		for j := range k {
			sum += float64(w[i%m*k+j]) * float64(x[i/m*k+j])
		}
		signal, noise = signal+sum*sum, noise+(float64(v)-sum)*(float64(v)-sum)
	}
	return 10 * math.Log10(signal/noise)
}
