package nn

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// relayed loads a file of which one tensor is relaid by f, and left for later.
func relayed(t *testing.T, f func(data, dst []byte) error) (*Weights, ggml.Tensor) {
	file, err := gguf.Open(golden.GGUF(t, "tiny-customvoice-17", "F32"))
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	l := NewLoader(testenv.CPU(t, 1), file)
	l.Later = true
	info := file.Tensor("talker.blk.0.ffn_gate.weight")
	n := int(info.Elements())
	x := l.Relay(info, ggml.F32, func(dst []byte) error { return f(l.Data(info), dst) }, n)
	for _, other := range file.Tensors() {
		l.used[other.Name] = true
	}
	w, err := l.Finish()
	require.NoError(t, err)
	return w, x
}

func TestCopiesAreMadeLater(t *testing.T) {
	begin := make(chan struct{})
	var data []byte
	w, x := relayed(t, func(src, dst []byte) error {
		<-begin
		data = src
		copy(dst, src)
		return nil
	})
	defer w.Free()
	assert.Equal(t, uint64(4*x.Elements()), w.Pending())
	close(begin)
	require.NoError(t, w.Wait())
	assert.Zero(t, w.Pending())
	assert.Equal(t, data, x.Host())
}

func TestCopiesThatFailLater(t *testing.T) {
	wrong := errors.New("wrong")
	w, _ := relayed(t, func(_, _ []byte) error { return wrong })
	assert.ErrorIs(t, w.Wait(), wrong)
	assert.ErrorIs(t, w.Wait(), wrong, "again")
	w.Free()

	w, _ = relayed(t, func(_, _ []byte) error { panic("no page") })
	assert.EqualError(t, w.Wait(), "talker.blk.0.ffn_gate.weight: cannot be copied: no page")
	w.Free()
}

// TestFreeWaitsForACopyUnderWay: its memory must be there until it ends, and the ones after it are not begun.
func TestFreeWaitsForACopyUnderWay(t *testing.T) {
	begun, ended := make(chan struct{}), false
	w, _ := relayed(t, func(_, dst []byte) error {
		close(begun)
		for i := range dst {
			dst[i] = 1
		}
		ended = true
		return nil
	})
	<-begun
	w.Free()
	assert.True(t, ended)
}

// TestTwins: a matrix is multiplied in place, and when its copy in panels is there with that, to the same bits.
func TestTwins(t *testing.T) {
	be := testenv.CPU(t, 1)
	file, err := gguf.Open(golden.GGUF(t, "tiny-customvoice-17", "Q8_0"))
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	const name = "talker.blk.0.ffn_gate"
	info := file.Tensor(name + ".weight")
	in, out := int(info.Shape[0]), int(info.Shape[1])
	if _, ok := kernels.PanelShape(be, info.Type, in, out); !ok {
		t.Skip("there are no panels on this machine")
	}
	l := NewLoader(be, file)
	l.Spare = uint64(info.Size)
	var m, other Linear
	require.NoError(t, m.LoadFrom(l, name, []int{in, out}))
	require.NoError(t, other.LoadFrom(l, "talker.blk.0.ffn_up", []int{in, out}))
	require.True(t, m.twin.Valid())
	assert.False(t, other.twin.Valid(), "there is no more memory to spare")
	for _, other := range file.Tensors() {
		l.used[other.Name] = true
	}
	begin := make(chan struct{})
	pack := l.fills[len(l.fills)-1].do
	l.fills[len(l.fills)-1].do = func() error { <-begin; return pack() }
	w, err := l.Finish()
	require.NoError(t, err)
	defer w.Free()
	require.NoError(t, w.Wait(), "nobody waits for it")

	few := product(t, be, &m, in, 2)
	want, wide := few(), product(t, be, &m, in, 9)()
	close(begin)
	for w.Pending() > 0 {
		time.Sleep(time.Millisecond)
	}
	assert.Equal(t, want, few(), "the same graph")
	assert.Equal(t, wide, product(t, be, &m, in, 9)(), "another graph")
	clear(m.twin.Panels.Data.Host())
	assert.NotEqual(t, want, few(), "the panels are what is read")
}

// product is a graph that multiplies a matrix with some columns, and a function that computes it.
func product(t *testing.T, be *ggml.Backend, m *Linear, in, columns int) func() []float32 {
	var x, y ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, in, columns)
		y = b.Output("y", m.Forward(x))
	})
	require.NoError(t, err)
	t.Cleanup(g.Free)
	v := make([]float32, in*columns)
	for i := range v {
		v[i] = float32(i%17) - 8
	}
	return func() []float32 {
		x.SetF32(v)
		require.NoError(t, g.Compute())
		got := make([]float32, y.Elements())
		y.GetF32(got)
		return got
	}
}
