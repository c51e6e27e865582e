package lm_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestDeviceFramesEqualTheHosts: the graph of whole frames draws what the sampler draws, on the CPU, or on the device that is
// named, whichever way of drawing is asked for.
func TestDeviceFramesEqualTheHosts(t *testing.T) {
	be := testenv.Backend(t, 1)
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	n := 24
	if testenv.OtherDevice() {
		n = 3
	}
	m := load(t, be, c.Model, "F32")
	p, xvector := m.layout(t, c, z)
	for what, params := range map[string][2]sample.Params{
		"greedy":         {{RepetitionPenalty: 1.05, TopP: 1}, {TopP: 1}},
		"defaults":       {{DoSample: true, Temperature: .9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05}, {DoSample: true, Temperature: .9, TopK: 50, TopP: 1}},
		"top-p":          {{DoSample: true, Temperature: 1.2, TopP: .8, RepetitionPenalty: 1.3}, {DoSample: true, Temperature: .7, TopK: 20, TopP: .9}},
		"greedy talker":  {{RepetitionPenalty: 1, TopP: 1}, {DoSample: true, Temperature: 1, TopP: 1}},
		"top-k of all":   {{DoSample: true, Temperature: 3, TopK: 1 << 16, TopP: 1, RepetitionPenalty: 1}, {DoSample: true, Temperature: 1, TopK: 1, TopP: 1}},
		"hardly a top-p": {{DoSample: true, Temperature: 2, TopK: 9, TopP: 1e-6, RepetitionPenalty: 2}, {DoSample: true, Temperature: 1e-3, TopP: .5}},
	} {
		if testenv.OtherDevice() && what != "defaults" && what != "top-p" {
			continue // they take long on a software device
		}
		t.Run(what, func(t *testing.T) {
			config := sample.Config{Talker: params[0], Predictor: params[1], Vocab: m.CodecVocab, EOS: m.vocab.Codec.EOS, Seed: 5}
			talker, predictor := m.sessions(t, nil, nil)
			logits, err := talker.Prefill(context.Background(), p, xvector)
			require.NoError(t, err)
			s := sample.New(config)
			var want [][]int32
			for frame := range n {
				c0, err := s.Talker(frame, logits)
				require.NoError(t, err)
				codes, err := predictor.Frame(c0, frame, s)
				require.NoError(t, err)
				want = append(want, slices.Clone(codes))
				logits, err = talker.Step(codes, frame)
				require.NoError(t, err)
			}

			frames, shared, err := m.NewFrames(talker)
			require.NoError(t, err)
			t.Cleanup(frames.Close)
			assert.False(t, shared)
			_, err = talker.Prefill(context.Background(), p, xvector)
			require.NoError(t, err)
			frames.Start()
			s = sample.New(config)
			for frame := range n {
				got, err := frames.Next(frame, s)
				require.NoError(t, err)
				require.Equal(t, want[frame], got, "frame %d", frame)
			}
		})
	}
}

// TestDeviceFramesRefuseUnsoundLogits: a result is an error where the sampler on the host would find one.
func TestDeviceFramesRefuseUnsoundLogits(t *testing.T) {
	be := testenv.Backend(t, 1)
	const name = "cv17_auto_dylan"
	c, z := golden.Cases(t)[name], golden.Load(t, name)
	m := load(t, be, c.Model, "F32")
	p, xvector := m.layout(t, c, z)
	talker, err := m.NewTalker(4096, nil)
	require.NoError(t, err)
	t.Cleanup(talker.Close)
	frames, _, err := m.NewFrames(talker)
	require.NoError(t, err)
	t.Cleanup(frames.Close)
	for what, spoil := range map[string]func(logits []float32){
		"NaN":      func(logits []float32) { logits[7] = float32(math.NaN()) },
		"all NaN":  func(logits []float32) { fill(logits, float32(math.NaN())) },
		"infinite": func(logits []float32) { logits[0] = float32(math.Inf(1)) },
		"the same": func(logits []float32) { fill(logits, 1.5) },
	} {
		for _, greedy := range []bool{false, true} {
			logits, err := talker.Prefill(context.Background(), p, xvector)
			require.NoError(t, err)
			spoil(logits)
			frames.Start()
			params := sample.Params{DoSample: !greedy, Temperature: 1, TopP: 1, RepetitionPenalty: 1}
			s := sample.New(sample.Config{Talker: params, Predictor: params, Vocab: m.CodecVocab, EOS: m.vocab.Codec.EOS})
			_, err = frames.Next(0, s)
			assert.ErrorContains(t, err, "codebook 0, frame 0: the logits are not finite, or all the same", what)
		}
	}
}

func fill(v []float32, x float32) {
	for i := range v {
		v[i] = x
	}
}
