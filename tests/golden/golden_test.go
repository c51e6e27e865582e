package golden

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml/gguf"
)

func TestCheckpoints(t *testing.T) {
	dir := Checkpoints(t) // the digests were checked when it was written
	for _, name := range Models() {
		assert.FileExists(t, filepath.Join(dir, name, "config.json"))
		assert.FileExists(t, filepath.Join(dir, name, weightsFile))
		assert.NoFileExists(t, filepath.Join(dir, name, manifestFile))
		if name != codecModel {
			assert.FileExists(t, filepath.Join(dir, name, "vocab.json"))
			assert.FileExists(t, filepath.Join(dir, name, "speech_tokenizer", weightsFile))
		}
	}
	assert.Equal(t, dir, Checkpoints(t))
}

func TestGGUF(t *testing.T) {
	for _, model := range Models() {
		for _, typ := range []string{"F32", "Q8_0"} {
			path := GGUF(t, model, typ)
			f, err := gguf.Open(path)
			require.NoError(t, err, path)
			assert.NotEmpty(t, f.Tensors(), path)
			require.NoError(t, f.Close())
			assert.Equal(t, path, GGUF(t, model, typ))
		}
	}
	_, err := converted("tiny-base-06", "Q9")
	assert.ErrorContains(t, err, "Q9")
	_, err = converted("no-such-model", "F32")
	assert.Error(t, err)
}

// TestDigestIsChecked: a generator that errs in one bit is noticed.
func TestDigestIsChecked(t *testing.T) {
	sums, err := readSums()
	require.NoError(t, err)
	assert.Len(t, sums, len(Models()))
	sum := sums["tiny-base-06/"+weightsFile]
	require.Len(t, sum, 64)
	err = writeCheckpoint(t.TempDir(), "tiny-base-06", strings.Repeat("0", 64))
	assert.ErrorContains(t, err, "sha256 is "+sum)
}

func TestGenerator(t *testing.T) {
	assert.Equal(t, uint64(0xcbf29ce484222325), fnv1a64(""))
	assert.Equal(t, uint64(0x85944171f73967e8), fnv1a64("foobar"))              // the FNV authors' test vector
	assert.Equal(t, uint64(0xe220a8397b1dcdaf), splitmix64(0x9E3779B97F4A7C15)) // first output for seed 0

	zero := 0.0
	s := tensorSpec{Name: "x", Shape: []int{4, 2}, Mean: 1, Amp: 0.5,
		Overrides: []override{{Rows: []int{1}, Scale: 0}, {Rows: []int{3}, Value: &zero}}}
	v := s.values("seed")
	require.Len(t, v, 8)
	assert.Equal(t, []float32{0, 0, 0, 0}, []float32{v[2], v[3], v[6], v[7]})
	for _, i := range []int{0, 1, 4, 5} {
		assert.InDelta(t, 1, v[i], 0.5)
	}

	for in, want := range map[float32]uint16{1: 0x3f80, -2: 0xc000, 1.00390625: 0x3f80, 1.01171875: 0x3f82, 1.0040: 0x3f81} {
		assert.Equal(t, want, bf16(in), in) // ties go to the even neighbour
	}
}

func TestOnceIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "made")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := once(path, func(tmp string) error {
				if err := os.MkdirAll(tmp, 0o755); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(tmp, "f"), []byte("whole"), 0o644)
			})
			assert.NoError(t, err)
			raw, err := os.ReadFile(filepath.Join(got, "f"))
			assert.NoError(t, err)
			assert.Equal(t, "whole", string(raw))
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary stays")

	_, err = once(path+"2", func(string) error { return assert.AnError })
	assert.ErrorIs(t, err, assert.AnError)
	assert.NoFileExists(t, path+"2")
}

