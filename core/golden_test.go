package core_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/internal/npy"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// engine opens a tiny model at F32 on one thread until the test ends.
func engine(tb testing.TB, model string, change ...func(*core.Options)) *core.Engine {
	tb.Helper()
	opts := core.Options{
		TalkerPath: golden.GGUF(tb, model, "F32"),
		CodecPath:  golden.GGUF(tb, "tiny-tokenizer-12hz", "F32"),
		Threads:    1,
		GGMLDir:    testenv.GGMLDir(tb),
	}
	for _, c := range change {
		c(&opts)
	}
	e, err := core.Open(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	return e
}

// request is what a golden case asked for: greedy, as many frames as the reference made.
func request(c golden.Case, z *golden.Arrays) core.Request {
	r := core.DefaultRequest()
	r.Text, r.Language, r.Speaker, r.MaxFrames = c.Text, c.Language, c.Speaker, c.Frames
	r.Talker, r.Predictor = sample.Params{TopP: 1, RepetitionPenalty: c.RepetitionPenalty}, sample.Params{TopP: 1}
	r.Layout = core.LayoutStreamed
	if c.NonStreaming {
		r.Layout = core.LayoutWhole
	}
	if c.Instruct != nil {
		r.Instruct = *c.Instruct
	}
	if z.Has("ref_xvector") {
		x, _ := z.F32("ref_xvector")
		r.Voice = &core.Voice{XVector: x}
	}
	if z.Has("ref_codes") {
		ids, shape := z.I32("ref_codes")
		r.Voice.Codes = slices.Collect(slices.Chunk(ids, shape[1]))
		r.RefText = c.RefText
	}
	return r
}

// speak gathers the audio of a request.
func speak(e *core.Engine, r core.Request) ([]float32, core.Result, error) {
	var pcm []float32
	res, err := e.Synthesize(context.Background(), &r, func(v []float32) error {
		pcm = append(pcm, v...)
		return nil
	})
	return pcm, res, err
}

// skipped are the golden cases that the library refuses: no text, or a voice_design without an instruction.
func skipped(c golden.Case) bool {
	return prompt.IsBlank(c.Text) || strings.Contains(c.Model, "voicedesign") && (c.Instruct == nil || *c.Instruct == "")
}

// TestSpeechEqualsTheReference compares what each golden case speaks, and the stages that it dumps, with the reference.
func TestSpeechEqualsTheReference(t *testing.T) {
	cases := golden.Cases(t)
	engines := map[string]*core.Engine{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		if skipped(c) {
			continue
		}
		if engines[c.Model] == nil {
			engines[c.Model] = engine(t, c.Model)
		}
		t.Run(name, func(t *testing.T) { checkCase(t, engines[c.Model], c, golden.Load(t, name)) })
	}
}

func checkCase(t *testing.T, e *core.Engine, c golden.Case, z *golden.Arrays) {
	r := request(c, z)
	pcm, res, err := speak(e, r)
	require.NoError(t, err)
	require.Equal(t, c.Frames, res.Frames)
	require.Len(t, pcm, res.Samples)
	if z.Has("wav") {
		want, _ := z.F32("wav")
		// The reference cuts the reference clip off by a fraction and so sometimes keeps or loses a sample.
		require.LessOrEqual(t, len(want)-len(pcm), 1)
		golden.Check(t, "wav", pcm[:len(want)], want)
	}
	r.Stream = true
	streamed, _, err := speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, pcm, streamed, "to the bit: the codec's kernels do not round by width")

	r.DumpDir = t.TempDir()
	dumped, _, err := speak(e, r)
	require.NoError(t, err)
	assert.LessOrEqual(t, golden.MaxAbs(dumped, pcm), 2e-6)
	checkDump(t, r.DumpDir, z, c.Frames*e.NumCodebooks())
}

// checkDump compares the files of a dump with the golden arrays of the same names.
func checkDump(t *testing.T, dir string, z *golden.Arrays, codes int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.npy"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".npy")
		seen[name] = true
		a, err := npy.Read(path)
		require.NoError(t, err)
		switch {
		case !z.Has(name) || name == "wav":
		case a.I32 != nil:
			want, shape := z.I32(name)
			if name == "codec0_sequence" { // the reference draws one more code than it makes frames of
				want, shape = want[:len(a.I32)], a.Shape
			}
			assert.Equal(t, want, a.I32, name)
			assert.Equal(t, shape, a.Shape, name)
		default:
			want, shape := z.F32(name)
			n := len(a.F32)
			if name == "talker_hidden" || name == "step_logits" { // likewise
				want = want[:n]
			} else {
				assert.Equal(t, shape, a.Shape, name)
			}
			golden.Check(t, name, a.F32, want)
		}
	}
	for _, name := range z.Names() {
		if !strings.HasPrefix(name, "ref_") && name != "L0_q_rope" && name != "L0_k_rope" {
			assert.True(t, seen[name], "%s is not dumped", name)
		}
	}
}

var errStop = errors.New("enough")
