package lm_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// loaded is a tiny model ready to run.
type loaded struct {
	*lm.Model
	vocab *prompt.Vocab
	tok   *bpe.Tokenizer
}

func load(t *testing.T, be *ggml.Backend, name, typ string) loaded {
	t.Helper()
	return loadWith(t, be, name, typ, lm.Options{})
}

func loadWith(t *testing.T, be *ggml.Backend, name, typ string, opts lm.Options) loaded {
	t.Helper()
	f, err := model.Open(golden.GGUF(t, name, typ), lm.Architecture, "talker")
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	vocab, tok, err := model.ReadVocab(f)
	require.NoError(t, err)
	m, err := lm.Load(be, f, opts)
	require.NoError(t, err)
	t.Cleanup(m.Free)
	return loaded{m, vocab, tok}
}

// layout is the prompt of a golden case, as the reference laid it out.
func (m loaded) layout(t *testing.T, c golden.Case, z *golden.Arrays) (p *prompt.Prompt, xvector []float32) {
	t.Helper()
	in := prompt.Input{Text: c.Text, Language: c.Language, Speaker: c.Speaker, Layout: prompt.LayoutStreamed}
	if c.NonStreaming {
		in.Layout = prompt.LayoutWhole
	}
	if c.Instruct != nil {
		in.Instruct = *c.Instruct
	}
	if z.Has("ref_xvector") {
		xvector, _ = z.F32("ref_xvector")
		in.SpeakerVector = true
	}
	if z.Has("ref_codes") {
		in.RefText, in.RefCodes = c.RefText, frames(z, "ref_codes")
	}
	p, err := prompt.Assemble(m.tok, m.vocab, in)
	require.NoError(t, err)
	return p, xvector
}

// frames reads codes [T, codebooks].
func frames(z *golden.Arrays, name string) [][]int32 {
	ids, shape := z.I32(name)
	return slices.Collect(slices.Chunk(ids, shape[1]))
}

// gathered collects the stages of a probe by name.
type gathered map[string][]float32

func (g gathered) probe(name string, _ []int, values []float32) {
	g[name] = append(g[name], values...)
}

func eachCase(t *testing.T, f func(t *testing.T, name string, c golden.Case, z *golden.Arrays)) {
	cases := golden.Cases(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) { f(t, name, cases[name], golden.Load(t, name)) })
	}
}

// TestStagesEqualTheReference runs every golden case with the reference's codes as history and compares each stage.
func TestStagesEqualTheReference(t *testing.T) {
	be := testenv.CPU(t, 1)
	eachCase(t, func(t *testing.T, _ string, c golden.Case, z *golden.Arrays) {
		compared := 0
		for stage, got := range load(t, be, c.Model, "F32").teacherForced(t, c, z, c.Frames) {
			if z.Has(stage) {
				want, _ := z.F32(stage)
				golden.Check(t, stage, got, want)
				compared++
			}
		}
		assert.GreaterOrEqual(t, compared, 8)
	})
}

// TestQuantizedStaysClose compares the logits of files with Q8_0 weights.
func TestQuantizedStaysClose(t *testing.T) {
	be := testenv.CPU(t, 1)
	eachCase(t, func(t *testing.T, _ string, c golden.Case, z *golden.Arrays) {
		want, _ := z.F32("prefill_logits_last")
		golden.Check(t, "q8_0/prefill_logits_last", load(t, be, c.Model, "Q8_0").teacherForced(t, c, z, c.Frames)["prefill_logits_last"], want)
	})
}

// teacherForced computes a case, or its first frames, with the reference's codes as history and returns all stages.
func (m loaded) teacherForced(t *testing.T, c golden.Case, z *golden.Arrays, most int) gathered {
	t.Helper()
	g, cp := gathered{}, gathered{}
	talker, pred := m.sessions(t, g.probe, cp.probe)
	p, xvector := m.layout(t, c, z)
	logits, err := talker.Prefill(context.Background(), p, xvector)
	require.NoError(t, err)
	s := m.sampler(c)
	all := frames(z, "codes")
	for frame, codes := range all[:min(most, len(all))] {
		g.state(talker, logits)
		clear(cp)
		_, err := pred.Frame(codes[0], frame, s)
		require.NoError(t, err)
		if frame == 0 {
			for name, v := range cp {
				g["cp_f0_"+strings.TrimPrefix(name, "cp_")] = v
			}
		}
		logits, err = talker.Step(codes, frame)
		require.NoError(t, err)
	}
	g.state(talker, logits)
	return g
}

