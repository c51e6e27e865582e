package core_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// modelDir is a folder with models of the second family, by their names among the golden models and in files, and a
// codec.
func modelDir(t *testing.T, models map[string]string, bundle bool) string {
	t.Helper()
	dir := t.TempDir()
	for name, stem := range models {
		s := golden.Second(t, name, "F32")
		if bundle {
			s.Bundle()
		}
		s.Write(t, dir, stem)
	}
	require.NoError(t, os.Symlink(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), filepath.Join(dir, "qwen-tokenizer-12hz-F32.gguf")))
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	t.Setenv("QWEN_THREADS", "1")
	return dir
}

// TestTheSecondFamilySpeaks: a folder of split files, and a bundle, speak sample for sample like the file of the first
// family.
func TestTheSecondFamilySpeaks(t *testing.T) {
	want, _, err := speak(shared(t, custom), sampled(5))
	require.NoError(t, err)
	for _, bundle := range []bool{false, true} {
		dir := modelDir(t, map[string]string{custom: "qwen3-tts-1.7b-customvoice"}, bundle)
		e, err := core.OpenModelDir(dir, core.ModeCustomVoice)
		require.NoError(t, err)
		assert.Equal(t, core.ModeCustomVoice, e.Mode())
		assert.ElementsMatch(t, core.PresetSpeakers(), e.Speakers())
		got, _, err := speak(e, sampled(5))
		require.NoError(t, err)
		assert.Equal(t, want, got)
		require.NoError(t, e.Close())
	}
}

// TestTheSecondFamilyAndItsVocoder: a folder without a speech tokenizer's file speaks by the ONNX vocoder in it.
func TestTheSecondFamilyAndItsVocoder(t *testing.T) {
	testenv.ONNXRuntime(t)
	dir := modelDir(t, map[string]string{custom: "qwen3-tts-1.7b-customvoice"}, false)
	require.NoError(t, os.Remove(filepath.Join(dir, "qwen-tokenizer-12hz-F32.gguf")))
	onnx := golden.ONNX(t, "tiny-vocoder")
	for from, to := range map[string]string{onnx: "qwen3-tts-vocoder.onnx", filepath.Join(filepath.Dir(onnx), "model.safetensors"): "model.safetensors"} {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o666))
	}
	assert.True(t, core.HoldsCodec(dir))
	want, _, err := speak(shared(t, custom), sampled(5))
	require.NoError(t, err)
	e, err := core.OpenModelDir(dir, "")
	require.NoError(t, err)
	defer e.Close()
	got, _, err := speak(e, sampled(5))
	require.NoError(t, err)
	assert.Greater(t, golden.SNR(got, want), 60.0)
}

// TestTheSecondFamilyClones: a base model of three files, by paths; an embedding in place of the reference's.
func TestTheSecondFamilyClones(t *testing.T) {
	talker, predictor, tokenizer := golden.Second(t, base, "F32").Write(t, t.TempDir(), "tiny")
	e := engine(t, base, func(o *core.Options) { o.TalkerPath, o.PredictorPath, o.TokenizerPath = talker, predictor, tokenizer })
	pcm := clip(t, "sweep")
	voice, err := e.ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	other := make([]float32, len(voice.XVector))
	for i := range other {
		other[i] = float32(i%7) / 10
	}
	r := cloning(3)
	r.Voice = voice
	r.RefText = "Some words that were said."
	want, _, err := speak(shared(t, base), r)
	require.NoError(t, err)
	got, _, err := speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	r.Voice = &core.Voice{XVector: other, Codes: voice.Codes}
	want, _, err = speak(e, r)
	require.NoError(t, err)
	assert.NotEqual(t, got, want)
	r.Voice, r.SpeakerEmbedding = voice, other
	got, _, err = speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, got, "the embedding replaces that of the voice")
	r.Voice, r.RefAudio = nil, pcm
	got, _, err = speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, got, "and that of a clip")

	r = cloning(3)
	r.Voice = &core.Voice{XVector: other}
	want, _, err = speak(e, r)
	require.NoError(t, err)
	r.Voice, r.SpeakerEmbedding = nil, other
	got, _, err = speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, got, "and stands alone")
	r.SpeakerEmbedding = other[1:]
	_, _, err = speak(e, r)
	assert.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, "speaker_embedding: 255 values")
}

