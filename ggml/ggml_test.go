package ggml_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
)

func build(t *testing.T, be *ggml.Backend, f func(*ggml.Builder)) *ggml.Graph {
	t.Helper()
	g, err := ggml.Build(be, 128, false, f)
	require.NoError(t, err)
	t.Cleanup(g.Free)
	return g
}

func read(x ggml.Tensor) []float32 {
	v := make([]float32, x.Elements())
	x.GetF32(v)
	return v
}

func TestGraphIsReplayed(t *testing.T) {
	be := testenv.CPU(t, 1)
	var x, y ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, 4)
		y = b.Output("y", x.Mul(x).Add(x))
	})
	for _, v := range [][]float32{{1, 2, 3, 4}, {-1, 0, .5, 10}} {
		x.SetF32(v)
		require.NoError(t, g.Compute())
		for i, r := range read(y) {
			assert.Equal(t, v[i]*v[i]+v[i], r)
		}
	}
	assert.Equal(t, 2, g.Nodes())
}

func TestMatMulSharesHeadsOfTheWeights(t *testing.T) {
	be := testenv.CPU(t, 1)
	var w, x, y ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		w = b.Input("w", ggml.F32, 2, 1, 1)
		x = b.Input("x", ggml.F32, 2, 1, 2)
		y = b.Output("y", x.MatMul(w))
	})
	w.SetF32([]float32{2, 3})
	x.SetF32([]float32{1, 1, 10, 100})
	require.NoError(t, g.Compute())
	assert.Equal(t, []float32{5, 320}, read(y))
}

func TestWindowsAreTheTapsOfAConvolution(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, c := range []struct {
		dilation int
		want     []float32
	}{
		{1, []float32{1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 9, 10}},
		{2, []float32{1, 2, 5, 6, 9, 10}},
	} {
		var x, y ggml.Tensor
		g := build(t, be, func(b *ggml.Builder) {
			x = b.Input("x", ggml.F32, 2, 5)
			y = b.Output("y", x.Windows(3, c.dilation).Cont())
		})
		x.SetF32([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
		require.NoError(t, g.Compute())
		assert.Equal(t, c.want, read(y))
	}
}

func TestStateOutlivesTheGraphRun(t *testing.T) {
	be := testenv.CPU(t, 1)
	a := be.NewArena(1)
	t.Cleanup(a.Free)
	state := a.New(ggml.F32, 2, 3)
	require.NoError(t, a.Alloc())
	assert.Equal(t, make([]float32, 6), read(state), "an arena starts zeroed")

	var row, at ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		row, at = b.Input("row", ggml.F32, 2, 1), b.Input("at", ggml.I64, 1)
		b.Expand(row.SetRows(state, at))
	})
	for i := range 3 {
		row.SetF32([]float32{float32(i), 7})
		at.SetI64([]int64{int64(2 - i)})
		require.NoError(t, g.Compute())
	}
	assert.Equal(t, []float32{2, 7, 1, 7, 0, 7}, read(state))
	a.Clear()
	assert.Equal(t, make([]float32, 6), read(state))
}

func TestTapsAreKeptOnlyOnDemand(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, taps := range []bool{false, true} {
		var x ggml.Tensor
		g, err := ggml.Build(be, 64, taps, func(b *ggml.Builder) {
			x = b.Input("x", ggml.F32, 2)
			b.Output("y", x.Sqr().TapF("square%d", 1).Sqr())
		})
		require.NoError(t, err)
		x.SetF32([]float32{2, 3})
		require.NoError(t, g.Compute())
		if !taps {
			assert.Empty(t, g.Taps())
		} else {
			require.Len(t, g.Taps(), 1)
			assert.Equal(t, "square1", g.Taps()[0].Name)
			assert.Equal(t, []float32{4, 9}, read(g.Taps()[0].Tensor))
		}
		g.Free()
	}
}

func TestSoftMaxMaskAndRoPE(t *testing.T) {
	be := testenv.CPU(t, 1)
	inf := float32(math.Inf(-1))
	var x, mask, y, v, pos, r ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		x, mask = b.Input("x", ggml.F32, 3, 1), b.Input("mask", ggml.F32, 3, 1)
		y = b.Output("y", x.SoftMax(mask, 2))
		v, pos = b.Input("v", ggml.F32, 4, 1, 1), b.Input("pos", ggml.I32, 1)
		r = b.Output("r", v.RoPE(pos, 10000))
	})
	x.SetF32([]float32{0, float32(math.Log(3)) / 2, 5})
	mask.SetF32([]float32{0, 0, inf})
	v.SetF32([]float32{1, 0, 0, 1})
	pos.SetI32([]int32{2})
	require.NoError(t, g.Compute())
	assert.InDeltaSlice(t, []float32{.25, .75, 0}, read(y), 1e-6)
	s0, c0 := math.Sincos(2)
	s1, c1 := math.Sincos(2 / math.Sqrt(10000))
	assert.InDeltaSlice(t, []float64{c0, -s1, s0, c1}, read(r), 1e-6)
}

