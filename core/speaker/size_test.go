package speaker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullSize is an encoder of the size of the published 1.7B model; its weights are ones.
func fullSize(t testing.TB, be *ggml.Backend) *Encoder {
	t.Helper()
	src := golden.GGUF(t, "tiny-base-17", "F32")
	f, err := gguf.Open(src)
	require.NoError(t, err)
	defer f.Close()
	published := map[int64]int64{8: 64, 32: 128, 64: 512, 192: 1536, 256: 2048, 384: 3072, 576: 4608} // for the tiny sizes
	rig := golden.Rig{
		Set:    map[string]any{"qwen3-tts.spk_enc.embedding_length": uint32(2048), "qwen3-tts.talker.embedding_length": uint32(2048)},
		Tensor: func(x *gguf.TensorInfo, _ []byte) bool { return !strings.HasPrefix(x.Name, "spk_enc.") },
		Add:    map[string][]int64{},
	}
	for _, x := range f.Tensors() {
		if !strings.HasPrefix(x.Name, "spk_enc.") {
			continue
		}
		shape := make([]int64, len(x.Shape))
		for i, n := range x.Shape {
			shape[i] = n
			if p, ok := published[n]; ok {
				shape[i] = p
			}
		}
		rig.Add[x.Name] = shape
	}
	e, err := load(t, be, golden.Rigged(t, src, rig))
	require.NoError(t, err)
	return e
}

// TestMemory holds the figures of the documentation of MaxSeconds.
func TestMemory(t *testing.T) {
	e := fullSize(t, testenv.CPU(t, 1))
	assert.Equal(t, Config{Channels: 512, Taps: [4]int{5, 3, 3, 3}, Scale: 8, Squeeze: 128, Aggregate: 1536, Attention: 128, Width: 2048}, e.Config())
	assert.Less(t, e.Bytes(), uint64(46<<20))
	for _, seconds := range []int{1, 60, MaxSeconds} {
		p, err := e.build(audio.MelFrames(seconds*audio.MelRate), false)
		require.NoError(t, err)
		assert.Less(t, float64(p.graph.Bytes()), float64(seconds)*1.8*(1<<20))
		t.Logf("%d s: %.1f MiB", seconds, float64(p.graph.Bytes())/(1<<20))
		p.graph.Free()
	}
}

// BenchmarkGraph measures the network at the published size on clips of some seconds. Weights of ones overflow, but
// that takes no longer.
func BenchmarkGraph(b *testing.B) {
	for _, threads := range []int{1, 2} {
		e := fullSize(b, testenv.CPU(b, threads))
		for _, seconds := range []int{10, 60} {
			b.Run(fmt.Sprintf("threads=%d/seconds=%d", threads, seconds), func(b *testing.B) {
				frames := audio.MelFrames(seconds * audio.MelRate)
				for b.Loop() {
					p, err := e.build(frames, false)
					require.NoError(b, err)
					p.in.set(make([]float32, frames*audio.MelBands))
					require.NoError(b, p.graph.Compute())
					p.graph.Free()
				}
			})
		}
	}
}
