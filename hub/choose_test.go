package hub_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/hub"
)

func TestParseRef(t *testing.T) {
	for in, want := range map[string]hub.Ref{
		"org/name":                           {Repo: "org/name", Revision: "main"},
		"org/name:Q8_0":                      {Repo: "org/name", Revision: "main", Want: hub.Want{Quant: "Q8_0"}},
		"org/name:q4_k_m":                    {Repo: "org/name", Revision: "main", Want: hub.Want{Quant: "Q4_K_M"}},
		"o/n@v1.0:1.7B-CustomVoice-bf16":     {Repo: "o/n", Revision: "v1.0", Want: hub.Want{Size: "1.7b", Mode: "customvoice", Quant: "BF16"}},
		"o/n@refs/pr/3:voice_design,0.6b":    {Repo: "o/n", Revision: "refs/pr/3", Want: hub.Want{Size: "0.6b", Mode: "voicedesign"}},
		"Qwen/Qwen3-TTS-12Hz-0.6B-Base:base": {Repo: "Qwen/Qwen3-TTS-12Hz-0.6B-Base", Revision: "main", Want: hub.Want{Mode: "base"}},
	} {
		r, err := hub.ParseRef(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, r)
		again, err := hub.ParseRef(r.String())
		require.NoError(t, err)
		assert.Equal(t, r, again)
	}
	for _, in := range []string{"", "name", "a/b/c", "../x", "a/..", "a/b--c", "a/-b", "a/b.", "a /b", "a/b@", "a/b@../x", "a/b@-x", "a/b@x/../../y",
		"a/b:fast", "a/b:Q8_0-Q4_0", "a/b:base-customvoice", "https://huggingface.co/a/b", "a/b@/etc"} {
		_, err := hub.ParseRef(in)
		assert.ErrorIs(t, err, hub.ErrInvalid, in)
	}
}

func names(pattern ...string) []string {
	return append([]string{"README.md", ".gitattributes"}, pattern...)
}

