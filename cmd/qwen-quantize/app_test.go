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

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// call runs the command and returns its exit code and what it printed.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	t.Setenv("QWEN_THREADS", "1")
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestMakesAFile(t *testing.T) {
	src, dst := golden.GGUF(t, "tiny-customvoice-17", "F32"), filepath.Join(t.TempDir(), "ü 模型.gguf")
	code, stdout, stderr := call(t, src, dst, "q4_k_m")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, dst+": Q4_K_M, ")
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	assert.Equal(t, gguf.Q4_K, f.Tensor("talker.blk.0.attn_q.weight").Type)
	require.NoError(t, f.Close())

	before, err := os.ReadFile(dst)
	require.NoError(t, err)
	code, _, stderr = call(t, src, dst, "Q8_0")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, dst+" exists; --force replaces it")
	after, err := os.ReadFile(dst)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	code, _, stderr = call(t, "--force", "--tensor", "*.attn_q.weight=F16", src, dst, "Q8_0")
	require.Zero(t, code, stderr)
	f, err = gguf.Open(dst)
	require.NoError(t, err)
	assert.Equal(t, gguf.F16, f.Tensor("talker.blk.0.attn_q.weight").Type)
	require.NoError(t, f.Close())
}

// TestTheSecondFamily: files of the second family become one of the first, with the tensors that it has from there.
func TestTheSecondFamily(t *testing.T) {
	dir := t.TempDir()
	want, got := filepath.Join(dir, "want.gguf"), filepath.Join(dir, "got.gguf")
	code, _, stderr := call(t, golden.GGUF(t, "tiny-customvoice-17", "F32"), want, "Q4_K_M")
	require.Zero(t, code, stderr)
	talker, predictor, tokenizer := golden.Second(t, "tiny-customvoice-17", "F32").Write(t, dir, "split")
	bundle := golden.Second(t, "tiny-customvoice-17", "F32")
	bundle.Bundle()
	whole, _, _ := bundle.Write(t, dir, "whole")

	code, _, stderr = call(t, talker, got, "Q4_K_M")
	assert.Equal(t, cli.ExitModel, code)
	assert.Contains(t, stderr, "no code predictor")
	assert.Contains(t, stderr, "predictor_path")
	assert.NoFileExists(t, got)
	for _, args := range [][]string{{"--predictor", predictor, "--tokenizer", tokenizer, talker}, {whole}} {
		code, _, stderr = call(t, append([]string{"--force"}, append(args, got, "Q4_K_M")...)...)
		require.Zero(t, code, stderr)
		sameTensors(t, want, got)
		code, stdout, stderr := call(t, append([]string{"--report"}, append(args, got)...)...)
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, "logits of codebook 0")
	}
	code, _, stderr = call(t, "--force", "--predictor", predictor, "--tokenizer", tokenizer, talker, predictor, "Q8_0")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "would be replaced")
	code, _, stderr = call(t, "--mode", "base", "--predictor", predictor, "--tokenizer", tokenizer, talker, filepath.Join(dir, "x"), "Q8_0")
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "custom_voice")
	code, _, stderr = call(t, "--mode", "base", golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), filepath.Join(dir, "x"), "Q8_0")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "is none")
}

// sameTensors compares the tensors of two files, in any order.
func sameTensors(t *testing.T, want, got string) {
	t.Helper()
	a, err := gguf.Open(want)
	require.NoError(t, err)
	defer a.Close()
	b, err := gguf.Open(got)
	require.NoError(t, err)
	defer b.Close()
	require.Len(t, b.Tensors(), len(a.Tensors()))
	for i := range a.Tensors() {
		x := &a.Tensors()[i]
		y := b.Tensor(x.Name)
		require.NotNil(t, y, x.Name)
		assert.Equal(t, x.Type, y.Type, x.Name)
		assert.Equal(t, x.Shape, y.Shape, x.Name)
		assert.True(t, bytes.Equal(a.Data(x), b.Data(y)), x.Name)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := call(t, "--dry-run", golden.GGUF(t, "tiny-base-17", "F32"), filepath.Join(dir, "x.gguf"), "Q4_K_M")
	require.Zero(t, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	assert.Len(t, lines, 172+2, "a line a tensor, a header and the sums")
	assert.Equal(t, []string{"tensor", "from", "to", "bytes", "becoming", "reason"}, strings.Fields(lines[0]))
	assert.Regexp(t, `(?m)^talker\.blk\.2\.attn_v\.weight +F32 +Q6_K +131072 +26880  attn_v of layer 2 of 3$`, stdout)
	assert.Regexp(t, `(?m)^code_pred\.blk\.0\.attn_q\.weight +F32 +Q5_0 +131072 +22528  matrix; rows of 128 are no blocks of Q4_K's 256, Q5_0 instead$`, stdout)
	assert.Contains(t, lines[len(lines)-1], "172 tensors")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRefusals(t *testing.T) {
	exact, dir := golden.GGUF(t, "tiny-customvoice-17", "F32"), t.TempDir()
	dst, text := filepath.Join(dir, "x.gguf"), filepath.Join(dir, "text.gguf")
	require.NoError(t, os.WriteFile(text, []byte("hello, world"), 0o666))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.ExitUsage, "IN.gguf, OUT.gguf and TYPE expected, got 0"},
		{[]string{exact, dst}, cli.ExitUsage, "got 2"},
		{[]string{exact, dst, "Q7"}, cli.ExitUsage, "type Q7 is not one of F32, BF16"},
		{[]string{exact, exact, "Q8_0", "--force"}, cli.ExitUsage, "is the input"},
		{[]string{exact, dst, "F32"}, cli.ExitUsage, "every tensor has the type"},
		{[]string{exact, dst, "Q8_0", "--tensor", "x"}, cli.ExitUsage, "--tensor"},
		{[]string{exact, dst, "Q8_0", "--threads", "-1"}, cli.ExitUsage, "threads: -1"},
		{[]string{golden.GGUF(t, "tiny-customvoice-17", "Q8_0"), dst, "Q4_0"}, cli.ExitUsage, "--requantize"},
		{[]string{filepath.Join(dir, "none"), dst, "Q8_0"}, cli.ExitIO, "none: no such file"},
		{[]string{text, dst, "Q8_0"}, cli.ExitModel, text},
		{[]string{dir, dst, "Q8_0"}, cli.ExitModel, "is a directory"},
		{[]string{exact, filepath.Join(dir, "none", "x.gguf"), "Q8_0"}, cli.ExitIO, "no such"},
	} {
		code, stdout, stderr := call(t, c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, c.want)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
	}
	assert.NoFileExists(t, dst)
}

func TestInterrupted(t *testing.T) {
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cli.Interrupted{Signal: os.Interrupt})
	dir := t.TempDir()
	var out, errs bytes.Buffer
	code := (&app{stdout: &out, stderr: &errs}).run(ctx, []string{golden.GGUF(t, "tiny-customvoice-17", "F32"), filepath.Join(dir, "x.gguf"), "Q4_0"})
	assert.Equal(t, 130, code)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