// TestValidModeCombinations: what each mode takes. A base model without a voice picks one.
func TestValidModeCombinations(t *testing.T) {
	voice := &core.Voice{XVector: []float32{1}}
	for _, c := range []struct {
		mode core.Mode
		r    core.Request
	}{
		{core.ModeBase, core.Request{}},
		{core.ModeBase, core.Request{Voice: voice}},
		{core.ModeBase, core.Request{Voice: voice, RefText: "words"}},
		{core.ModeBase, core.Request{Voice: voice, SpeakerEmbedding: []float32{1}}},
		{core.ModeBase, core.Request{RefAudio: []float32{1}, RefText: "words", SpeakerEmbedding: []float32{1}}},
		{core.ModeCustomVoice, core.Request{Speaker: core.Vivian}},
		{core.ModeCustomVoice, core.Request{Speaker: core.UncleFu, Instruct: "Speak warmly."}},
		{core.ModeVoiceDesign, core.Request{Instruct: "a calm old man"}},
	} {
		for _, mode := range []core.Mode{"", c.mode} {
			c.r.Mode = mode
			assert.NoError(t, c.r.CheckMode(c.mode), "%s %+v", c.mode, c.r)
		}
	}
}

// TestMissingRequiredModeInputs: a preset, an instruction, and a description that is not blank.
func TestMissingRequiredModeInputs(t *testing.T) {
	for _, c := range []struct {
		mode core.Mode
		r    core.Request
		want string
	}{
		{core.ModeCustomVoice, core.Request{}, "speaker: a custom_voice model needs one of its speakers"},
		{core.ModeCustomVoice, core.Request{Instruct: "warmly"}, "speaker"},
		{core.ModeVoiceDesign, core.Request{}, "instruct: a voice_design model needs a description"},
		{core.ModeVoiceDesign, core.Request{Instruct: " \n\u200b"}, "instruct"},
	} {
		err := c.r.CheckMode(c.mode)
		assert.ErrorIs(t, err, core.ErrMode, "%s %+v", c.mode, c.r)
		assert.ErrorContains(t, err, c.want)
	}
}

// TestIncompatibleConditioningIsRejected: whatever belongs to another mode.
func TestIncompatibleConditioningIsRejected(t *testing.T) {
	voice, embedding := &core.Voice{XVector: []float32{1}}, []float32{1}
	for _, c := range []struct {
		mode core.Mode
		r    core.Request
		kind error
		want string
	}{
		{core.ModeBase, core.Request{Speaker: core.Vivian}, core.ErrMode, "speaker"},
		{core.ModeBase, core.Request{Voice: voice, Instruct: "warmly"}, core.ErrMode, "instruct"},
		{core.ModeBase, core.Request{Voice: voice, Speaker: core.Ryan}, core.ErrInvalid, "speaker"},
		{core.ModeBase, core.Request{Voice: voice, RefAudio: embedding}, core.ErrInvalid, "ref_audio_24k"},
		{core.ModeBase, core.Request{SpeakerEmbedding: embedding, RefText: "words"}, core.ErrInvalid, "ref_text"},
		{core.ModeCustomVoice, core.Request{Speaker: core.Vivian, Voice: voice}, core.ErrInvalid, "speaker"},
		{core.ModeCustomVoice, core.Request{Speaker: core.Vivian, SpeakerEmbedding: embedding}, core.ErrInvalid, "speaker"},
		{core.ModeCustomVoice, core.Request{Voice: voice}, core.ErrMode, "speaker"},
		{core.ModeVoiceDesign, core.Request{Instruct: "calm", Speaker: core.Sohee}, core.ErrMode, "speaker"},
		{core.ModeVoiceDesign, core.Request{Instruct: "calm", Voice: voice}, core.ErrMode, "ref_spk_emb"},
		{core.ModeVoiceDesign, core.Request{Instruct: "calm", SpeakerEmbedding: embedding}, core.ErrMode, "ref_spk_emb"},
		{core.ModeVoiceDesign, core.Request{Mode: core.ModeBase, Instruct: "calm"}, core.ErrMode, "mode: this is a voice_design model"},
		{core.ModeBase, core.Request{Mode: core.ModeCustomVoice, Speaker: core.Vivian}, core.ErrMode, "mode: this is a base model"},
	} {
		err := c.r.CheckMode(c.mode)
		assert.ErrorIs(t, err, c.kind, "%s %+v", c.mode, c.r)
		assert.ErrorContains(t, err, c.want)
	}
}

