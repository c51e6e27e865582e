package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/tests/golden"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func TestPhilox(t *testing.T) {
	var kat struct {
		Cases []struct {
			Counter [4]uint32
			Key     [2]uint32
			Out     [4]uint32
		}
	}
	golden.JSON(t, "philox_kat.json", &kat)
	require.NotEmpty(t, kat.Cases)
	for _, c := range kat.Cases {
		assert.Equal(t, c.Out, Philox4x32(c.Counter, c.Key))
	}
}

func TestUniform(t *testing.T) {
	// The known answer for counter 5 0 3 0 and key 42 0 is 39b5e818.
	assert.Equal(t, float32(0x39b5e8)/(1<<24), Uniform(42, 5, 3))
	assert.NotEqual(t, Uniform(42, 5, 3), Uniform(42+1<<32, 5, 3), "all 64 bits of the seed count")
	assert.NotEqual(t, Uniform(42, 0, 0), Uniform(42, 0, 1))
	assert.NotEqual(t, Uniform(42, 0, 1), Uniform(42, 1, 0))

	sum, n := 0.0, 0
	for frame := range 2000 {
		for codebook := range 16 {
			u := Uniform(-1, frame, codebook)
			require.True(t, u >= 0 && u < 1)
			sum += float64(u)
			n++
		}
	}
	assert.InDelta(t, 0.5, sum/float64(n), 0.01)
}

// TestGolden compares the probabilities with those the Hugging Face processors leave.
func TestGolden(t *testing.T) {
	var meta struct {
		Vocab int
		EOS   int32
		Cases []struct {
			Case        int
			Logits      string
			History     []int32
			Penalty     float32 `json:"rep_penalty"`
			Temperature float32
			TopK        int     `json:"top_k"`
			TopP        float32 `json:"top_p"`
		}
	}
	golden.JSON(t, "sampler.json", &meta)
	arrays := golden.Load(t, "sampler")
	require.Len(t, meta.Cases, 36)
	for _, c := range meta.Cases {
		t.Run(fmt.Sprint(c.Case), func(t *testing.T) {
			s := New(Config{Vocab: meta.Vocab, EOS: meta.EOS, Talker: Params{
				DoSample: true, Temperature: c.Temperature, TopK: c.TopK, TopP: c.TopP, RepetitionPenalty: c.Penalty}})
			for _, id := range c.History {
				s.Accept(id)
			}
			logits, _ := arrays.F32("logits_" + c.Logits)
			wantIDs, _ := arrays.I32(fmt.Sprintf("case%d_ids", c.Case))
			want, _ := arrays.F32(fmt.Sprintf("case%d_probs", c.Case))

			id, err := s.Talker(len(c.History), logits)
			require.NoError(t, err)
			ids, got := probabilities(s.talker.kept)
			assert.Contains(t, ids, id)
			require.Len(t, ids, len(wantIDs))
			if c.Logits == "ties" && c.TopP < 1 {
				// Which of the equal ones at top-p's boundary stay is unspecified: there the ids may differ.
				worst := slices.Min(want) + 1e-6
				assert.Equal(t, above(worst, wantIDs, want), above(worst, ids, got))
				slices.Sort(want)
				slices.Sort(got)
			} else {
				assert.Equal(t, wantIDs, ids)
			}
			for i := range want {
				assert.InDelta(t, want[i], got[i], 2e-7)
			}
		})
	}
}

// above returns the ids whose probability exceeds p.
func above(p float32, ids []int32, probs []float32) (out []int32) {
	for i, id := range ids {
		if probs[i] > p {
			out = append(out, id)
		}
	}
	return out
}

// probabilities returns what can be drawn, in order, and how likely each is.
func probabilities(kept []candidate) (ids []int32, p []float32) {
	total := 0.0
	for _, c := range kept {
		total += c.weight
	}
	for _, c := range kept {
		ids, p = append(ids, c.id), append(p, float32(c.weight/total))
	}
	return ids, p
}

