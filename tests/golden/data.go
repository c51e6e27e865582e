package golden

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/internal/npy"
	"github.com/stretchr/testify/require"
)

// Path returns the path of a file of the golden directory, for example Path(tb, "audio", "speech_24k.wav").
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	top, err := root()
	require.NoError(tb, err)
	return filepath.Join(append([]string{top, "tests", "golden"}, elem...)...)
}

// Arrays are the named arrays of one data/<name>.npz; data/INDEX.md lists them with their shapes.
type Arrays struct {
	tb   testing.TB
	file string
	m    map[string]*npy.Array
}

// Load reads data/<name>.npz. The test fails at once if it can't be read, and so it does when one of the methods is
// asked for an array that isn't there or is of another type.
func Load(tb testing.TB, name string) *Arrays {
	tb.Helper()
	a := &Arrays{tb: tb, file: name + ".npz", m: make(map[string]*npy.Array)}
	z, err := zip.OpenReader(Path(tb, "data", a.file))
	require.NoError(tb, err)
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(tb, err)
		arr, err := npy.Decode(r, int64(f.UncompressedSize64))
		require.NoErrorf(tb, err, "%s: %s", a.file, f.Name)
		require.NoError(tb, r.Close())
		a.m[strings.TrimSuffix(f.Name, ".npy")] = arr
	}
	return a
}

// F32 returns a float32 array in row-major order, and its shape.
func (a *Arrays) F32(name string) (data []float32, shape []int) {
	a.tb.Helper()
	arr := a.get(name)
	require.NotNilf(a.tb, arr.F32, "%s: %s is not float32", a.file, name)
	return arr.F32, arr.Shape
}

// I32 returns an int32 array in row-major order, and its shape.
func (a *Arrays) I32(name string) (data []int32, shape []int) {
	a.tb.Helper()
	arr := a.get(name)
	require.NotNilf(a.tb, arr.I32, "%s: %s is not int32", a.file, name)
	return arr.I32, arr.Shape
}

func (a *Arrays) get(name string) *npy.Array {
	a.tb.Helper()
	arr := a.m[name]
	require.NotNilf(a.tb, arr, "%s: no array %q (it has %v)", a.file, name, a.Names())
	return arr
}

// Has tells whether there is an array of that name.
func (a *Arrays) Has(name string) bool { return a.m[name] != nil }

// Names returns the sorted names of all arrays.
func (a *Arrays) Names() []string {
	names := make([]string, 0, len(a.m))
	for n := range a.m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// JSON decodes data/<file> into v.
func JSON(tb testing.TB, file string, v any) {
	tb.Helper()
	raw, err := os.ReadFile(Path(tb, "data", file))
	require.NoError(tb, err)
	require.NoErrorf(tb, json.Unmarshal(raw, v), "%s", file)
}

// Case describes one golden synthesis: what was asked for and what came of it. All are greedy on both stacks.
type Case struct {
	Model             string   `json:"model"` // a name of Models
	Text              string   `json:"text"`
	Speaker           string   `json:"speaker"`
	Language          string   `json:"language"`
	Instruct          *string  `json:"instruct"`
	RefText           string   `json:"ref_text"`
	XVectorOnly       *bool    `json:"x_vector_only_mode"` // nil unless the model is a base model
	NonStreaming      bool     `json:"non_streaming_mode"` // the whole text stands before codec_bos
	MaxNewTokens      int      `json:"max_new_tokens"`     // the official count: one more than frames
	RepetitionPenalty float32  `json:"repetition_penalty"`
	Frames            int      `json:"frames"`
	StoppedByEOS      bool     `json:"stopped_by_eos"`
	Prompts           []string `json:"prompts"` // strings tokenised, in the order of prompt<i>_ids
	PrefillLen        int      `json:"prefill_len"`
	TrailingLen       int      `json:"trailing_len"`

	// The smallest distances of the best from the second best logit; where one is below the error of a
	// computation, the codes may differ from there on.
	MinGapCodec0   float64 `json:"min_raw_gap_codec0"`
	MinGapAcoustic float64 `json:"min_gap_acoustic"`

	WavSamples int     `json:"wav_samples"` // 0 if there is no audio
	WavRMS     float64 `json:"wav_rms"`
	WavPeak    float64 `json:"wav_peak"`
}

// Cases returns the golden syntheses by name; Load(tb, name) has the arrays of each.
func Cases(tb testing.TB) map[string]Case {
	tb.Helper()
	cases := make(map[string]Case)
	JSON(tb, "lm_cases.json", &cases)
	require.NotEmpty(tb, cases)
	return cases
}
