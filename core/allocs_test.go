//go:build !race

// The race detector makes sync.Pool forget at random, so there is nothing to count under it.

package core_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
)

// TestAFrameAllocatesNothing: once warm, the loop and each vocoder allocate no memory of Go's, however long the speech.
func TestAFrameAllocatesNothing(t *testing.T) {
	for name, e := range map[string]*core.Engine{
		"ggml":               engine(t, custom),
		"tiny-vocoder":       engine(t, custom, withONNX(t, "tiny-vocoder")),
		"tiny-vocoder-whole": engine(t, custom, withONNX(t, "tiny-vocoder-whole")),
	} {
		allocated := func(frames int) int {
			r := sampled(3)
			r.MaxFrames, r.Stream = frames, true
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res, err := e.Synthesize(context.Background(), &r, func([]float32) error { return nil })
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Equal(t, frames, res.Frames)
			return int(after.Mallocs - before.Mallocs)
		}
		allocated(60)
		few, many := allocated(20), allocated(60)
		assert.Less(t, many-few, 20, "%s: %d for 20 frames, %d for 60", name, few, many)
	}
}