// slowKept is a plain reference for top-k and top-p: full sorts, straight from their definition.
func slowKept(scores []float32, p Params) []int32 {
	var all []candidate
	for id, s := range scores {
		if s /= p.Temperature; s != minusInf {
			all = append(all, candidate{id: int32(id), score: s})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { // best first; of equals the lower id first
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.id, b.id)
	})
	if p.TopK > 0 && p.TopK < len(all) {
		n := p.TopK
		for n < len(all) && all[n].score == all[p.TopK-1].score {
			n++
		}
		all = all[:n]
	}
	if p.TopP < 1 {
		total, cum := 0.0, 0.0
		for _, c := range all {
			total += math.Exp(float64(c.score - all[0].score))
		}
		for n := len(all) - 1; n > 0; n-- {
			cum += float64(float32(math.Exp(float64(all[n].score-all[0].score)) / total))
			if float32(cum) > newChain(p).tail {
				break
			}
			all = all[:n]
		}
	}
	ids := make([]int32, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	slices.Sort(ids)
	return ids
}

func TestAgainstSlowReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		scores := make([]float32, 1+rng.IntN(200))
		coarse := rng.IntN(2) == 0 // many ties
		for i := range scores {
			scores[i] = float32(rng.NormFloat64() * 4)
			if coarse {
				scores[i] = float32(math.Round(float64(scores[i])))
			}
			if rng.IntN(10) == 0 {
				scores[i] = minusInf
			}
		}
		scores[rng.IntN(len(scores))] = 1
		p := Params{DoSample: true, Temperature: 0.1 + 2*rng.Float32(), TopK: rng.IntN(60), TopP: 1}
		if rng.IntN(2) == 0 {
			p.TopP = float32(1+rng.IntN(99)) / 100
		}
		c := newChain(p)
		u := rng.Float32()
		got, err := c.pick(scores, u)
		require.NoError(t, err)
		ids, probs := probabilities(c.kept)
		require.Equal(t, slowKept(scores, p), ids, "%+v %v", p, scores)

		// The code drawn is the one whose share of [0, 1) holds u.
		at := slices.Index(ids, got)
		require.GreaterOrEqual(t, at, 0)
		before := float32(0)
		for _, q := range probs[:at] {
			before += q
		}
		require.InDelta(t, before+probs[at]/2, u, float64(probs[at])/2+1e-6)
	}
}

func TestDrawAtTheEdges(t *testing.T) {
	c := newChain(Params{DoSample: true, Temperature: 1, TopP: 1})
	scores := []float32{minusInf, -200, 0, minusInf, 0, -200, minusInf} // -200 is zero beside 0, but for its id
	for u, want := range map[float32]int32{0: 1, 0x1p-24: 2, 0.25: 2, 0.75: 4, 1 - 0x1p-24: 4} {
		got, err := c.pick(scores, u)
		require.NoError(t, err)
		assert.Equal(t, want, got, "u %v", u)
	}
	scores = []float32{-1000, 3, -1000} // exp(-1003) is zero even in float64
	for _, u := range []float32{0, 0.5, 1 - 0x1p-24, 1} {
		got, err := c.pick(scores, u)
		require.NoError(t, err)
		assert.Equal(t, int32(1), got, "a code of probability zero is never drawn")
	}
}

// TestEqualProbabilities: five equal codes and a top_p of 0.8, which float32 can't hold exactly, keep four.
func TestEqualProbabilities(t *testing.T) {
	for topP, want := range map[float32][]int32{0.8: {0, 1, 2, 3}, 0.6: {0, 1, 2}, 0.61: {0, 1, 2, 3}, 0.2: {0}, 1e-9: {0}} {
		c := newChain(Params{DoSample: true, Temperature: 1, TopP: topP})
		_, err := c.pick(make([]float32, 5), 0.5)
		require.NoError(t, err)
		ids, _ := probabilities(c.kept)
		assert.Equal(t, want, ids, topP)
	}
}

