package core_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestCheckpointSpeaksLikeItsFile: a directory of safetensors gives the audio of the file that it converts to, to the
// bit: the weights are the same numbers in the same types. Its codec lies within.
func TestCheckpointSpeaksLikeItsFile(t *testing.T) {
	for _, name := range []string{"tiny-customvoice-17", "tiny-base-06"} {
		dir := filepath.Join(golden.Checkpoints(t), name)
		want := sayWith(t, golden.GGUF(t, name, "BF16"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
		assert.Equal(t, want, sayWith(t, dir, ""), name)
		assert.Equal(t, want, sayWith(t, dir, dir), name)
		assert.Equal(t, want, sayWith(t, golden.GGUF(t, name, "BF16"), filepath.Join(dir, "speech_tokenizer")), name)
	}
}

// sayWith speaks a few frames: of a base model, in the voice of a recording, which takes the encoders, too.
func sayWith(t *testing.T, talker, codec string) []float32 {
	t.Helper()
	e, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1, GGMLDir: testenv.GGMLDir(t)})
	require.NoError(t, err)
	defer e.Close()
	r := e.DefaultRequest()
	r.Text, r.Seed, r.MaxFrames = "Good morning!", 7, 4
	if e.ModelType() == "base" {
		r.RefAudio, r.RefText = clip(t, "speech"), "hello"
	} else {
		r.Speaker = e.Speakers()[0]
	}
	var pcm []float32
	_, err = e.Synthesize(context.Background(), &r, func(v []float32) error {
		pcm = append(pcm, v...)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, pcm)
	return pcm
}

// TestCheckpointIsUsedInPlace: the matrices are not copied, however the header's length aligns them.
func TestCheckpointIsUsedInPlace(t *testing.T) {
	const name = "tiny-customvoice-06"
	src := filepath.Join(golden.Checkpoints(t), name)
	codec := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	want := sayWith(t, golden.GGUF(t, name, "BF16"), codec)
	for _, pad := range []int{0, 2, 8, 24} {
		dir := t.TempDir()
		copyFiles(t, src, dir, "model.safetensors")
		data, err := os.ReadFile(filepath.Join(src, "model.safetensors"))
		require.NoError(t, err)
		n := binary.LittleEndian.Uint64(data)
		padded := binary.LittleEndian.AppendUint64(nil, n+uint64(pad))
		padded = append(append(append(padded, data[8:8+n]...), strings.Repeat(" ", pad)...), data[8+n:]...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), padded, 0o666))
		assert.Equal(t, want, sayWith(t, dir, codec), "%d bytes more", pad)
		assert.LessOrEqual(t, copied(t, dir, codec), copied(t, golden.GGUF(t, name, "BF16"), codec)+.2, "vectors at the most")
	}
}

// copied is how many MiB of the weights are copies.
func copied(t *testing.T, talker, codec string) (n float64) {
	t.Helper()
	e, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1, GGMLDir: testenv.GGMLDir(t)})
	require.NoError(t, err)
	defer e.Close()
	about := e.Describe()
	var inPlace float64
	_, err = fmt.Sscanf(about[strings.Index(about, "weights:"):], "weights: %f MiB in place, %f MiB copied", &inPlace, &n)
	require.NoError(t, err)
	t.Logf("%s: %g in place, %g copied", talker, inPlace, n)
	return n
}

func copyFiles(t *testing.T, src, dst string, except ...string) {
	t.Helper()
	entries, err := os.ReadDir(src)
	require.NoError(t, err)
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(src, e.Name())); err == nil && info.Mode().IsRegular() && !slices.Contains(except, e.Name()) {
			data, err := os.ReadFile(filepath.Join(src, e.Name()))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dst, e.Name()), data, 0o666))
		}
	}
}

// TestShardedCheckpoint speaks with weights in several files.
func TestShardedCheckpoint(t *testing.T) {
	const name = "tiny-customvoice-17"
	src, dir := filepath.Join(golden.Checkpoints(t), name), t.TempDir()
	copyFiles(t, src, dir, "model.safetensors")
	data, err := os.ReadFile(filepath.Join(src, "model.safetensors"))
	require.NoError(t, err)
	n := binary.LittleEndian.Uint64(data)
	var header map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data[8:8+n], &header))
	shards, index := [3]map[string]json.RawMessage{{}, {}, {}}, map[string]string{}
	for tensor, entry := range header {
		if tensor != "__metadata__" {
			i := len(tensor) % 3
			shards[i][tensor] = entry
			index[tensor] = []string{"a.safetensors", "b.safetensors", "c.safetensors"}[i]
		}
	}
	for i, file := range []string{"a.safetensors", "b.safetensors", "c.safetensors"} { // with all the data each
		text, err := json.Marshal(shards[i])
		require.NoError(t, err)
		out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), append(out, data[8+n:]...), 0o666))
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o666))
	codec := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	assert.Equal(t, sayWith(t, golden.GGUF(t, name, "BF16"), codec), sayWith(t, dir, codec))
}

// TestCheckpointsThatCannotBeOpened end in errors that name the directory and what is wrong with it.
func TestCheckpointsThatCannotBeOpened(t *testing.T) {
	codec, dir := golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06")
	tokenizer := filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz")
	empty, bare, cut := t.TempDir(), t.TempDir(), t.TempDir()
	copyFiles(t, dir, bare)
	copyFiles(t, dir, cut)
	require.NoError(t, os.Truncate(filepath.Join(cut, "model.safetensors"), 1<<20))
	for _, c := range []struct{ talker, codec, want string }{
		{empty, codec, "config.json: missing in " + empty},
		{cut, codec, "truncated download?"},
		{tokenizer, codec, `holds "qwen3-tts-tokenizer", not the talker`},
		{dir, bare, `holds "qwen3-tts", not the speech tokenizer`},
		{cut, "", "codec_path: missing"},
	} {
		err := open(t, c.talker, c.codec)
		assert.ErrorContains(t, err, c.want)
		if c.codec != "" {
			assert.ErrorIs(t, err, core.ErrModel, "%v", err)
		}
	}
}
