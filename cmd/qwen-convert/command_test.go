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
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// call runs the command and returns its exit code and what it printed.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestConvertsTalkerAndCodec(t *testing.T) {
	src, dst := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06"), filepath.Join(t.TempDir(), "talker.gguf")
	code, stdout, stderr := call("--type", "q8_0", src, dst)
	assert.Equal(t, cli.ExitOK, code, stderr)
	assert.Empty(t, stdout)
	assert.Equal(t, "qwen-convert: "+dst+" is the talker only; convert "+filepath.Join(src, "speech_tokenizer")+" too, for its codec\n", stderr)
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	assert.Len(t, f.Tensors(), 94)
	assert.Equal(t, gguf.Q8_0, f.Tensor("talker.blk.0.attn_q.weight").Type)
	require.NoError(t, f.Close())

	dst = filepath.Join(t.TempDir(), "codec.gguf")
	code, _, stderr = call(filepath.Join(src, "speech_tokenizer"), dst)
	assert.Equal(t, cli.ExitOK, code, stderr)
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
	assert.Equal(t, cli.ExitUsage, code)
	assert.Equal(t, "qwen-convert: "+dst+" exists; --force replaces it (see qwen-convert --help)\n", stderr)
	data, err := os.ReadFile(dst)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(data))
	code, _, stderr = call("--force", src, dst)
	assert.Equal(t, cli.ExitOK, code, stderr)
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestTheCheckpointIsNeverReplaced: not even with --force, by whatever name.
func TestTheCheckpointIsNeverReplaced(t *testing.T) {
	src := filepath.Join(t.TempDir(), "model")
	copyDir(t, "tiny-tokenizer-12hz", src)
	link := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, os.Symlink(filepath.Join(src, "model.safetensors"), link))
	for _, dst := range []string{filepath.Join(src, "model.safetensors"), filepath.Join(src, "config.json"), link} {
		before, err := os.ReadFile(dst)
		require.NoError(t, err)
		code, _, stderr := call("--force", src, dst)
		assert.Equal(t, cli.ExitUsage, code)
		assert.Contains(t, stderr, dst+" is the input and would be replaced")
		after, err := os.ReadFile(dst)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(before, after))
	}
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
		{nil, cli.ExitUsage, "CHECKPOINT_DIR and OUT.gguf expected, got 0"},
		{[]string{src}, cli.ExitUsage, "got 1"},
		{[]string{src, dst, "more"}, cli.ExitUsage, "got 3"},
		{[]string{"--nonsense", src, dst}, cli.ExitUsage, "unknown flag: --nonsense"},
		{[]string{"--type"}, cli.ExitUsage, "flag needs an argument: --type"},
		{[]string{"--type", "Q4_K", src, dst}, cli.ExitUsage, "--type Q4_K: not one of F32, BF16, F16, Q8_0, "},
		{[]string{"--type", "F64x", src, dst}, cli.ExitUsage, "--type F64x: not one of"},
		{[]string{filepath.Join(dir, "none"), dst}, cli.ExitModel, "no such directory"},
		{[]string{dir, dst}, cli.ExitModel, "config.json: missing in " + dir},
		{[]string{odd, dst}, cli.ExitModel, `model_type: "two\nlines" is not a Qwen3-TTS model`},
		{[]string{src, ""}, cli.ExitIO, "mkdir"},
		{[]string{src, filepath.Join(dir, "none", "x.gguf")}, cli.ExitIO, filepath.Join(dir, "none", "x.gguf") + ": no such"},
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
	assert.Equal(t, cli.ExitOK, code)
	assert.Empty(t, stderr)
	for _, want := range []string{"--type", "--force", "CHECKPOINT_DIR OUT.gguf", "IN OUT_DIR", "Q8_0", "speech_tokenizer/"} {
		assert.Contains(t, stdout, want)
	}
	code, stdout, _ = call("--version")
	assert.Equal(t, cli.ExitOK, code)
	assert.Equal(t, cli.Banner(version)+"\n", stdout)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cli.Interrupted{Signal: os.Interrupt})
	dir := t.TempDir()
	var out, errs bytes.Buffer
	code := (&app{stdout: &out, stderr: &errs}).run(ctx, []string{filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), filepath.Join(dir, "x.gguf")})
	assert.Equal(t, 130, code)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// copyDir copies a checkpoint without its codec; a test may spoil it.
