package speaker

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load opens the encoder of a file until the test ends.
func load(t testing.TB, be *ggml.Backend, path string) (*Encoder, error) {
	t.Helper()
	f, err := gguf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	cfg, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	e, err := Load(be, f, cfg)
	if err == nil {
		t.Cleanup(e.Free)
	}
	return e, err
}

// tiny is the encoder of a tiny base model.
func tiny(t testing.TB, threads int, model, typ string) *Encoder {
	t.Helper()
	e, err := load(t, testenv.CPU(t, threads), golden.GGUF(t, model, typ))
	require.NoError(t, err)
	return e
}

func embed(t testing.TB, e *Encoder, pcm []float32) []float32 {
	t.Helper()
	x, err := e.Embed(context.Background(), pcm)
	require.NoError(t, err)
	require.Len(t, x, e.Width())
	return x
}

// stage is what a Probe received.
type stage struct {
	shape  []int
	values []float32
}

// inspect returns all stages by name.
func inspect(t testing.TB, e *Encoder, pcm []float32) map[string]stage {
	t.Helper()
	stages := map[string]stage{}
	x, err := e.Inspect(context.Background(), pcm, func(name string, shape []int, values []float32) {
		require.NotContains(t, stages, name)
		stages[name] = stage{shape, values}
	})
	require.NoError(t, err)
	assert.Equal(t, x, stages["xvector"].values)
	return stages
}

func TestStagesEqualTheReference(t *testing.T) {
	for _, c := range []struct{ model, clip string }{{"tiny-base-17", "speech"}, {"tiny-base-17", "sweep"}, {"tiny-base-06", "speech"}} {
		t.Run(c.model+"/"+c.clip, func(t *testing.T) {
			want := golden.Load(t, "spk_"+c.model+"_"+c.clip)
			stages := inspect(t, tiny(t, 1, c.model, "F32"), golden.PCM(t, c.clip))
			for _, name := range want.Names() {
				data, shape := want.F32(name)
				slices.Reverse(shape)
				assert.Equal(t, shape, stages[name].shape, name)
				golden.Check(t, name, stages[name].values, data)
			}
		})
	}
}

// TestTypes: in files of all these types the kernels are F16, which holds the tiny BF16 weights unless they are next to 0.
func TestTypes(t *testing.T) {
	want := embed(t, tiny(t, 1, "tiny-base-17", "F32"), golden.PCM(t, "speech"))
	for _, typ := range []string{"F16", "BF16", "Q8_0"} {
		assert.Greater(t, golden.SNR(embed(t, tiny(t, 1, "tiny-base-17", typ), golden.PCM(t, "speech")), want), 120.0, typ)
	}
}

func TestTheSameClipHasTheSameVector(t *testing.T) {
	pcm := golden.PCM(t, "speech")
	e := tiny(t, 1, "tiny-base-06", "F32")
	want := embed(t, e, pcm)
	embed(t, e, golden.PCM(t, "sweep"))
	assert.Equal(t, want, embed(t, e, pcm))
	assert.Equal(t, want, inspect(t, e, pcm)["xvector"].values)
	for _, threads := range []int{2, 4} {
		got := embed(t, tiny(t, threads, "tiny-base-06", "F32"), pcm)
		assert.Greater(t, golden.SNR(got, want), 110.0, "%d threads", threads)
	}
}

func TestClips(t *testing.T) {
	e := tiny(t, 1, "tiny-base-17", "F32")
	require.Equal(t, 1280, e.MinSamples(), "five frames: a dilation of 4 reaches four beyond the first")
	speech, nan, inf := golden.PCM(t, "speech"), float32(math.NaN()), float32(math.Inf(-1))
	spoilt := func(x float32) []float32 {
		pcm := slices.Clone(speech)
		pcm[4711] = x
		return pcm
	}
	for name, c := range map[string]struct {
		pcm  []float32
		want string
	}{
		"none":     {nil, "speaker: unsuitable audio: 0 samples (0.000 s), at least 1280 (0.053 s) are needed"},
		"short":    {speech[:1279], "speaker: unsuitable audio: 1279 samples (0.053 s), at least 1280 (0.053 s) are needed"},
		"long":     {make([]float32, MaxSeconds*audio.MelRate+1), "speaker: unsuitable audio: 2880001 samples (120.0 s), at most 120 s are taken"},
		"NaN":      {spoilt(nan), "speaker: unsuitable audio: mel: sample 4711 is NaN"},
		"infinite": {spoilt(inf), "speaker: unsuitable audio: mel: sample 4711 is -Inf"},
	} {
		_, err := e.Embed(context.Background(), c.pcm)
		assert.EqualError(t, err, c.want, name)
		assert.ErrorIs(t, err, ErrAudio, name)
	}
	for name, pcm := range map[string][]float32{
		"shortest":         speech[20000:21280],
		"silence":          make([]float32, 24000),
		"shortest silence": make([]float32, 1280),
		"direct current":   slices.Repeat([]float32{1}, 5000),
		"loudest":          slices.Repeat([]float32{math.MaxFloat32, -math.MaxFloat32}, 5000),
		"faintest":         slices.Repeat([]float32{math.SmallestNonzeroFloat32, 0}, 5000),
	} {
		for _, v := range embed(t, e, pcm) {
			require.Zero(t, v-v, name)
		}
	}
}

func TestCancelling(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tiny(t, 1, "tiny-base-17", "F32").Embed(ctx, golden.PCM(t, "speech"))
	assert.ErrorIs(t, err, context.Canceled)
}

// TestFrames compares with reflection written out.
func TestFrames(t *testing.T) {
	assert.Equal(t, []int32{2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0}, window{5, 1}.frames(3))
	assert.Equal(t, []int32{4, 0, 4, 3, 1, 3, 2, 2, 2, 1, 3, 1, 0, 4, 0}, window{3, 4}.frames(5))
	assert.Equal(t, []int32{1, 0, 1, 2, 0, 1, 2, 3, 1, 2, 3, 2, 2, 3, 2, 1}, window{4, 1}.frames(4), "one more after than before")
	for _, w := range []window{{1, 1}, {5, 1}, {3, 4}, {4, 3}} {
		_, after := w.reach()
		n := after + 1 // the shortest clip
		for _, id := range w.frames(n) {
			assert.True(t, id >= 0 && int(id) < n, "%v", w)
		}
	}
}