func TestBadShapesAreErrorsNotAborts(t *testing.T) {
	be := testenv.CPU(t, 1)
	var shape *ggml.ShapeError
	for name, f := range map[string]func(b *ggml.Builder, x, y ggml.Tensor){
		"add":       func(_ *ggml.Builder, x, y ggml.Tensor) { x.Add(y) },
		"matmul":    func(_ *ggml.Builder, x, y ggml.Tensor) { x.MatMul(y) },
		"reshape":   func(_ *ggml.Builder, x, _ ggml.Tensor) { x.Reshape(5) },
		"slice":     func(_ *ggml.Builder, x, _ ggml.Tensor) { x.Slice(1, 2, 2) },
		"concat":    func(_ *ggml.Builder, x, y ggml.Tensor) { x.Concat(y, 1) },
		"get_rows":  func(_ *ggml.Builder, x, y ggml.Tensor) { x.GetRows(y) },
		"windows":   func(_ *ggml.Builder, x, _ ggml.Tensor) { x.Windows(4, 1) },
		"soft_max":  func(_ *ggml.Builder, x, y ggml.Tensor) { x.SoftMax(y, 1) },
		"empty dim": func(b *ggml.Builder, _, _ ggml.Tensor) { b.Input("z", ggml.F32, 3, 0) },
	} {
		_, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
			f(b, b.Input("x", ggml.F32, 2, 3), b.Input("y", ggml.F32, 3, 2))
		})
		assert.ErrorAs(t, err, &shape, name)
	}
}

func TestThreadsGiveTheSameResult(t *testing.T) {
	var first []float32
	for _, threads := range []int{1, 2, 4} {
		be := testenv.CPU(t, threads)
		var w, x, y ggml.Tensor
		g := build(t, be, func(b *ggml.Builder) {
			w, x = b.Input("w", ggml.F32, 96, 64), b.Input("x", ggml.F32, 96, 5)
			y = b.Output("y", x.MatMul(w).SiLU())
		})
		fill := func(x ggml.Tensor) {
			v := make([]float32, x.Elements())
			for i := range v {
				v[i] = float32(math.Sin(float64(i)))
			}
			x.SetF32(v)
		}
		fill(w)
		fill(x)
		require.NoError(t, g.Compute())
		if first == nil {
			first = read(y)
		}
		assert.Equal(t, first, read(y))
	}
}

func TestMemoryThatIsNotThereIsAnError(t *testing.T) {
	be := testenv.CPU(t, 1)
	a := be.NewArena(1)
	defer a.Free()
	a.New(ggml.F32, 1<<40)
	assert.ErrorIs(t, a.Alloc(), ggml.ErrMemory)
}

func TestAFailedAssertionOnThisThreadIsAnError(t *testing.T) {
	be := testenv.CPU(t, 1)
	_, err := ggml.Build(be, 4, false, func(b *ggml.Builder) { // more nodes than announced
		x := b.Input("x", ggml.F32, 4)
		for range 64 {
			x = x.Sqr()
		}
		b.Output("y", x)
	})
	var assertion *ggml.AssertError
	assert.ErrorAs(t, err, &assertion)
}

func TestComputeDoesNotAllocate(t *testing.T) {
	be := testenv.CPU(t, 1)
	var x, y ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, 4)
		y = b.Output("y", x.Sqr())
	})
	in, out := make([]float32, 4), make([]float32, 4)
	n := testing.AllocsPerRun(100, func() {
		x.SetF32(in)
		_ = g.Compute()
		y.GetF32(out)
	})
	assert.Zero(t, n)
}

func TestDevicesAndVersion(t *testing.T) {
	be := testenv.CPU(t, 1)
	assert.Equal(t, ggml.DeviceCPU, be.Type)
	free, total := be.Memory()
	assert.LessOrEqual(t, free, total)
	assert.NotEmpty(t, ggml.Version())
	assert.NotEmpty(t, ggml.Devices())
}
