package core_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestASeedHoldsUnderEveryPlan: whoever computes what, in whatever pieces, one seed gives one sequence of codes. Its
// samples are the same to the last bit for the same pieces, and to float32 rounding for others. What is spoken in
// company is TestAGroupSpeaksLikeOne's.
func TestASeedHoldsUnderEveryPlan(t *testing.T) {
	deliveries := []struct {
		name   string
		stream bool
		chunk  int
	}{
		{"whole", false, 0},
		{"a frame at a time", true, 1},
		{"with a lead", true, 0},
		{"a short ramp", true, 4},
		{"a long ramp", true, 64},
	}
	type spoken struct {
		codes [][]int32
		pcm   []float32
	}
	first := map[string]spoken{} // by delivery, of the first plan
	for _, plan := range []struct {
		threads int // 1: the codec takes turns with the language models; 2: it works beside them
		batch   int
	}{{1, 1}, {2, 1}, {1, 2}, {2, 2}} {
		e := engine(t, custom, func(o *core.Options) { o.Threads, o.MaxBatch = plan.threads, plan.batch })
		for _, d := range deliveries {
			t.Run(fmt.Sprintf("%d threads, batch %d, %s", plan.threads, plan.batch, d.name), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "codes.json")
				t.Setenv("QWEN_DUMP_CODES", file)
				r := sampled(11)
				r.MaxFrames, r.Stream, r.ChunkFrames = 20, d.stream, d.chunk
				pcm, res, err := speak(e, r)
				require.NoError(t, err)
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				got := spoken{pcm: pcm}
				require.NoError(t, json.Unmarshal(data, &got.codes))
				require.Len(t, got.codes, res.Frames)
				require.Len(t, pcm, 1920*res.Frames)

				if _, there := first[d.name]; !there {
					first[d.name] = got
				}
				assert.Equal(t, first[d.name], got)
				assert.Equal(t, first["whole"].codes, got.codes)
				assert.LessOrEqual(t, golden.MaxAbs(got.pcm, first["whole"].pcm), 2e-6)
			})
		}
	}
}
