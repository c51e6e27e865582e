package ggml_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
)

// The tests of a device other than the CPU: `make test-vulkan` names one.

func TestDevicePassesTheSelfTest(t *testing.T) {
	be := testenv.Device(t)
	require.NoError(t, be.SelfTest())
}

func TestDeviceGraphsComeAndGo(t *testing.T) {
	be := testenv.Device(t)
	for round := range 20 {
		var x, y ggml.Tensor
		n := 8 + round*97
		g, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
			x = b.Input("x", ggml.F32, n, 4)
			y = b.Output("y", x.Sqr().Add(x))
		})
		require.NoError(t, err)
		v := make([]float32, 4*n)
		for i := range v {
			v[i] = float32(i % 7)
		}
		x.SetF32(v)
		for range 3 {
			require.NoError(t, g.Compute())
		}
		for i, r := range read(y) {
			require.Equal(t, v[i]*v[i]+v[i], r)
		}
		g.Free()
	}
}

func TestDeviceInputsGoUpTogether(t *testing.T) {
	be := testenv.Device(t)
	var a, b, y ggml.Tensor
	g := build(t, be, func(bu *ggml.Builder) {
		a, b = bu.Input("a", ggml.F32, 3), bu.Input("b", ggml.F32, 3)
		y = bu.Output("y", a.Mul(b))
	})
	a.SetF32([]float32{1, 2, 3})
	b.SetF32([]float32{4, 5, 6})
	require.NoError(t, g.Compute())
	assert.Equal(t, []float32{4, 10, 18}, read(y))
	b.SetF32At(1, []float32{7})
	require.NoError(t, g.Compute())
	assert.Equal(t, []float32{4, 14, 18}, read(y), "what is not set again stays")
	assert.Equal(t, []float32{4, 7, 6}, read(b))
}

func TestDeviceStateOutlivesTheGraph(t *testing.T) {
	be := testenv.Device(t)
	arena := be.NewArena(2)
	t.Cleanup(arena.Free)
	state, half := arena.New(ggml.F32, 4, 3), arena.New(ggml.F16, 5)
	require.NoError(t, arena.Alloc())
	state.SetF32([]float32{1, 2, 3, 4})
	half.SetBytes([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	saved := arena.Save()
	arena.Clear()
	assert.Equal(t, make([]float32, 12), read(state))
	arena.Restore(saved)
	assert.Equal(t, []float32{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}, read(state))
}

func TestDeviceWithoutRoomSaysSo(t *testing.T) {
	be := testenv.Device(t)
	arena := be.NewArena(1)
	t.Cleanup(arena.Free)
	arena.New(ggml.F32, 1<<40)
	err := arena.Alloc()
	require.ErrorIs(t, err, ggml.ErrMemory)
	assert.ErrorContains(t, err, "4398046511104 bytes wanted")
	assert.ErrorContains(t, err, "are free")

	_, err = ggml.Build(be, 64, false, func(b *ggml.Builder) {
		b.Output("y", b.Input("x", ggml.F32, 1<<10, 1).Repeat(1<<10, 1<<30))
	})
	require.ErrorIs(t, err, ggml.ErrMemory)
	assert.ErrorContains(t, err, "are free")
}

// TestDeviceLeavesToTheCPUWhatItLacks: a graph with an operation that Vulkan does not have, widening a K-quant, computes
// all the same.
func TestDeviceLeavesToTheCPUWhatItLacks(t *testing.T) {
	be := testenv.Device(t)
	var said []string
	ggml.SetLog(func(_ ggml.LogLevel, msg string) {
		if strings.Contains(msg, "has no operation") {
			said = append(said, msg)
		}
	})
	defer ggml.SetLog(nil)
	for range 2 {
		var w, x, y ggml.Tensor
		g, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
			w, x = b.Input("w", gguf.Q4_K, 256), b.Input("x", ggml.F32, 256)
			y = b.Output("y", x.Sqr().Add(w.Cast(ggml.F32)).Scale(2))
		})
		require.NoError(t, err)
		assert.True(t, g.Shared())
		block, v, want := make([]byte, gguf.Q4_K.BlockBytes()), make([]float32, 256), make([]float32, 256)
		for i := range v {
			v[i] = float32(i % 5)
		}
		require.NoError(t, ggml.Quantize(gguf.Q4_K, block, v, 256))
		require.NoError(t, ggml.Dequantize(gguf.Q4_K, want, block))
		w.SetBytes(block)
		for _, factor := range []float32{1, 3} { // the graph is replayed
			for i := range v {
				v[i] = factor * float32(i%3)
			}
			x.SetF32(v)
			require.NoError(t, g.Compute())
			for i, got := range read(y) {
				require.InDelta(t, 2*(v[i]*v[i]+want[i]), got, 1e-5)
			}
		}
		g.Free()
	}
	require.Len(t, said, 1, "once")
	assert.Contains(t, said[0], "it runs on the CPU")
	t.Log(said[0])
}

func TestDeviceTellsWhatItCan(t *testing.T) {
	be := testenv.Backend(t, 1)
	for _, typ := range []ggml.Type{ggml.F32, ggml.F16, gguf.Q8_0, gguf.Q4_K} {
		assert.True(t, be.CanMultiply(typ, 256, 8), typ)
		assert.True(t, be.CanGather(typ, 256, 8), typ)
	}
	if testenv.OtherDevice() {
		assert.False(t, be.CanMultiply(gguf.F64, 256, 8))
		assert.False(t, be.CanGather(gguf.F64, 256, 8))
	}
}
