package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/hubtest"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// serveTiny starts a hub with the tiny models under their usual names.
func serveTiny(t *testing.T, models map[string]string) *hubtest.Server {
	files := map[string][]byte{}
	for name, model := range models {
		data, err := os.ReadFile(golden.GGUF(t, model, "F32"))
		require.NoError(t, err)
		files[name] = data
	}
	s := hubtest.New(t, files)
	for k, v := range map[string]string{"HF_ENDPOINT": s.URL, "HF_HUB_CACHE": t.TempDir(), "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "",
		ggml.EnvDir: testenv.GGMLDir(t)} {
		t.Setenv(k, v)
	}
	return s
}

// TestFetches: the flags tell which of the models of a repository is meant, and the second time nothing is fetched.
func TestFetches(t *testing.T) {
	s := serveTiny(t, map[string]string{
		"qwen-talker-1.7b-customvoice-F32.gguf": "tiny-customvoice-17",
		"qwen-talker-1.7b-voicedesign-F32.gguf": "tiny-voicedesign-17",
		"qwen-talker-1.7b-base-F32.gguf":        "tiny-base-17",
		"qwen-tokenizer-12hz-F32.gguf":          "tiny-tokenizer-12hz",
	})
	out := filepath.Join(t.TempDir(), "out.wav")
	speak := func(args ...string) (int, string) {
		code, _, stderr := run(t.Context(), "Hi.", append([]string{"--hf", hubtest.Repo, "--max-new", "2", "--threads", "1", "-o", out}, args...)...)
		return code, stderr
	}
	for range 2 {
		code, stderr := speak("--speaker", "vivian")
		require.Equal(t, cli.ExitOK, code, stderr)
		assert.Equal(t, 2, s.Count("GET cdn"), "the talker and the codec")
	}
	code, stderr := speak("--instruct", "a calm voice")
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, 1, s.Count("GET cdn /blob/qwen-talker-1.7b-voicedesign"))
	code, stderr = speak("--design", "a calm voice", "--anchor-text", "One two three four.", "--seed", "1")
	assert.Equal(t, 1, s.Count("GET cdn /blob/qwen-talker-1.7b-base"), "%d %s", code, stderr)
	code, stderr = speak()
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "several models fit, name one after a colon: 1.7b-base-F32, 1.7b-customvoice-F32, 1.7b-voicedesign-F32")

	code, _, stderr = run(t.Context(), "", "--hf", hubtest.Repo, "--list-speakers")
	assert.Equal(t, cli.ExitOK, code, stderr)
}

func TestFetchesOnlyWhatThereIs(t *testing.T) {
	serveTiny(t, map[string]string{"qwen-talker-1.7b-customvoice-F32.gguf": "tiny-customvoice-17"})
	out := filepath.Join(t.TempDir(), "out.wav")
	args := []string{"--hf", hubtest.Repo, "--max-new", "2", "--threads", "1", "--speaker", "vivian", "-o", out}
	code, _, stderr := run(t.Context(), "Hi.", args...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "has no codec (qwen-tokenizer-*.gguf); name one with --codec")
	code, _, stderr = run(t.Context(), "Hi.", append(args, "--codec", golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))...)
	assert.Equal(t, cli.ExitOK, code, stderr)
}

// TestFetchesSplitFilesAndCheckpoints: what belongs to a model is fetched with it.
func TestFetchesSplitFilesAndCheckpoints(t *testing.T) {
	dir := t.TempDir()
	golden.Second(t, "tiny-customvoice-17", "F32").Write(t, dir, "qwen3-tts-1.7b-customvoice")
	checkpoint := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-17")
	out := filepath.Join(t.TempDir(), "out.wav")
	for _, src := range []string{dir, checkpoint} {
		s := serveTiny(t, map[string]string{"qwen-tokenizer-12hz-F32.gguf": "tiny-tokenizer-12hz"})
		for _, sub := range []string{"", "speech_tokenizer"} {
			names, err := filepath.Glob(filepath.Join(src, sub, "*.*"))
			require.NoError(t, err)
			for _, path := range names {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				s.Files[filepath.ToSlash(filepath.Join(sub, filepath.Base(path)))] = data
			}
		}
		if src == checkpoint {
			delete(s.Files, "qwen-tokenizer-12hz-F32.gguf")
		}
		code, _, stderr := run(t.Context(), "Hi.", "--hf", hubtest.Repo, "--max-new", "2", "--threads", "1", "--speaker", "vivian", "-o", out)
		require.Equal(t, cli.ExitOK, code, stderr)
	}
	serveTiny(t, map[string]string{"qwen-talker-1.7b-customvoice-F32.gguf": "tiny-customvoice-17", "qwen-tokenizer-12hz-F32.gguf": "tiny-tokenizer-12hz"})
	code, _, stderr := run(t.Context(), "Hi.", "--hf", hubtest.Repo+":customvoice", "--mode", "base", "-o", out)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "--mode base exclude each other")
}