// TestEOSStaysInNucleus: EOS has the highest id; cutting by id in place of rank would always remove it.
func TestEOSStaysInNucleus(t *testing.T) {
	const vocab, eos = 512 + Specials, 512 + Specials - 1
	logits := make([]float32, vocab)
	logits[eos] = 8
	for topP := float32(0.1); topP < 0.995; topP += 0.01 {
		for _, topK := range []int{0, 1, 50} {
			s := New(Config{Vocab: vocab, EOS: eos, Talker: Params{DoSample: true, Temperature: 1, TopK: topK, TopP: topP, RepetitionPenalty: 1}})
			_, err := s.Talker(5, logits)
			require.NoError(t, err)
			ids, _ := probabilities(s.talker.kept)
			require.Contains(t, ids, int32(eos), "top_p %v, top_k %d", topP, topK)
		}
	}
}

func TestTalkerRules(t *testing.T) {
	const vocab, eos = 8 + Specials, 10
	greedy := func() *Sampler {
		return New(Config{Vocab: vocab, EOS: eos, Talker: Params{RepetitionPenalty: 2, TopP: 1, Temperature: 1}})
	}
	logits := make([]float32, vocab)
	logits[eos], logits[eos+1] = 10, 50
	logits[0], logits[1], logits[2], logits[3] = 3, 2, 1.6, -1

	t.Run("EOS waits and specials are never drawn", func(t *testing.T) {
		s := greedy()
		for frame, want := range []int32{0, 1, eos} {
			got, err := s.Talker(frame, logits)
			require.NoError(t, err)
			assert.Equal(t, want, got, "frame %d", frame)
		}
	})
	t.Run("the penalty applies when greedy, once per id", func(t *testing.T) {
		s := greedy()
		s.Accept(0)
		s.Accept(0)
		s.Accept(-1)
		s.Accept(vocab)
		got, err := s.Talker(0, logits) // 3/2 against 2
		require.NoError(t, err)
		assert.Equal(t, int32(1), got)
		got, err = s.Talker(1, logits) // 3/2, 2/2, 1.6
		require.NoError(t, err)
		assert.Equal(t, int32(2), got)
		got, err = s.Talker(1, logits) // 3/2 again: not 3/4, which is below 1.6/2 and 2/2
		require.NoError(t, err)
		assert.Equal(t, int32(0), got)
	})
	t.Run("a negative logit is multiplied", func(t *testing.T) {
		neg := slices.Repeat([]float32{-4}, vocab)
		neg[3], neg[5] = -1, -1.5
		s := greedy()
		s.Accept(3)
		got, err := s.Talker(0, neg)
		require.NoError(t, err)
		assert.Equal(t, int32(5), got)
	})
	t.Run("temperature 0 is greedy", func(t *testing.T) {
		for _, temp := range []float32{0, 1e-45, 1e-38} { // the smallest overflow the division
			s := New(Config{Vocab: vocab, EOS: eos, Talker: Params{DoSample: true, Temperature: temp, TopP: 1, RepetitionPenalty: 1}})
			got, err := s.Talker(0, logits)
			require.NoError(t, err)
			assert.Equal(t, int32(0), got)
			neg := slices.Repeat([]float32{-9}, vocab)
			neg[4] = -8
			got, err = s.Talker(1, neg)
			require.NoError(t, err)
			assert.Equal(t, int32(4), got)
		}
	})
	t.Run("the logits are left alone", func(t *testing.T) {
		before := slices.Clone(logits)
		s := New(Config{Vocab: vocab, EOS: eos, Talker: Params{DoSample: true, Temperature: 0.5, TopP: 0.5, RepetitionPenalty: 2}})
		for frame := range 5 {
			_, err := s.Talker(frame, logits)
			require.NoError(t, err)
		}
		assert.Equal(t, before, logits)
	})
}

// TestPredictorHasNoMemory: neither penalty nor suppression, whatever was drawn.
func TestPredictorHasNoMemory(t *testing.T) {
	s := New(Config{Vocab: 8 + Specials, EOS: 10, Predictor: Params{RepetitionPenalty: 9}})
	logits := make([]float32, 2048)
	logits[2047] = 1
	for frame := range 3 {
		got, err := s.Predictor(frame, 1, logits)
		require.NoError(t, err)
		assert.Equal(t, int32(2047), got)
	}
}

