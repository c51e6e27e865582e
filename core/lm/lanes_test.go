package lm_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
)

// sequence is what one lane speaks.
type sequence struct {
	prompt  *prompt.Prompt
	frames  int
	seed    int64
	sampler *sample.Sampler
	codes   [][]int32 // what was drawn
	logits  [][]float32
}

// sequences differ in length of prompt, overlay and speech; every third one is greedy.
func sequences(m *lm.Model, n int) []*sequence {
	var all []*sequence
	for i := range n {
		p := &prompt.Prompt{Pad: 1}
		for j := range 4 + 17*i {
			p.Rows = append(p.Rows, prompt.Row{Text: int32((3*i + j) % 50), Codec: int32((5*j + i) % 40), RefFrame: prompt.None})
		}
		for j := range 7 * i % 60 {
			p.Overlay = append(p.Overlay, int32((j+i)%50))
		}
		s := &sequence{prompt: p, frames: 3 + 5*i%11, seed: int64(i)}
		c := sample.Config{Talker: sample.Params{TopP: 1, RepetitionPenalty: 1.05}, Predictor: sample.Params{TopP: 1},
			Vocab: m.CodecVocab, EOS: int32(m.CodecVocab - 1), Seed: s.seed}
		if i%3 > 0 {
			c.Talker.Temperature, c.Predictor.Temperature, c.Talker.TopK = .9, .9, 50
		}
		s.sampler = sample.New(c)
		all = append(all, s)
	}
	return all
}

// alone speaks a sequence as the only one.
func (s *sequence) alone(t *testing.T, m *lm.Model) {
	talker, err := m.NewTalker(1024, nil)
	require.NoError(t, err)
	defer talker.Close()
	p, err := m.NewCodePredictor(talker.Hidden(), nil)
	require.NoError(t, err)
	defer p.Close()
	logits, err := talker.Prefill(t.Context(), s.prompt, nil)
	require.NoError(t, err)
	for frame := range s.frames {
		s.logits = append(s.logits, append([]float32(nil), logits...))
		c0, err := s.sampler.Talker(frame, logits)
		require.NoError(t, err)
		codes, err := p.Frame(c0, frame, s.sampler)
		require.NoError(t, err)
		s.codes = append(s.codes, append([]int32(nil), codes...))
		logits, err = talker.Step(codes, frame)
		require.NoError(t, err)
	}
}

// TestLanesDoNotDisturbEachOther: sequences that come and go, rest, and move to other lanes have the logits and codes,
// to the last bit, that they have alone; with weights that have kernels of their own and with those that have not.
func TestLanesDoNotDisturbEachOther(t *testing.T) {
	for _, typ := range []string{"F32", "F16", "BF16", "Q8_0"} {
		for _, lanes := range []int{1, 2, 3, 5, 8} {
			t.Run(fmt.Sprintf("%s/%d", typ, lanes), func(t *testing.T) {
				m := load(t, testenv.CPU(t, 1), "tiny-customvoice-06", typ).Model
				want, got := sequences(m, 9), sequences(m, 9)
				for _, s := range want {
					s.alone(t, m)
				}
				together(t, m, got, lanes)
				for i := range want {
					assert.Equal(t, want[i].codes, got[i].codes, "sequence %d", i)
					assert.Equal(t, want[i].logits, got[i].logits, "sequence %d", i)
				}
			})
		}
	}
}

// together speaks sequences in lanes: one joins every other frame, each rests every fifth frame, and the last lane moves
// into one that is free.
func together(t *testing.T, m *lm.Model, waiting []*sequence, lanes int) {
	talker, err := m.NewTalkerOf(1024, lanes)
	require.NoError(t, err)
	defer talker.Close()
	p, err := m.NewCodePredictorOf(talker.Hidden(), lanes)
	require.NoError(t, err)
	defer p.Close()
	in := make([]*sequence, lanes)
	for round := 0; ; round++ {
		free := -1
		var draws []lm.Draw
		for i, s := range in {
			switch {
			case s == nil && free < 0:
				free = i
			case s != nil && free >= 0:
				talker.Move(free, i)
				in[free], in[i], free = s, nil, i
			}
		}
		if free >= 0 && len(waiting) > 0 && round%2 == 0 {
			require.NoError(t, talker.Start(free, waiting[0].prompt, nil))
			for done := false; !done; {
				done, err = talker.Advance(free)
				require.NoError(t, err)
			}
			in[free], waiting = waiting[0], waiting[1:]
		}
		for i, s := range in {
			if s == nil || (round+i)%5 == 0 {
				continue
			}
			logits := talker.Logits(i)
			s.logits = append(s.logits, append([]float32(nil), logits...))
			c0, err := s.sampler.Talker(len(s.codes), logits)
			require.NoError(t, err)
			draws = append(draws, lm.Draw{Lane: i, Code0: c0, Frame: len(s.codes), Sampler: s.sampler})
		}
		if len(draws) == 0 {
			if len(waiting) == 0 && !slices.ContainsFunc(in, func(s *sequence) bool { return s != nil }) {
				return
			}
			continue
		}
		require.NoError(t, p.FrameAll(draws))
		var feeds []lm.Feed
		for _, d := range draws {
			require.NoError(t, d.Err)
			s := in[d.Lane]
			s.codes = append(s.codes, append([]int32(nil), p.Codes(d.Lane)...))
			feeds = append(feeds, lm.Feed{Lane: d.Lane, Codes: s.codes[len(s.codes)-1], Frame: d.Frame})
		}
		require.NoError(t, talker.StepAll(feeds))
		for i, s := range in {
			if s != nil && len(s.codes) == s.frames {
				talker.Stop(i)
				in[i] = nil
			}
		}
	}
}

// TestKeysMayBeRounded: with keys in Q8_0 the logits stay close, and lanes still do not disturb each other.
func TestKeysMayBeRounded(t *testing.T) {
	be := testenv.CPU(t, 1)
	exact := load(t, be, "tiny-customvoice-06", "F32").Model
	for kind, want := range map[gguf.Type]float64{gguf.F16: .999999, gguf.Q8_0: .9999} {
		m := loadWith(t, be, "tiny-customvoice-06", "F32", lm.Options{Cache: &kind}).Model
		all := sequences(m, 4)
		worst := 1.0
		for i, s := range sequences(exact, 4) {
			s.frames, all[i].frames = 1, 1
			s.alone(t, exact)
			all[i].alone(t, m)
			worst = min(worst, cosine(s.logits[0], all[i].logits[0]))
		}
		t.Logf("%v: cosine of the logits >= %.7f", kind, worst)
		assert.Greater(t, worst, want, kind)

		alone, beside := sequences(m, 5), sequences(m, 5)
		for _, s := range alone {
			s.alone(t, m)
		}
		together(t, m, beside, 3)
		for i := range alone {
			assert.Equal(t, alone[i].codes, beside[i].codes)
		}
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}
