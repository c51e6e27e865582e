package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/npy"
)

// TestEveryStageIsTimed: a clone takes time in each stage, and no more than in all.
func TestEveryStageIsTimed(t *testing.T) {
	r := cloning(1)
	r.RefAudio, r.RefText = clip(t, "speech"), "Some words."
	e := engine(t, base)
	_, res, err := speak(e, r)
	require.NoError(t, err)
	ti := res.Timings
	for name, d := range map[string]time.Duration{"load": ti.Load, "tokenise": ti.Tokenise, "reference": ti.Reference, "prefill": ti.Prefill,
		"talker": ti.Talker, "predictor": ti.Predictor, "sampling": ti.Sampling, "codec": ti.Codec, "first audio": ti.FirstAudio, "total": ti.Total} {
		assert.Positive(t, d, name)
	}
	assert.Less(t, ti.Sampling, ti.Total)
	assert.LessOrEqual(t, ti.Tokenise+ti.Reference+ti.Prefill+ti.Talker+ti.Predictor, ti.Total)

	p := res.Profile()
	assert.Equal(t, res.Frames, p.Frames)
	assert.InDelta(t, float64(res.Samples)/24000, p.AudioSec, 1e-9)
	assert.InDelta(t, p.Total/1000/p.AudioSec, p.RTF, 1e-9)
	table := p.String()
	for _, stage := range []string{"loading", "tokenise", "encode reference", "prefill", "talker", "predictor", "sampling", "decode", "first audio", "total", "RTF"} {
		assert.Contains(t, table, stage)
	}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	var back core.Profile
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, p, back)
}

func TestProfileTable(t *testing.T) {
	r := core.Result{Frames: 2, Samples: 3840, Finish: core.FinishStop, Timings: core.Timings{Load: time.Second, Talker: 20 * time.Millisecond,
		Predictor: 60 * time.Millisecond, Sampling: 8 * time.Millisecond, Codec: 40 * time.Millisecond, FirstAudio: 50 * time.Millisecond, Total: 80 * time.Millisecond}}
	assert.Equal(t, `stage                      ms   ms/frame   of total
tokenise                  0.0                   0 %
encode reference          0.0                   0 %
prefill                   0.0                   0 %
talker                   20.0      10.00       25 %
predictor                60.0      30.00       75 %
  sampling                8.0       4.00       10 %
decode                   40.0      20.00       50 %
total                    80.0      40.00      100 %
stages overlap, so that they need not add up: decode runs beside the others, predictor has most of sampling
first audio after 50.0 ms; before all this, loading took 1000.0 ms
2 frames, 0.16 s of audio, RTF 0.500
`, r.Profile().String())
	assert.Zero(t, (&core.Result{}).RTF())
	assert.NotContains(t, (&core.Result{}).Profile().String(), "NaN")
}

// dumped reads a dump of codes.
func dumped(t *testing.T, path string) (frames [][]int32) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &frames), string(data))
	return frames
}

// TestDumpedCodes: after each frame the file has all frames so far, at most 32; each synthesis starts it afresh; the
// reference's frames are not in it. Both names of the variable do the same, ours first.
func TestDumpedCodes(t *testing.T) {
	e := shared(t, base)
	v, err := e.ExtractVoice(context.Background(), clip(t, "sweep"))
	require.NoError(t, err)
	for _, variable := range []string{"RIGHTKIT_QTS_DUMP_CODES", "QWEN_DUMP_CODES"} {
		path := filepath.Join(t.TempDir(), "codes.json")
		t.Setenv(variable, path)
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		r := cloning(1)
		r.Talker.DoSample, r.Predictor.DoSample = false, false
		r.Voice, r.RefText, r.MaxFrames = v, "Some words.", 35
		r.DumpDir = t.TempDir()
		r.Progress = func(p core.Progress) {
			assert.Len(t, dumped(t, path), min(p.Frames, 32))
		}
		_, res, err := speak(e, r)
		require.NoError(t, err)
		require.Greater(t, res.Frames, 2)
		frames := dumped(t, path)
		require.Len(t, frames, min(res.Frames, 32))
		all, err := npy.Read(filepath.Join(r.DumpDir, "codes.npy"))
		require.NoError(t, err)
		assert.Equal(t, slices.Collect(slices.Chunk(all.I32, all.Shape[1]))[:len(frames)], frames)

		stop := errors.New("enough")
		r.DumpDir, r.Progress = "", nil
		_, err = e.Synthesize(context.Background(), &r, func([]float32) error { return stop })
		assert.ErrorIs(t, err, core.ErrCancelled)
		again := dumped(t, path)
		assert.NotEmpty(t, again)
		assert.Less(t, len(again), len(frames), "afresh")

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		_, err = e.Synthesize(ctx, &r, func([]float32) error { return nil })
		assert.ErrorIs(t, err, core.ErrCancelled)
	}
	t.Setenv("QWEN_DUMP_CODES", filepath.Join(t.TempDir(), "no", "such", "folder"))
	r := cloning(1)
	_, _, err = speak(e, r)
	assert.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "QWEN_DUMP_CODES")
}
