package ggml_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
)

// TestDeviceReplacesItsOwnBuffers: attention to ever more keys makes ggml replace a buffer that only it knows of, amid a
// computation. It comes ever later in the graph, so that kernels with fewer operands then have the descriptor sets that
// referred to the old buffer. Without Backend.renew this corrupts the heap on Mesa's lavapipe 22.3.
func TestDeviceReplacesItsOwnBuffers(t *testing.T) {
	for name, shared := range map[string]bool{"alone": false, "shared with the CPU": true} {
		for range 10 { // a device each
			t.Run(name, func(t *testing.T) {
				be := testenv.Device(t)
				for round := range 8 {
					attendToMoreKeys(t, be, round, shared)
				}
			})
		}
	}
}

func attendToMoreKeys(t *testing.T, be *ggml.Backend, round int, shared bool) {
	const width, heads = 64, 4
	keys := 256 * (round + 1)
	var x, y ggml.Tensor
	g, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, width, 1, heads)
		k, v := b.Input("k", ggml.F16, width, keys, heads), b.Input("v", ggml.F16, width, keys, heads)
		q := x
		for range round {
			q = q.Sqr()
		}
		y = q.Reshape(width * heads).Add(q.FlashAttention(k, v, ggml.Tensor{}, 1).Reshape(width * heads)) // keys and values are 0
		if shared {
			y = y.Add(b.Input("w", gguf.Q4_K, width*heads).Cast(ggml.F32)) // 0, and not an operation of Vulkan's
		}
		for range 8 - round {
			y = y.Sqr()
		}
		y = b.Output("y", y)
	})
	require.NoError(t, err)
	defer g.Free()
	assert.Equal(t, shared, g.Shared())
	ones := make([]float32, width*heads)
	for i := range ones {
		ones[i] = 1
	}
	for range 3 {
		x.SetF32(ones)
		require.NoError(t, g.Compute())
		require.Equal(t, ones, read(y))
	}
}
