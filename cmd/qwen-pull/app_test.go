package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/hubtest"
)

const talker, codec = "qwen-talker-0.6b-base-Q8_0.gguf", "qwen-tokenizer-12hz-F32.gguf"

// serve starts a hub that the environment names, with a cache of its own.
func serve(t *testing.T) (s *hubtest.Server, cache string) {
	s = hubtest.New(t, map[string][]byte{
		"README.md": []byte("# models\n"),
		talker:      hubtest.Content(3000, 1),
		codec:       hubtest.Content(2000, 2),
	})
	cache = t.TempDir()
	for k, v := range map[string]string{"HF_ENDPOINT": s.URL, "HF_HUB_CACHE": cache, "HF_TOKEN": "hf_x", "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""} {
		t.Setenv(k, v)
	}
	return s, cache
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(t.Context(), args)
	return code, out.String(), errs.String()
}

func TestPulls(t *testing.T) {
	s, cache := serve(t)
	code, stdout, stderr := run(t, hubtest.Repo+":q8_0")
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Empty(t, stderr)
	dir := filepath.Join(cache, "models--someone--Qwen3-TTS-GGUF", "snapshots", hubtest.Commit)
	assert.Equal(t, filepath.Join(dir, talker)+"\n"+filepath.Join(dir, codec)+"\n", stdout)

	s.Close()
	out := filepath.Join(t.TempDir(), "new")
	code, stdout, stderr = run(t, hubtest.Repo, "--offline", "--out", out)
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, filepath.Join(out, talker)+"\n"+filepath.Join(out, codec)+"\n", stdout)
	data, err := os.ReadFile(filepath.Join(out, talker))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(s.Files[talker], data))
	info, err := os.Lstat(filepath.Join(out, talker))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "a file of its own, not a link into the cache")
}

func TestLists(t *testing.T) {
	serve(t)
	code, stdout, stderr := run(t, "--list", hubtest.Repo)
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, "README.md\n"+talker+"\n"+codec+"\n", stdout)
}

func TestProgress(t *testing.T) {
	serve(t)
	code, _, stderr := run(t, "--progress", hubtest.Repo)
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Contains(t, stderr, " 100% [")
	assert.Contains(t, stderr, codec)
}

func TestRefuses(t *testing.T) {
	serve(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.ExitUsage, "ORG/NAME is missing"},
		{[]string{"name"}, cli.ExitUsage, `repository "name": not of the form ORG/NAME`},
		{[]string{"a/b", "c/d"}, cli.ExitUsage, `unexpected argument "c/d": one repository at a time`},
		{[]string{"a/b:fast"}, cli.ExitUsage, `"fast": not a size (1.7b)`},
		{[]string{hubtest.Repo + ":Q2_K"}, cli.ExitUsage, hubtest.Repo + ": no model is Q2_K; there are 0.6b-base-Q8_0"},
		{[]string{"someone/else"}, cli.ExitIO, "someone/else: the hub has no such repository, or it is private"},
		{[]string{"someone/else", "--offline"}, cli.ExitIO, "offline, and not in"},
		{[]string{hubtest.Repo + "@v9"}, cli.ExitIO, "not found"},
		{[]string{hubtest.Repo, "--out", "/dev/null/x"}, cli.ExitIO, "/dev/null"},
	} {
		code, stdout, stderr := run(t, c.args...)
		assert.Equal(t, c.code, code, stderr)
		assert.Contains(t, stderr, c.want)
		assert.Empty(t, stdout)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.NotContains(t, stderr, "hf_x")
	}
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := run(t, "--help")
	assert.Equal(t, cli.ExitOK, code)
	assert.Empty(t, stderr)
	for _, want := range []string{"--out", "--list", "--offline", "HF_TOKEN", "HF_HUB_OFFLINE", "Exit codes:"} {
		assert.Contains(t, stdout, want)
	}
}