func copyDir(t *testing.T, name, dst string) {
	t.Helper()
	src := filepath.Join(golden.Checkpoints(t), name)
	entries, err := os.ReadDir(src)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dst, 0o777))
	for _, e := range entries {
		if e.Name() != "speech_tokenizer" {
			data, err := os.ReadFile(filepath.Join(src, e.Name()))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dst, e.Name()), data, 0o666))
		}
	}
}

// TestFolder converts all that is in a folder, and again only what changed.
func TestFolder(t *testing.T) {
	t.Setenv("QWEN_GGML_DIR", testenv.GGMLDir(t))
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "models")
	copyDir(t, "tiny-customvoice-06", filepath.Join(in, "a"))
	copyDir(t, "tiny-tokenizer-12hz", filepath.Join(in, "a", "speech_tokenizer"))
	copyDir(t, "tiny-base-17", filepath.Join(in, "deep", "er", "b"))
	copyDir(t, "tiny-tokenizer-12hz", filepath.Join(in, "deep", "er", "b", "speech_tokenizer"))
	talker, codec, base := filepath.Join(out, "qwen-talker-0.6b-customvoice-Q8_0.gguf"), filepath.Join(out, "qwen-tokenizer-12hz-Q5_K_M.gguf"), filepath.Join(out, "qwen-talker-1.7b-base-Q8_0.gguf")

	args := []string{"--type", "q8_0", "--codec-type", "q5_k_m", in, out}
	code, stdout, stderr := call(args...)
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Empty(t, stderr)
	for _, want := range []string{talker + ": made of", codec + ": made of", codec + ": matches", base + ": made of"} {
		assert.Contains(t, stdout, want)
	}
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, left, 3)

	require.NoError(t, os.Remove(base))
	before, err := os.Stat(talker)
	require.NoError(t, err)
	code, stdout, stderr = call(args...)
	require.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, 3, strings.Count(stdout, ": matches "))
	assert.Contains(t, stdout, base+": made of")
	after, err := os.Stat(talker)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())

	// Another model of the same name, one that is damaged: the others are converted, and no file is replaced.
	require.NoError(t, os.Remove(base))
	copyDir(t, "tiny-customvoice-06", filepath.Join(in, "c"))
	weights := filepath.Join(in, "c", "model.safetensors")
	data, err := os.ReadFile(weights)
	require.NoError(t, err)
	for i := len(data) - 1<<20; i < len(data); i++ {
		data[i] &= 0xbf // smaller weights
	}
	require.NoError(t, os.WriteFile(weights, data, 0o666))
	copyDir(t, "tiny-customvoice-06", filepath.Join(in, "d"))
	require.NoError(t, os.Truncate(filepath.Join(in, "d", "model.safetensors"), 1<<20))
	code, stdout, stderr = call(args...)
	assert.Equal(t, cli.ExitUsage, code, stderr)
	assert.Contains(t, stdout, base+": made of")
	assert.Contains(t, stderr, "are different models, and both would become "+talker)
	assert.Contains(t, stderr, filepath.Join(in, "d"))
	assert.Contains(t, stderr, "truncated download?")
	assert.Contains(t, stderr, "2 of 6 checkpoints were not converted")

	empty := t.TempDir()
	code, _, stderr = call(empty, out)
	assert.Equal(t, cli.ExitModel, code)
	assert.Contains(t, stderr, "no folder in it has a config.json")
}