// state keeps what a frame's code 0 is drawn from.
func (g gathered) state(talker *lm.Talker, logits []float32) {
	h := make([]float32, talker.Hidden().Elements())
	talker.Hidden().GetF32(h)
	g.probe("talker_hidden", nil, h)
	g.probe("step_logits", nil, logits)
}

func (m loaded) sessions(t *testing.T, talkerProbe, predictorProbe lm.Probe) (*lm.Talker, *lm.CodePredictor) {
	t.Helper()
	talker, err := m.NewTalker(4096, talkerProbe)
	require.NoError(t, err)
	t.Cleanup(talker.Close)
	pred, err := m.NewCodePredictor(talker.Hidden(), predictorProbe)
	require.NoError(t, err)
	t.Cleanup(pred.Close)
	return talker, pred
}

// sampler takes the best codes, as the golden cases do.
func (m loaded) sampler(c golden.Case) *sample.Sampler {
	return sample.New(sample.Config{Talker: sample.Params{RepetitionPenalty: c.RepetitionPenalty}, Vocab: m.CodecVocab, EOS: m.vocab.Codec.EOS})
}

// leastGap is the distance of the two best logits below which another order of summation may flip a code. The errors
// of the logits are an order of magnitude smaller.
const leastGap = 1e-4

// TestCodesEqualTheReference runs freely; where no decision of the reference was a near tie, the codes are its codes.
func TestCodesEqualTheReference(t *testing.T) {
	be := testenv.CPU(t, 1)
	eachCase(t, func(t *testing.T, _ string, c golden.Case, z *golden.Arrays) {
		got, eos := load(t, be, c.Model, "F32").free(t, c, z)
		want := frames(z, "codes")
		if min(c.MinGapCodec0, c.MinGapAcoustic) < leastGap {
			t.Logf("a near tie (%g): %v", min(c.MinGapCodec0, c.MinGapAcoustic), slices.EqualFunc(got, want, slices.Equal))
			return
		}
		assert.Equal(t, want, got)
		assert.Equal(t, c.StoppedByEOS, eos)
	})
}

// TestThreadsDoNotChangeTheCodes compares 2 and 4 threads with the reference, which one thread equals. It is short:
// ggml's threads wait by spinning, which takes for ever on a machine that is busy otherwise.
func TestThreadsDoNotChangeTheCodes(t *testing.T) {
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	c.Frames = 2
	for _, threads := range []int{2, 4} {
		for _, typ := range []string{"F32", "Q8_0"} {
			one, _ := load(t, testenv.CPU(t, 1), c.Model, typ).free(t, c, z)
			many, _ := load(t, testenv.CPU(t, threads), c.Model, typ).free(t, c, z)
			assert.Equal(t, one, many, "%d threads, %s", threads, typ)
		}
	}
}

// free generates a case's frames greedily and tells whether the model ended them.
func (m loaded) free(t *testing.T, c golden.Case, z *golden.Arrays) (out [][]int32, eos bool) {
	t.Helper()
	talker, pred := m.sessions(t, nil, nil)
	p, xvector := m.layout(t, c, z)
	logits, err := talker.Prefill(context.Background(), p, xvector)
	require.NoError(t, err)
	s := m.sampler(c)
	for frame := range c.Frames + 1 {
		c0, err := s.Talker(frame, logits)
		require.NoError(t, err)
		if c0 == m.vocab.Codec.EOS {
			return out, true
		}
		if frame == c.Frames {
			break
		}
		codes, err := pred.Frame(c0, frame, s)
		require.NoError(t, err)
		out = append(out, slices.Clone(codes))
		logits, err = talker.Step(codes, frame)
		require.NoError(t, err)
	}
	return out, false
}