// TestData: every case's arrays are there and have the sizes that lm_cases.json tells.
func TestData(t *testing.T) {
	cases := Cases(t)
	assert.Len(t, cases, 31)
	for name, c := range cases {
		a := Load(t, name)
		codes, shape := a.I32("codes")
		assert.Equal(t, []int{c.Frames, 16}, shape, name)
		assert.Len(t, codes, c.Frames*16, name)
		embeds, shape := a.F32("prefill_embeds")
		assert.Equal(t, c.PrefillLen, shape[0], name)
		assert.Len(t, embeds, shape[0]*shape[1], name)
		_, shape = a.F32("trailing_text_hidden")
		assert.Equal(t, c.TrailingLen, shape[0], name)
		assert.Contains(t, Models(), c.Model)
		if a.Has("wav") {
			wav, _ := a.F32("wav")
			assert.Len(t, wav, c.WavSamples, name)
			rms := math.Sqrt(squares(wav) / float64(len(wav)))
			assert.InDelta(t, c.WavRMS, rms, 1e-6, name)
		}
	}
	index, err := os.ReadFile(Path(t, "data", "INDEX.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(Path(t, "data", "*.npz"))
	require.NoError(t, err)
	for _, f := range files {
		assert.Contains(t, string(index), "## "+filepath.Base(f))
	}
}

func squares(x []float32) (s float64) {
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}

func TestMetrics(t *testing.T) {
	nan := float32(math.NaN())
	assert.Equal(t, 0.5, MaxAbs([]float32{1, 2.5}, []float32{1, 2}))
	assert.Equal(t, 1.0, Cosine([]float32{0, 0}, []float32{0, 0}))
	assert.InDelta(t, math.Sqrt2/2, Cosine([]float32{1, 1}, []float32{2, 0}), 1e-12)
	assert.InDelta(t, 20, SNR([]float32{0.9, 0}, []float32{1, 0}), 1e-5)
	assert.Equal(t, math.Inf(1), SNR([]float32{1}, []float32{1}))
	for name, f := range map[string]func(a, b []float32) float64{"MaxAbs": MaxAbs, "Cosine": Cosine, "SNR": SNR} {
		assert.True(t, math.IsNaN(f([]float32{nan}, []float32{1})), name)
		assert.True(t, math.IsNaN(f([]float32{nan}, []float32{nan})), name)
		assert.True(t, math.IsNaN(f([]float32{1}, []float32{1, 2})), name)
	}
	assert.True(t, math.IsNaN(Cosine([]float32{0}, []float32{1})))
}

// recorder notes whether a test that uses it would fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheck(t *testing.T) {
	want := []float32{1, -2, 3}
	near := []float32{1, -2, 3.001}
	for _, c := range []struct {
		stage string
		got   []float32
		fails bool
	}{
		{"prefill_logits_last", near, false},
		{"prefill_embeds", near, true},
		{"prefill_layer12", want, false},
		{"prefill_layer12", []float32{1, -2, 4}, true},
		{"wav_frames", near, true},
		{"q8_0/prefill_logits_last", near, false},
		{"prefill_logits_last", []float32{1, -2, float32(math.NaN())}, true},
		{"prefill_logits_last", want[:2], true},
		{"no_such_stage", want, true},
	} {
		r := &recorder{TB: t}
		Check(r, c.stage, c.got, want)
		assert.Equal(t, c.fails, r.failed, "%s %v", c.stage, c.got)
	}
	r := &recorder{TB: t}
	Check(r, "wav", nil, nil)
	assert.True(t, r.failed, "nothing compared is no success")
}

func TestStagesFile(t *testing.T) {
	assert.NotEmpty(t, Stages(t))
	for bad, want := range map[string]string{
		"\nwav snr":      "stages.txt:2: want",
		"wav snr high":   "stages.txt:1",
		"wav loudness 3": `unknown metric "loudness"`,
		"[ snr 3":        "pattern",
	} {
		_, err := parseStages(bad)
		assert.ErrorContains(t, err, want)
	}
}
