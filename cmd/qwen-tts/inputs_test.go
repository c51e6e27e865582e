package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/cli"
)

// TestTheInputsAreNeverReplaced: neither models, recordings, voices and texts, nor one output by the other.
func TestTheInputsAreNeverReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o666))
		return path
	}
	model, codec, wav, voice := write("model.gguf"), write("codec.gguf"), write("in.wav"), write("a.qvoice")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "checkpoint"), 0o777))
	config := write(filepath.Join("checkpoint", "config.json"))
	link := filepath.Join(dir, "link.wav")
	require.NoError(t, os.Link(wav, link))
	base := []string{"--model", model, "--codec", codec, "--text", "Hello."}
	for _, c := range [][]string{
		{"-o", model, "--format", "wav"}, {"-o", codec, "--format", "pcm"},
		{"--model", filepath.Dir(config), "-o", config, "--format", "wav"},
		{"--ref-wav", wav, "-o", wav}, {"--ref-wav", wav, "-o", link}, {"--ref-wav", wav, "--save-voice", wav},
		{"--voice", voice, "-o", voice, "--format", "wav"},
		{"--ref-wav", wav, "--ref-text", voice, "-o", voice, "--format", "wav"},
	} {
		code, stdout, stderr := run(t.Context(), "", append(base, c...)...)
		assert.Equal(t, cli.ExitUsage, code, "%q: %s", c, stderr)
		assert.Contains(t, stderr, "is the input and would be replaced", c)
		assert.Empty(t, stdout)
	}
	fresh := filepath.Join(dir, "new.wav")
	code, _, stderr := run(t.Context(), "", append(base, "--ref-wav", wav, "-o", fresh, "--save-voice", fresh)...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "cannot be two outputs at once")
	assert.NoFileExists(t, fresh)
	for _, path := range []string{model, codec, wav, voice, config} {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, path, filepath.FromSlash(string(data)))
	}
}

// TestTheTextIsNeverReplaced by its own speech.
func TestTheTextIsNeverReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	require.NoError(t, os.WriteFile(path, []byte("Hello."), 0o666))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out, errs bytes.Buffer
	code := (&app{stdin: f, stdout: &out, stderr: &errs}).run(t.Context(), []string{"--model", "none", "--codec", "none", "-o", path, "--format", "wav"})
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs.String(), "is the input and would be replaced")
}
