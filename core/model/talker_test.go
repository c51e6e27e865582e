package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/tests/golden"
)

const (
	architecture = "qwen3-tts"
	custom       = "tiny-customvoice-17"
)

func TestReadVocab(t *testing.T) {
	f, err := model.Open(golden.GGUF(t, custom, "F32"), architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	v, tok, err := model.ReadVocab(f)
	require.NoError(t, err)
	assert.Equal(t, prompt.CustomVoice, v.ModelType)
	assert.Equal(t, "1.7b", v.ModelSize)
	assert.Equal(t, 16, v.Codebooks)
	assert.Equal(t, 512, v.CodebookSize)
	assert.Equal(t, int32(614), v.Codec.EOS)
	assert.Contains(t, v.SpeakerNames(), "dylan")
	assert.Contains(t, v.LanguageNames(), "german")
	assert.Zero(t, tok.Restored())
	for _, s := range v.Speakers {
		assert.Equal(t, map[string]string{"dylan": "beijing_dialect", "eric": "sichuan_dialect"}[s.Name], s.Dialect, s.Name)
	}
	assert.NotEmpty(t, model.Name(f))
}

func TestOpenNamesTheArchitecture(t *testing.T) {
	_, err := model.Open(golden.GGUF(t, custom, "F32"), "qwen3-tts-tokenizer", "speech tokenizer")
	assert.ErrorContains(t, err, `holds "qwen3-tts", not the speech tokenizer`)
}

func TestReadGeneration(t *testing.T) {
	read := func(set map[string]any) (model.Generation, error) {
		f, err := model.Open(golden.Rigged(t, golden.GGUF(t, custom, "F32"), golden.Rig{Set: set}), architecture, "talker")
		require.NoError(t, err)
		defer f.Close()
		return model.ReadGeneration(f)
	}
	none := map[string]any{}
	for _, key := range []string{"do_sample", "temperature", "top_k", "top_p", "repetition_penalty", "max_new_tokens",
		"subtalker_do_sample", "subtalker_temperature", "subtalker_top_k", "subtalker_top_p"} {
		none["generation."+key] = nil
	}
	g, err := read(none)
	require.NoError(t, err)
	assert.Equal(t, model.DefaultGeneration(), g)

	g, err = read(map[string]any{"generation.temperature": float32(.5), "generation.top_k": uint32(7), "generation.subtalker_do_sample": false})
	require.NoError(t, err)
	assert.Equal(t, sample.Params{DoSample: true, Temperature: .5, TopK: 7, TopP: 1, RepetitionPenalty: 1.05}, g.Talker)
	assert.False(t, g.Predictor.DoSample)

	for key, v := range map[string]any{"generation.top_p": float32(0), "generation.subtalker_top_k": "many", "generation.repetition_penalty": float32(-1)} {
		_, err := read(map[string]any{key: v})
		assert.ErrorContains(t, err, key)
	}
}

func TestBrokenVocabularies(t *testing.T) {
	for key, c := range map[string]struct {
		value any
		names string
	}{
		"qwen3-tts.model_type":             {nil, "qwen3-tts.model_type"},
		"qwen3-tts.codec.bos_id":           {uint32(1 << 31), "qwen3-tts.codec.bos_id"},
		"qwen3-tts.codec.pad_id":           {"x", "qwen3-tts.codec.pad_id"},
		"qwen3-tts.codec.speaker_ids":      {[]uint32{1, 2}, "qwen3-tts.codec.speaker_names"},
		"qwen3-tts.codec.language_ids":     {[]string{"a"}, "qwen3-tts.codec.language_ids"},
		"qwen3-tts.codec.language_names":   {[]bool{true}, "qwen3-tts.codec.language_names"},
		"qwen3-tts.codec.speaker_dialects": {[]string{"klingon"}, "qwen3-tts.codec.speaker_names"},
		"tokenizer.ggml.tokens":            {nil, "tokenizer.ggml.tokens"},
		"tokenizer.ggml.token_type":        {[]int32{1}, "tokenizer"},
		"qwen3-tts.text.tts_pad_id":        {uint32(1 << 20), "tts_pad"},
	} {
		f, err := model.Open(golden.Rigged(t, golden.GGUF(t, custom, "F32"), golden.Rig{Set: map[string]any{key: c.value}}), architecture, "talker")
		require.NoError(t, err)
		_, _, err = model.ReadVocab(f)
		assert.ErrorContains(t, err, c.names, key)
		f.Close()
	}
}

// TestTablesOfWrongTypes: a table whose ids cannot be read at all beside names that can.
func TestTablesOfWrongTypes(t *testing.T) {
	for _, key := range []string{"qwen3-tts.codec.language_ids", "qwen3-tts.codec.speaker_ids"} {
		for _, v := range []any{[]string{"a"}, []float32{1}, "x", nil} {
			f, err := model.Open(golden.Rigged(t, golden.GGUF(t, custom, "F32"), golden.Rig{Set: map[string]any{key: v}}), architecture, "talker")
			require.NoError(t, err)
			_, _, err = model.ReadVocab(f)
			assert.Error(t, err, "%s = %v", key, v)
			f.Close()
		}
	}
}
