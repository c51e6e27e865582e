package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/tests/golden"
)

// call runs the command and returns its exit code and what it printed.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestModels(t *testing.T) {
	talker, codec, dir := golden.GGUF(t, "tiny-customvoice-17", "Q8_0"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), filepath.Join(golden.Checkpoints(t), "tiny-base-06")
	code, stdout, stderr := call(talker, codec, dir)
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, want := range []string{
		talker + ": talker, custom_voice (GGUF)\n", codec + ": speech tokenizer (GGUF)\n", dir + ": talker, base (checkpoint directory)\n",
		"vivian", "german", "Q8_0", "tensors", "weights on a CPU", "32768 positions", "keys and values", "decoder strides             2 2 8 5 4 3\n",
	} {
		assert.Contains(t, stdout, want)
	}
	assert.Equal(t, 3, strings.Count(stdout, "loads                       yes"))

	code, stdout, _ = call("--json", "--quick", talker, codec)
	assert.Zero(t, code)
	var all []struct {
		Path, Kind string
		Speakers   []string
		Memory     struct {
			Mapped   int64 `json:"weights_mapped"`
			Contexts []struct{ Positions, Cache int }
		}
		Problems []string
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, 2)
	assert.Equal(t, "talker", all[0].Kind)
	assert.Len(t, all[0].Speakers, 9)
	assert.Positive(t, all[0].Memory.Mapped)
	assert.NotNil(t, all[1].Problems)
	assert.Empty(t, all[1].Problems)
}

func TestVoices(t *testing.T) {
	dir := t.TempDir()
	spk, rvq, qvoice := filepath.Join(dir, "a.spk"), filepath.Join(dir, "a.RVQ"), filepath.Join(dir, "a.qvoice")
	require.NoError(t, os.WriteFile(spk, voicefile.FormatXVector(make([]float32, 256)), 0o666))
	codes := make([][]int32, 25)
	for i := range codes {
		codes[i] = make([]int32, 16)
		codes[i][3] = int32(i)
	}
	data, err := voicefile.FormatCodes(codes, 16, 512)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(rvq, data, 0o666))
	require.NoError(t, voicefile.WriteVoice(qvoice, &voicefile.Voice{
		Model: voicefile.Identity{Name: "M", Size: "1.7b", Width: 4, Codebooks: 16, CodebookSize: 512}, XVector: []float32{1, 2, 3, 4}, Codes: codes, Transcript: "Hello.\nYou.", Tool: "test"}))
	code, stdout, stderr := call("--codebook-size", "512", spk, rvq, qvoice)
	assert.Zero(t, code, stderr)
	for _, want := range []string{"a.spk: x-vector\n", "256 values", "a.RVQ: codes\n", "25 frames of 16, 2.0 s", "a.qvoice: voice\n", "M (1.7b, width 4)", "Hello. You.", "made by"} {
		assert.Contains(t, stdout, want)
	}
	code, stdout, _ = call("--json", qvoice)
	assert.Zero(t, code)
	assert.Contains(t, stdout, `"frames": 25`)
}

// TestBadFiles: each is described as far as it goes, with its problem; the others too, and the exit code tells.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	whole, err := os.ReadFile(golden.GGUF(t, "tiny-customvoice-17", "Q8_0"))
	require.NoError(t, err)
	absurd := bytes.Clone(whole[:4096])
	binary.LittleEndian.PutUint64(absurd[8:], 1<<62)
	good := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	for _, path := range []string{
		filepath.Join(dir, "none.gguf"), filepath.Join(dir, "none.spk"), dir, write("empty.gguf", nil), write("cut.gguf", whole[:len(whole)/2]),
		write("absurd.gguf", absurd), write("text.gguf", []byte("hello \x1b[31m world")), write("odd.spk", []byte("abc")), write("odd.rvq", []byte{255, 255, 255}),
		write("odd.qvoice", []byte("\x89QVOICE\n")), write("page.gguf", []byte("<!DOCTYPE html>")),
	} {
		code, stdout, stderr := call(path, good)
		assert.Equal(t, cli.ExitModel, code, path)
		assert.Contains(t, stderr, "not all of the files would load")
		assert.Contains(t, stdout, "PROBLEM", path)
		assert.Contains(t, stdout, "loads                       no")
		assert.Contains(t, stdout, "loads                       yes", "the good one")
		assert.NotContains(t, stdout, "\x1b")
		code, stdout, _ = call("--json", path)
		assert.Equal(t, cli.ExitModel, code)
		assert.True(t, json.Valid([]byte(stdout)), stdout)
	}
	for path, what := range map[string]string{"cut.gguf": "unknown (GGUF)\n", "page.gguf": "unknown\n", "none.gguf": "unknown\n"} {
		_, stdout, _ := call(filepath.Join(dir, path))
		assert.Contains(t, stdout, path+": "+what)
	}
	_, stdout, _ := call(write("odd.rvq", []byte{255, 255, 255}))
	assert.Contains(t, stdout, "--codebook-size", "what may make it load")
	code, _, stderr := call()
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "FILE is missing")
}

// FuzzInfo: no bytes end in anything but a description.
func FuzzInfo(f *testing.F) {
	f.Add([]byte("GGUF\x03\x00\x00\x00"), true)
	f.Add([]byte("abcd"), false)
	f.Fuzz(func(t *testing.T, data []byte, model bool) {
		name := "x.qvoice"
		if model {
			name = "x.gguf"
		}
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		code, stdout, _ := call("--json", path)
		if code != cli.ExitOK && code != cli.ExitModel || !json.Valid([]byte(stdout)) {
			t.Fatalf("%d: %s", code, stdout)
		}
	})
}
