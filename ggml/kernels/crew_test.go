package kernels_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
)

// chain is a graph of many products, one after the other, as a model has them, on a backend with or without a crew.
func chain(t *testing.T, be *ggml.Backend, raw, packed []byte, x []float32, k, layers int) func() []float32 {
	t.Helper()
	n := len(x) / k
	shape, ok := kernels.PanelShape(be, gguf.Q8_0, k, k)
	require.True(t, ok)
	var w, p, in, out ggml.Tensor
	g, err := ggml.Build(be, 16*layers, false, func(b *ggml.Builder) {
		w, p, in = b.Input("w", gguf.Q8_0, k, k), b.Input("p", gguf.I8, shape...), b.Input("x", ggml.F32, k, n)
		y := in
		for i := range layers {
			if i%2 == 0 {
				y = kernels.MatMul(y, w)
			} else {
				y = kernels.Panels{Data: p, Type: gguf.Q8_0, In: k, Out: k}.MatMul(y)
			}
			y = y.RMSNorm(1e-6)
		}
		out = b.Output("y", y)
	})
	require.NoError(t, err)
	t.Cleanup(g.Free)
	w.SetBytes(raw)
	p.SetBytes(packed)
	in.SetF32(x)
	return func() []float32 {
		require.NoError(t, g.Compute())
		y := make([]float32, k*n)
		out.GetF32(y)
		return y
	}
}

// TestACrewChangesNothing: the bits are the same with its help, while it rests, while it is paused and resumed at any
// moment, and while other threads want all processors.
func TestACrewChangesNothing(t *testing.T) {
	crew := kernels.NewCrew()
	if crew == nil {
		t.Skip("there are no kernels that a crew helps with")
	}
	const k, layers = 512, 64
	r := rand.New(rand.NewPCG(11, 12))
	raw, _ := q8Weights(r, k, k)
	packed := make([]byte, len(raw))
	kernels.PackPanels(gguf.Q8_0, packed, raw, k)
	for _, n := range []int{1, 2} {
		x := make([]float32, k*n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		want := chain(t, testenv.CPU(t, 1), raw, packed, x, k, layers)()
		be := testenv.CPU(t, 1)
		be.SetCrew(crew.Address())
		helped := chain(t, be, raw, packed, x, k, layers)
		for range 200 {
			require.Equal(t, want, helped())
		}

		var stop atomic.Bool
		var wg sync.WaitGroup
		for range runtime.NumCPU() {
			wg.Go(func() {
				for !stop.Load() {
				}
			})
		}
		wg.Go(func() {
			for !stop.Load() {
				crew.Pause()
				time.Sleep(50 * time.Microsecond)
				crew.Resume()
				time.Sleep(100 * time.Microsecond)
			}
		})
		for range 100 {
			require.Equal(t, want, helped())
		}
		stop.Store(true)
		wg.Wait()
	}
	assert.Positive(t, crew.Helped())
	crew.Close()
	crew.Close() // is harmless
}

func TestNoCrew(t *testing.T) {
	var none *kernels.Crew
	none.Pause()
	none.Resume()
	none.Close()
}