// TestReplay: the codes of a frame don't depend on which draws were made before, in codebooks without a memory.
func TestReplay(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	logits := make([]float32, 512)
	for i := range logits {
		logits[i] = float32(rng.NormFloat64())
	}
	cfg := Config{Vocab: 8 + Specials, EOS: 10, Seed: 77, Predictor: Params{DoSample: true, Temperature: 1, TopK: 50, TopP: 0.9}}
	a, b := New(cfg), New(cfg)
	want := make(map[[2]int]int32)
	for frame := range 20 {
		for codebook := 1; codebook < 16; codebook++ {
			id, err := a.Predictor(frame, codebook, logits)
			require.NoError(t, err)
			want[[2]int{frame, codebook}] = id
		}
	}
	distinct := make(map[int32]bool)
	for at, id := range want { // in whatever order
		got, err := b.Predictor(at[0], at[1], logits)
		require.NoError(t, err)
		require.Equal(t, id, got)
		distinct[id] = true
	}
	assert.Greater(t, len(distinct), 10)

	cfg.Seed++
	c, same := New(cfg), 0
	for at, id := range want {
		got, err := c.Predictor(at[0], at[1], logits)
		require.NoError(t, err)
		if got == id {
			same++
		}
	}
	assert.Less(t, same, len(want)/4, "another seed, other codes")
}

// TestFrequencies: codes come as often as their probabilities say.
func TestFrequencies(t *testing.T) {
	c := newChain(Params{DoSample: true, Temperature: 1, TopP: 1})
	scores := []float32{0, float32(math.Log(2)), minusInf, float32(math.Log(5))}
	const n = 40000
	count := make([]float64, len(scores))
	for frame := range n {
		id, err := c.pick(scores, Uniform(11, frame, 0))
		require.NoError(t, err)
		count[id]++
	}
	for id, want := range []float64{1. / 8, 2. / 8, 0, 5. / 8} {
		assert.InDelta(t, want, count[id]/n, 0.01)
	}
}

func TestBadLogits(t *testing.T) {
	const vocab = 8 + Specials
	p := Params{DoSample: true, Temperature: 1, TopP: 1, RepetitionPenalty: 1}
	with := func(n, at int, v float32) []float32 {
		x := make([]float32, n)
		x[at] = v
		return x
	}
	for _, sampled := range []bool{true, false} {
		p.DoSample = sampled
		s := New(Config{Vocab: vocab, EOS: 10, Talker: p, Predictor: p})
		for want, logits := range map[string][]float32{
			"logit 3 is NaN":         with(vocab, 3, nan),
			"logit 20 is +Inf":       with(vocab, 20, inf), // suppressed, but a sign of trouble all the same
			"no code left":           slices.Repeat([]float32{minusInf}, vocab),
			"all logits are 0":       make([]float32, vocab),
			"all logits are -2":      slices.Repeat([]float32{-2}, vocab),
			"7 logits, want 1032":    make([]float32, 7),
			"1033 logits, want 1032": make([]float32, vocab+1),
		} {
			_, err := s.Talker(4, logits)
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, "codebook 0")
		}
		for want, logits := range map[string][]float32{
			"codebook 7, frame 4: logit 3 is NaN":      with(16, 3, nan),
			"codebook 7, frame 4: logit 3 is +Inf":     with(16, 3, inf),
			"codebook 7, frame 4: no code left to dra": slices.Repeat([]float32{minusInf}, 16),
			"no code left": {},
		} {
			_, err := s.Predictor(4, 7, logits)
			assert.ErrorContains(t, err, want)
		}
		_, err := s.Talker(4, with(vocab, 3, minusInf))
		assert.NoError(t, err, "-Inf only masks")
	}
}

