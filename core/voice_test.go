package core_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/tests/golden"
)

const base = "tiny-base-17"

// clip reads a golden recording.
func clip(tb testing.TB, name string) []float32 {
	tb.Helper()
	c, err := audio.Load(golden.Path(tb, "audio", name+"_24k.wav"))
	require.NoError(tb, err)
	pcm, _, err := c.Mono24k()
	require.NoError(tb, err)
	return pcm
}

// TestAVoiceEqualsTheReference compares an extracted voice with the reference's x-vector and codes.
func TestAVoiceEqualsTheReference(t *testing.T) {
	e := shared(t, base)
	pcm := clip(t, "speech")
	v, err := e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	want, _ := golden.Load(t, "spk_tiny-base-17_speech").F32("xvector")
	golden.Check(t, "xvector", v.XVector, want)
	assert.Len(t, v.Codes, len(pcm)/1920, "whole frames only")

	pcm = clip(t, "sweep") // whole frames
	v, err = e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	z := golden.Load(t, "codec_enc_sweep")
	ids, shape := z.I32("codes")
	require.Len(t, v.Codes, shape[0])
	gaps, _ := z.F32("rvq_gap") // [codebooks, frames]
	for f, frame := range v.Codes {
		for k, code := range frame {
			if gaps[k*shape[0]+f] <= 1e-3 {
				break // a near tie: what follows depends on it
			}
			assert.Equal(t, ids[f*shape[1]+k], code, "frame %d, codebook %d", f, k)
		}
	}
}

// cloning is a short request for a base model.
func cloning(seed int64) core.Request {
	r := core.DefaultRequest()
	r.Text, r.Language, r.Seed, r.MaxFrames = "Hello world.", "English", seed, 6
	return r
}

// TestAClipAndItsVoiceSpeakAlike: raw audio gives the samples that its extracted latents give, in both modes.
func TestAClipAndItsVoiceSpeakAlike(t *testing.T) {
	e := shared(t, base)
	pcm := clip(t, "speech")
	v, err := e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	spoken := map[string][]float32{}
	for _, text := range []string{"", "The quick brown fox."} {
		raw, latent := cloning(4), cloning(4)
		raw.RefAudio, raw.RefText, latent.RefText = pcm, text, text
		latent.Voice = &core.Voice{XVector: v.XVector}
		if text != "" {
			latent.Voice.Codes = v.Codes
		}
		a, res, err := speak(e, raw)
		require.NoError(t, err)
		assert.Len(t, a, 6*1920, "the reference is not part of the speech")
		assert.Equal(t, 6, res.Frames)
		b, _, err := speak(e, latent)
		require.NoError(t, err)
		assert.Equal(t, a, b)
		spoken[text] = a
	}
	assert.NotEqual(t, spoken[""], spoken["The quick brown fox."])
}

// TestAReferenceHeardBeforeChangesNothing: the second request takes the codec's memory of the reference from the first.
func TestAReferenceHeardBeforeChangesNothing(t *testing.T) {
	fresh, e := engine(t, base), engine(t, base)
	r := cloning(9)
	r.RefAudio, r.RefText = clip(t, "speech"), "The quick brown fox."
	want, _, err := speak(fresh, r)
	require.NoError(t, err)
	first, _, err := speak(e, r)
	require.NoError(t, err)
	plain, _, err := speak(e, cloning(9))
	require.NoError(t, err)
	second, _, err := speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, first)
	assert.Equal(t, want, second)
	assert.NotEqual(t, want, plain)
}

// TestTheCacheKnowsSamplesNotNames: a clip heard again is not extracted again, another clip is.
func TestTheCacheKnowsSamplesNotNames(t *testing.T) {
	e := engine(t, base)
	pcm := clip(t, "speech")
	first, err := e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	first.XVector[0] = 99
	again, err := e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	assert.NotEqual(t, float32(99), again.XVector[0], "what a caller does to its voice is its own affair")

	changed := append([]float32(nil), pcm...)
	changed[1000] += .25
	other, err := e.ExtractVoice(context.Background(), changed)
	require.NoError(t, err)
	assert.NotEqual(t, again.XVector, other.XVector)
}

func TestClipsThatGiveNoVoice(t *testing.T) {
	e := shared(t, base)
	tone := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(math.Sin(float64(i) / 20))
		}
		return v
	}
	nan, inf := tone(4000), tone(4000)
	nan[123], inf[321] = float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		pcm   []float32
		names string
	}{
		"none":     {[]float32{}, "1920"},
		"short":    {tone(1919), "1920"},
		"silence":  {make([]float32, 24000), "silence"},
		"NaN":      {nan, "sample 123"},
		"infinite": {inf, "sample 321"},
		"long":     {tone(core.MaxReferenceSeconds*24000 + 1), "120 s"},
	} {
		_, err := e.ExtractVoice(context.Background(), c.pcm)
		assert.ErrorIs(t, err, core.ErrInvalid, name)
		assert.ErrorContains(t, err, c.names)
		r := cloning(1)
		r.RefAudio = c.pcm
		_, _, err = speak(e, r)
		assert.ErrorIs(t, err, core.ErrInvalid, name)
		assert.ErrorContains(t, err, "ref_audio_24k")
	}
	_, err := e.ExtractVoice(context.Background(), tone(1920))
	assert.NoError(t, err, "one frame is enough")
}

func TestOnlyBaseModelsExtract(t *testing.T) {
	_, err := shared(t, custom).ExtractVoice(context.Background(), clip(t, "speech"))
	assert.ErrorIs(t, err, core.ErrMode)
}

func TestExtractionCanBeCancelled(t *testing.T) {
	e := engine(t, base)
	for looks := range 2 {
		_, err := e.ExtractVoice(&countdown{context.Background(), looks}, clip(t, "speech"))
		assert.ErrorIs(t, err, core.ErrCancelled)
		r := cloning(1)
		r.RefAudio, r.RefText = clip(t, "speech"), "Hello."
		_, err = e.Synthesize(&countdown{context.Background(), looks}, &r, nil)
		assert.ErrorIs(t, err, core.ErrCancelled)
	}
	_, err := e.ExtractVoice(context.Background(), clip(t, "speech"))
	assert.NoError(t, err)
}
