package lm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// Flash attention on the CPU, where only tests ask for it; on other devices the tests in device_test.go have it.

// loadFlash is load with flash attention, and with keys and values of a type if it is not nil.
func loadFlash(t *testing.T, name, typ string, cache *gguf.Type) loaded {
	t.Helper()
	opts := lm.FlashOnCPU()
	opts.Cache = cache
	m := loadWith(t, testenv.CPU(t, 1), name, typ, opts)
	require.True(t, m.Talker.Flash && m.Predictor.Flash)
	require.Contains(t, m.Describe(), "flash attention on")
	return m
}

func TestFlashAttentionIsForDevices(t *testing.T) {
	m := load(t, testenv.CPU(t, 1), "tiny-customvoice-06", "F32")
	assert.False(t, m.Talker.Flash || m.Predictor.Flash)
	assert.Contains(t, m.Describe(), "flash attention off")
	opts := lm.FlashOnCPU()
	opts.NoFlash = true
	m = loadWith(t, testenv.CPU(t, 1), "tiny-customvoice-06", "F32", opts)
	assert.False(t, m.Talker.Flash || m.Predictor.Flash)
}

func TestFlashStagesEqualTheReference(t *testing.T) {
	eachDeviceCase(t, func(t *testing.T, c golden.Case, z *golden.Arrays) {
		compared := 0
		for stage, got := range loadFlash(t, c.Model, "F32", nil).teacherForced(t, c, z, c.Frames) {
			if z.Has(stage) {
				want, _ := z.F32(stage)
				golden.Check(t, "flash/"+stage, got, want)
				compared++
			}
		}
		assert.GreaterOrEqual(t, compared, 8)
	})
}

func TestFlashCodesEqualTheReference(t *testing.T) {
	compared := 0
	eachDeviceCase(t, func(t *testing.T, c golden.Case, z *golden.Arrays) {
		got, _ := loadFlash(t, c.Model, "F32", nil).free(t, c, z)
		if min(c.MinGapCodec0, c.MinGapAcoustic) >= leastGap {
			assert.Equal(t, frames(z, "codes"), got)
			compared++
		}
	})
	assert.Positive(t, compared)
}

// flashCaches are kinds of keys and values with what their rounding may cost the logits against those of full precision:
// of F16, in which the CPU then adds up the values too, and of Q8_0, both keys and values.
var flashCaches = []struct {
	typ    gguf.Type
	cosine float64
}{{gguf.F32, .9999999}, {gguf.F16, .999998}, {gguf.Q8_0, .99995}}

// TestFlashStaysClose: lanes have the logits that they have without flash attention, closely, and to the last bit those
// that they have alone.
func TestFlashStaysClose(t *testing.T) {
	const name = "tiny-customvoice-06"
	exact := load(t, testenv.CPU(t, 1), name, "F32").Model
	for _, kind := range flashCaches {
		t.Run(kind.typ.String(), func(t *testing.T) {
			m := loadFlash(t, name, "F32", &kind.typ).Model
			worst := 1.0
			all := sequences(m, 6)
			for i, s := range sequences(exact, 6) {
				s.frames, all[i].frames = 1, 1
				s.alone(t, exact)
				all[i].alone(t, m)
				worst = min(worst, cosine(s.logits[0], all[i].logits[0]))
			}
			t.Logf("cosine of the logits >= %.8f", worst)
			assert.Greater(t, worst, kind.cosine)

			alone := sequences(m, 9)
			for _, s := range alone {
				s.alone(t, m)
			}
			for _, lanes := range []int{2, 5} {
				beside := sequences(m, 9)
				together(t, m, beside, lanes)
				for i := range alone {
					assert.Equal(t, alone[i].codes, beside[i].codes, "%d lanes, sequence %d", lanes, i)
					assert.Equal(t, alone[i].logits, beside[i].logits, "%d lanes, sequence %d", lanes, i)
				}
			}
		})
	}
}

// TestFlashFramesEqualTheHosts: the graph of whole frames draws what the sampler draws.
func TestFlashFramesEqualTheHosts(t *testing.T) {
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	m := loadFlash(t, c.Model, "F32", nil)
	p, xvector := m.layout(t, c, z)
	config := sample.Config{Talker: sample.Params{DoSample: true, Temperature: .9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05},
		Predictor: sample.Params{DoSample: true, Temperature: .9, TopP: .9}, Vocab: m.CodecVocab, EOS: m.vocab.Codec.EOS, Seed: 5}
	talker, predictor := m.sessions(t, nil, nil)
	logits, err := talker.Prefill(context.Background(), p, xvector)
	require.NoError(t, err)
	s := sample.New(config)
	var want [][]int32
	for frame := range 8 {
		c0, err := s.Talker(frame, logits)
		require.NoError(t, err)
		codes, err := predictor.Frame(c0, frame, s)
		require.NoError(t, err)
		want = append(want, slices.Clone(codes))
		logits, err = talker.Step(codes, frame)
		require.NoError(t, err)
	}
	whole, _, err := m.NewFrames(talker)
	require.NoError(t, err)
	t.Cleanup(whole.Close)
	_, err = talker.Prefill(context.Background(), p, xvector)
	require.NoError(t, err)
	whole.Start()
	s = sample.New(config)
	for frame := range want {
		got, err := whole.Next(frame, s)
		require.NoError(t, err)
		require.Equal(t, want[frame], got, "frame %d", frame)
	}
}

// TestFlashCacheBytes: what is foretold of keys and values is what they take.
func TestFlashCacheBytes(t *testing.T) {
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	f, err := model.Open(golden.GGUF(t, c.Model, "F32"), lm.Architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	for _, kind := range flashCaches {
		m := loadFlash(t, c.Model, "F32", &kind.typ)
		p, xvector := m.layout(t, c, z)
		talker, _ := m.sessions(t, nil, nil)
		_, err := talker.Prefill(context.Background(), p, xvector)
		require.NoError(t, err)
		n := m.Predictor.Layers * m.Predictor.KVHeads * m.Predictor.HeadDim * m.Codebooks
		predictor := uint64(2 * 4 * n)
		if kind.typ == gguf.F16 {
			predictor /= 2
		}
		assert.Equal(t, talker.Bytes()+predictor, lm.CacheBytes(f, m.Config, len(p.Rows), &kind.typ), fmt.Sprint(kind.typ))
		assert.Less(t, lm.GraphBytes(m.Config, 1000), lm.GraphBytes(load(t, testenv.CPU(t, 1), c.Model, "F32").Config, 1000))
	}
}