// TestOpeningByMode: the mode that is asked for must be that of the files, and names the one that is meant.
func TestOpeningByMode(t *testing.T) {
	dir := modelDir(t, map[string]string{custom: "qwen3-tts-1.7b-customvoice", "tiny-voicedesign-17": "qwen3-tts-1.7b-voicedesign"}, true)
	open := func(dir string, mode core.Mode) error {
		e, err := core.OpenModelDir(dir, mode)
		if err == nil {
			assert.Equal(t, mode, e.Mode())
			require.NoError(t, e.Close())
		}
		return err
	}
	assert.NoError(t, open(dir, core.ModeVoiceDesign))
	err := open(dir, "")
	assert.ErrorIs(t, err, core.ErrMode)
	assert.ErrorContains(t, err, "has models for custom_voice, voice_design: say which")
	err = open(dir, core.ModeBase)
	assert.ErrorIs(t, err, core.ErrModel)
	assert.ErrorContains(t, err, "no base model")
	err = open(dir, "karaoke")
	assert.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, `mode: "karaoke" is not base`)

	_, err = core.Open(core.Options{TalkerPath: golden.GGUF(t, custom, "F32"), CodecPath: "x", Mode: core.ModeBase})
	assert.ErrorIs(t, err, core.ErrMode)
	require.NoError(t, os.Remove(filepath.Join(dir, "qwen-tokenizer-12hz-F32.gguf")))
	err = open(dir, core.ModeVoiceDesign)
	assert.ErrorIs(t, err, core.ErrModel)
	assert.ErrorContains(t, err, "has no codec")
	assert.False(t, core.HoldsCodec(dir))
}

// TestRequestsNameTheirMode: another mode than the model's is refused before anything else.
func TestRequestsNameTheirMode(t *testing.T) {
	r := sampled(1)
	r.Mode, r.MaxFrames = core.ModeCustomVoice, 2
	_, _, err := speak(shared(t, custom), r)
	require.NoError(t, err)
	r.Mode = core.ModeVoiceDesign
	_, _, err = speak(shared(t, custom), r)
	assert.ErrorIs(t, err, core.ErrMode)
	assert.ErrorContains(t, err, "mode: this is a custom_voice model")
}

// TestSmallModelsIgnoreInstruct: the samples are those without, and the result says so.
func TestSmallModelsIgnoreInstruct(t *testing.T) {
	talker, predictor, tokenizer := golden.Second(t, "tiny-customvoice-06", "F32").Write(t, t.TempDir(), "tiny")
	e := engine(t, base, func(o *core.Options) { o.TalkerPath, o.PredictorPath, o.TokenizerPath = talker, predictor, tokenizer })
	r := sampled(1)
	r.MaxFrames = 3
	want, _, err := speak(e, r)
	require.NoError(t, err)
	r.Instruct = "sadly"
	got, res, err := speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	require.NotEmpty(t, res.Warnings)
	assert.Contains(t, res.Warnings[0], "instruct: ignored")
}