func TestValidate(t *testing.T) {
	ok := Params{DoSample: true, Temperature: 0.9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05}
	require.NoError(t, ok.Validate(""))
	for _, c := range []struct {
		field  string
		values []float32
		set    func(*Params, float32)
		bad    bool
	}{
		{"temperature", []float32{nan, inf, -inf, -1, 50}, func(p *Params, v float32) { p.Temperature = v }, true},
		{"temperature", []float32{0, 1e-45, 10}, func(p *Params, v float32) { p.Temperature = v }, false},
		{"top_k", []float32{-1, -5, 1e6, math.MaxInt32}, func(p *Params, v float32) { p.TopK = int(v) }, true},
		{"top_k", []float32{0, 1, 3072, 65536}, func(p *Params, v float32) { p.TopK = int(v) }, false},
		{"top_p", []float32{nan, inf, 0, -1, 2, 1.0000001}, func(p *Params, v float32) { p.TopP = v }, true},
		{"top_p", []float32{1e-30, 0.5, 1}, func(p *Params, v float32) { p.TopP = v }, false},
		{"repetition_penalty", []float32{nan, inf, 0, -1, 1e9}, func(p *Params, v float32) { p.RepetitionPenalty = v }, true},
		{"repetition_penalty", []float32{0.5, 1, 10}, func(p *Params, v float32) { p.RepetitionPenalty = v }, false},
	} {
		for _, v := range c.values {
			p := ok
			c.set(&p, v)
			err := p.Validate("subtalker_")
			if !c.bad {
				assert.NoError(t, err, "%s %v", c.field, v)
				continue
			}
			assert.ErrorContains(t, err, "subtalker_"+c.field+": ", "%v", v)
			if c.field == "repetition_penalty" {
				assert.NoError(t, p.ValidateCodebooks(""))
			} else {
				assert.ErrorContains(t, p.ValidateCodebooks(""), c.field+": ")
			}
		}
	}
	assert.True(t, Params{Temperature: 1}.Greedy())
	assert.True(t, Params{DoSample: true}.Greedy())
	assert.False(t, Params{DoSample: true, Temperature: 1}.Greedy())
}

func benchLogits(n int) []float32 {
	rng := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 3)
	}
	return x
}

var shapes = []Params{
	{DoSample: false, TopP: 1, RepetitionPenalty: 1.05},
	{DoSample: true, Temperature: 0.9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05},
	{DoSample: true, Temperature: 0.9, TopK: 0, TopP: 0.9, RepetitionPenalty: 1.05},
	{DoSample: true, Temperature: 0.9, TopK: 0, TopP: 1, RepetitionPenalty: 1.05},
}

func TestAllocatesNothing(t *testing.T) {
	logits := benchLogits(3072)
	for _, p := range shapes {
		s := New(Config{Vocab: len(logits), EOS: 2150, Talker: p, Predictor: p})
		frame := 0
		allocs := testing.AllocsPerRun(50, func() { // it warms up with one run of its own
			_, err := s.Talker(frame, logits)
			require.NoError(t, err)
			_, err = s.Predictor(frame, 1, logits[:2048])
			require.NoError(t, err)
			frame++
		})
		assert.Zero(t, allocs, "%+v", p)
	}
}

func BenchmarkTalker(b *testing.B) {
	logits := benchLogits(3072)
	for _, p := range shapes {
		b.Run(fmt.Sprintf("sample=%v,k=%d,p=%v", p.DoSample, p.TopK, p.TopP), func(b *testing.B) {
			s := New(Config{Vocab: len(logits), EOS: 2150, Talker: p})
			b.ReportAllocs()
			for frame := 0; b.Loop(); frame++ {
				if _, err := s.Talker(frame, logits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredictor draws the 15 codes of a frame that the CodePredictor expands.
func BenchmarkPredictor(b *testing.B) {
	logits := benchLogits(2048)
	for _, p := range shapes {
		b.Run(fmt.Sprintf("sample=%v,k=%d,p=%v", p.DoSample, p.TopK, p.TopP), func(b *testing.B) {
			s := New(Config{Vocab: 3072, EOS: 2150, Predictor: p})
			b.ReportAllocs()
			for frame := 0; b.Loop(); frame++ {
				for codebook := 1; codebook < 16; codebook++ {
					if _, err := s.Predictor(frame, codebook, logits); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
