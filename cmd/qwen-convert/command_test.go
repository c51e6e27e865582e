package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/tests/golden"
)

// call runs the command and returns its exit code and what it printed.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestConvertsTalkerAndCodec(t *testing.T) {
	src, dst := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06"), filepath.Join(t.TempDir(), "talker.gguf")
	code, stdout, stderr := call("--type", "q8_0", src, dst)
	assert.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stdout)
	assert.Equal(t, "qwen-convert: "+dst+" is the talker only; convert "+filepath.Join(src, "speech_tokenizer")+" too, for its codec\n", stderr)
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	assert.Len(t, f.Tensors(), 94)
	assert.Equal(t, gguf.Q8_0, f.Tensor("talker.blk.0.attn_q.weight").Type)
	require.NoError(t, f.Close())

	dst = filepath.Join(t.TempDir(), "codec.gguf")
	code, _, stderr = call(filepath.Join(src, "speech_tokenizer"), dst)
	assert.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	f, err = gguf.Open(dst)
	require.NoError(t, err)
	defer f.Close()
	assert.Len(t, f.Tensors(), 260)
	assert.Equal(t, gguf.F32, f.Tensor("tok_dec.dec.0.conv.weight").Type, "the default type")
}

func TestKeepsExistingFiles(t *testing.T) {
	src, dst := filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), filepath.Join(t.TempDir(), "codec.gguf")
	require.NoError(t, os.WriteFile(dst, []byte("precious"), 0o666))
	code, _, stderr := call(src, dst)
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "qwen-convert: "+dst+": exists; --force replaces it\n", stderr)
	data, err := os.ReadFile(dst)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(data))
	code, _, stderr = call("--force", src, dst)
	assert.Equal(t, exitOK, code, stderr)
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestExitCodes(t *testing.T) {
	src, dir := filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), t.TempDir()
	dst := filepath.Join(dir, "x.gguf")
	odd := filepath.Join(dir, "odd")
	require.NoError(t, os.Mkdir(odd, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(odd, "config.json"), []byte(`{"model_type": "two\nlines"}`), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(odd, "model.safetensors"), []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), 0o666))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "CHECKPOINT_DIR and OUT.gguf expected, 0 arguments given"},
		{[]string{src}, exitUsage, "1 arguments given"},
		{[]string{src, dst, "more"}, exitUsage, "3 arguments given"},
		{[]string{"--nonsense", src, dst}, exitUsage, "unknown flag: --nonsense"},
		{[]string{"--type"}, exitUsage, "flag needs an argument: --type"},
		{[]string{"--type", "Q4_K", src, dst}, exitUsage, "--type Q4_K: not one of F32, F16, BF16, Q8_0"},
		{[]string{"--type", "F64x", src, dst}, exitUsage, "--type F64x: not one of"},
		{[]string{filepath.Join(dir, "none"), dst}, exitInput, "no such directory"},
		{[]string{dir, dst}, exitInput, "config.json: missing in " + dir},
		{[]string{odd, dst}, exitInput, `model_type: "two\nlines" is not a Qwen3-TTS model`},
		{[]string{src, filepath.Join(dir, "none", "x.gguf")}, exitIO, filepath.Join(dir, "none", "x.gguf") + ": no such"},
		{[]string{"--force", src, dir}, exitIO, "exists and is not a regular file"},
	} {
		code, stdout, stderr := call(c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasPrefix(stderr, "qwen-convert: "), stderr)
		assert.Contains(t, stderr, c.want)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
	}
	assert.NoFileExists(t, dst)
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := call("--help")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stderr)
	for _, want := range []string{"--type", "--force", "CHECKPOINT_DIR OUT.gguf", "Q8_0", "speech_tokenizer/"} {
		assert.Contains(t, stdout, want)
	}
	code, stdout, _ = call("--version")
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "libqwen "+version+"\n", stdout)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	code := run(ctx, []string{filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), filepath.Join(dir, "x.gguf")}, &out, &errs)
	assert.Equal(t, exitInterrupted, code)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
