package nn

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
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
