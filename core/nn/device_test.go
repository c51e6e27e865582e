package nn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestDeviceHoldsWhatItCannotReadInAnotherType: weights of a type that a device lacks operations for come in another.
func TestDeviceHoldsWhatItCannotReadInAnotherType(t *testing.T) {
	be := testenv.Device(t)
	const name = "talker.blk.0.ffn_gate.weight"
	f, err := gguf.Open(golden.GGUF(t, "tiny-customvoice-17", "Q8_0"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	info := f.Tensor(name)
	require.Equal(t, gguf.Q8_0, info.Type)
	shape := []int{int(info.Shape[0]), int(info.Shape[1])}
	want := make([]float32, info.Elements())
	require.NoError(t, ggml.Dequantize(gguf.Q8_0, want, f.Data(info)))

	for _, typ := range []ggml.Type{gguf.Q8_0, gguf.F16, gguf.F32, absent} {
		l := NewLoader(be, f)
		l.types = map[use]ggml.Type{useOf(gguf.Q8_0, shape, ""): typ} // as if the device could do no better
		w, err := l.tensor(name, shape, "")
		require.NoError(t, err)
		if typ == absent {
			assert.Equal(t, gguf.Q8_0, w.Type(), "where it lies in the file")
		} else {
			assert.Equal(t, typ, w.Type())
		}
		for _, other := range f.Tensors() {
			l.used[other.Name] = true
		}
		weights, err := l.Finish()
		require.NoError(t, err)

		var x, y ggml.Tensor
		g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
			x = b.Input("x", ggml.F32, shape[0], 1)
			y = b.Output("y", x.MatMul(w))
		})
		require.NoError(t, err)
		unit := make([]float32, shape[0])
		unit[3] = 1
		x.SetF32(unit)
		require.NoError(t, g.Compute())
		got := make([]float32, shape[1])
		y.GetF32(got)
		for i := range got {
			assert.InDelta(t, want[i*shape[0]+3], got[i], 1e-3, "%v, row %d", typ, i)
		}
		g.Free()
		weights.Free()
	}
}