func TestChoose(t *testing.T) {
	var published []string
	for _, size := range []string{"0.6b", "1.7b"} {
		for _, mode := range []string{"base", "customvoice", "voicedesign"} {
			for _, quant := range []string{"F32", "BF16", "Q8_0", "Q4_K_M"} {
				if size == "1.7b" || mode != "voicedesign" {
					published = append(published, "qwen-talker-"+size+"-"+mode+"-"+quant+".gguf")
				}
			}
		}
	}
	for _, quant := range []string{"F32", "BF16", "Q8_0", "Q4_K_M"} {
		published = append(published, "qwen-tokenizer-12hz-"+quant+".gguf")
	}
	split := names("qwen3-tts-1.7b-base-talker-f16.gguf", "qwen3-tts-1.7b-base-talker-q4_k.gguf", "qwen3-tts-1.7b-base-code-predictor-f16.gguf",
		"qwen3-tts-1.7b-base-code-predictor-q8_0.gguf", "qwen3-tts-1.7b-base-tokenizer.gguf", "qwen3-tts-1.7b-customvoice-tokenizer.gguf", "qwen3-tts-vocoder.onnx")
	checkpoint := names("config.json", "generation_config.json", "model.safetensors", "vocab.json", "merges.txt", "speech_tokenizer/config.json",
		"speech_tokenizer/model.safetensors", "assets/picture.png", "other/model.safetensors")

	for _, c := range []struct {
		names []string
		want  string
		files hub.Choice
	}{
		{published, "1.7b-customvoice", hub.Choice{Talker: "qwen-talker-1.7b-customvoice-Q8_0.gguf", Codec: "qwen-tokenizer-12hz-F32.gguf"}},
		{published, "0.6b-base-q4_k", hub.Choice{Talker: "qwen-talker-0.6b-base-Q4_K_M.gguf", Codec: "qwen-tokenizer-12hz-F32.gguf"}},
		{published, "voicedesign-BF16", hub.Choice{Talker: "qwen-talker-1.7b-voicedesign-BF16.gguf", Codec: "qwen-tokenizer-12hz-F32.gguf"}},
		{names("qwen-talker-0.6b-base-Q4_K_M.gguf"), "", hub.Choice{Talker: "qwen-talker-0.6b-base-Q4_K_M.gguf"}},
		{names("gguf/qwen-tokenizer-12hz-Q8_0.gguf", "gguf/qwen-tokenizer-12hz-BF16.gguf"), "", hub.Choice{Codec: "gguf/qwen-tokenizer-12hz-BF16.gguf"}},
		{split, "", hub.Choice{Talker: "qwen3-tts-1.7b-base-talker-f16.gguf", Predictor: "qwen3-tts-1.7b-base-code-predictor-f16.gguf",
			Tokenizer: "qwen3-tts-1.7b-base-tokenizer.gguf", Vocoder: "qwen3-tts-vocoder.onnx"}},
		{split, "q4_k", hub.Choice{Talker: "qwen3-tts-1.7b-base-talker-q4_k.gguf", Predictor: "qwen3-tts-1.7b-base-code-predictor-f16.gguf",
			Tokenizer: "qwen3-tts-1.7b-base-tokenizer.gguf", Vocoder: "qwen3-tts-vocoder.onnx"}},
		{names("qwen3-tts-1.7b-customvoice-q8_0.gguf", "qwen3-tts-vocoder.onnx", "qwen3-tts-vocoder.onnx.data"), "",
			hub.Choice{Talker: "qwen3-tts-1.7b-customvoice-q8_0.gguf", Vocoder: "qwen3-tts-vocoder.onnx", Weights: "qwen3-tts-vocoder.onnx.data"}},
		{checkpoint, "", hub.Choice{Checkpoint: []string{"config.json", "generation_config.json", "model.safetensors", "vocab.json", "merges.txt",
			"speech_tokenizer/config.json", "speech_tokenizer/model.safetensors"}}},
	} {
		w, err := hub.ParseWant(c.want)
		require.NoError(t, err)
		got, err := hub.Choose(c.names, w)
		require.NoError(t, err, c.want)
		assert.Equal(t, c.files, got, c.want)
	}
	for _, c := range []struct {
		names []string
		want  string
		says  string
	}{
		{published, "", "several models fit, name one after a colon: 0.6b-base-BF16, 0.6b-base-F32"},
		{published, "customvoice-Q8_0", "0.6b-customvoice-Q8_0, 1.7b-customvoice-Q8_0"},
		{published, "0.6b-voicedesign", "no model is 0.6b-voicedesign; there are 0.6b-base-BF16"},
		{published, "F16", "no model is F16"},
		{names(), "", "no model that fits"},
		{nil, "", "no model that fits"},
		{names("some-llm-Q4_K_M.gguf"), "", "no model that fits"},
		{checkpoint, "Q8_0", "original checkpoint"},
	} {
		w, err := hub.ParseWant(c.want)
		require.NoError(t, err)
		_, err = hub.Choose(c.names, w)
		assert.ErrorIs(t, err, hub.ErrInvalid)
		assert.ErrorContains(t, err, c.says)
	}
}

// FuzzParseRef: a reference is refused, or its parts are safe as names of folders and say the same again.
func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"org/name", "o/n@v1:1.7b-base-Q8_0", "../x", "a/b@../../c", "a/b:Q4_K_M,customvoice", "a/b@refs/pr/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := hub.ParseRef(s)
		if err != nil {
			require.ErrorIs(t, err, hub.ErrInvalid)
			return
		}
		require.True(t, filepath.IsLocal(r.Repo) && filepath.IsLocal(r.Revision))
		again, err := hub.ParseRef(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
		_, _ = hub.Choose([]string{s, r.Repo + ".gguf"}, r.Want)
	})
}
