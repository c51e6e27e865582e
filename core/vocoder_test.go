package core_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/onnx"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// withONNX gives an engine an ONNX vocoder.
func withONNX(t testing.TB, name string) func(*core.Options) {
	t.Helper()
	testenv.ONNXRuntime(t)
	return func(o *core.Options) { o.CodecPath, o.ONNXProvider = golden.ONNX(t, name), "cpu" }
}

// TestTwoVocoders: speech decoded by ONNX Runtime is that of ggml's decoder, buffered and streamed, on a thread of its
// own or not.
func TestTwoVocoders(t *testing.T) {
	want, res, err := speak(shared(t, custom), sampled(3))
	require.NoError(t, err)
	require.Equal(t, 12, res.Frames)
	for _, name := range []string{"tiny-vocoder", "tiny-vocoder-whole"} {
		for _, threads := range []int{1, 2} {
			e := engine(t, custom, withONNX(t, name), func(o *core.Options) { o.Threads = threads })
			assert.Contains(t, e.Describe(), "vocoder: "+name)
			assert.Contains(t, e.Describe(), "provider cpu")
			for _, stream := range []bool{false, true} {
				r := sampled(3)
				r.Stream = stream
				chunks := 0
				var pcm []float32
				_, err := e.Synthesize(context.Background(), &r, func(v []float32) error {
					pcm = append(pcm, v...)
					chunks++
					return nil
				})
				require.NoError(t, err)
				snr := golden.SNR(pcm, want)
				assert.Greater(t, snr, 60.0, "%s, %d threads, stream %v", name, threads, stream)
				t.Logf("%s, %d threads, stream %v: %d chunks, %.1f dB", name, threads, stream, chunks, snr)
			}
		}
	}
}

// TestONNXStreamsFrameByFrame: a model with state has each frame at once; one without decodes more and more of them.
func TestONNXStreamsFrameByFrame(t *testing.T) {
	for name, want := range map[string][]int{
		"tiny-vocoder":       {1920, 1920, 1920, 1920, 1920, 1920, 1920, 1920, 1920, 1920, 1920, 1920},
		"tiny-vocoder-whole": {1920, 2 * 1920, 4 * 1920, 5 * 1920},
	} {
		r, chunks := sampled(3), []int(nil)
		r.Stream = true
		if name == "tiny-vocoder" {
			r.ChunkFrames = 1
		}
		_, err := engine(t, custom, withONNX(t, name)).Synthesize(context.Background(), &r, func(v []float32) error {
			chunks = append(chunks, len(v))
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, chunks, name)
	}
}

// TestONNXGoesOnFromAReference: the codes of a reference prime an ONNX vocoder, too, again and again.
func TestONNXGoesOnFromAReference(t *testing.T) {
	v, err := shared(t, base).ExtractVoice(context.Background(), clip(t, "speech"))
	require.NoError(t, err)
	r := cloning(4)
	r.Voice, r.RefText = v, "The quick brown fox."
	want, _, err := speak(shared(t, base), r)
	require.NoError(t, err)
	for _, name := range []string{"tiny-vocoder", "tiny-vocoder-whole"} {
		e := engine(t, base, withONNX(t, name))
		for range 2 { // the second time from memory
			pcm, _, err := speak(e, r)
			require.NoError(t, err)
			assert.Greater(t, golden.SNR(pcm, want), 60.0, name)
		}
	}
}

// TestONNXHasNoEncoder: what needs one is refused with what to do; the speaker's vector does not.
func TestONNXHasNoEncoder(t *testing.T) {
	e := engine(t, base, withONNX(t, "tiny-vocoder"))
	r := cloning(4)
	r.RefAudio = clip(t, "speech")
	_, _, err := speak(e, r)
	assert.NoError(t, err, "the speaker's vector alone")
	r.RefText = "The quick brown fox."
	_, _, err = speak(e, r)
	assert.ErrorIs(t, err, core.ErrMode)
	assert.ErrorContains(t, err, "no encoder")
	id := e.Identity()
	assert.Zero(t, id.Codec, "it cannot be told")
	assert.NotZero(t, id.Speaker)

	opts := core.Options{Threads: 1, GGMLDir: testenv.GGMLDir(t)}
	withONNX(t, "tiny-vocoder")(&opts)
	c, err := core.OpenCodec(opts)
	require.NoError(t, err)
	defer c.Close()
	assert.False(t, c.Encodes())
	_, err = c.Encode(context.Background(), clip(t, "speech"))
	assert.ErrorIs(t, err, core.ErrMode)
	samples := 0
	require.NoError(t, c.Decode(context.Background(), v16(40), func(pcm []float32) error { samples += len(pcm); return nil }))
	assert.Equal(t, 40*1920, samples)
}

// v16 are frames of some codes.
func v16(n int) [][]int32 {
	codes := make([][]int32, n)
	for t := range codes {
		codes[t] = make([]int32, 16)
		for k := range codes[t] {
			codes[t][k] = int32((7*t + 3*k) % 512)
		}
	}
	return codes
}

// TestONNXOptions: folders, names of providers, files that are none.
func TestONNXOptions(t *testing.T) {
	testenv.ONNXRuntime(t)
	dir := t.TempDir()
	copyFile(t, golden.ONNX(t, "tiny-vocoder"), filepath.Join(dir, onnx.FileName))
	copyFile(t, filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz", "model.safetensors"), filepath.Join(dir, "model.safetensors"))
	opts := core.Options{TalkerPath: golden.GGUF(t, custom, "F32"), CodecPath: dir, Threads: 1, GGMLDir: testenv.GGMLDir(t), Device: "cpu"}
	e, err := core.Open(opts)
	require.NoError(t, err, "a folder")
	assert.Contains(t, e.Describe(), "ONNX Runtime")
	require.NoError(t, e.Close())
	opts.CodecPath = t.TempDir()
	copyFile(t, golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), filepath.Join(opts.CodecPath, "qwen-tokenizer-12hz-F32.gguf"))
	require.NoError(t, os.WriteFile(filepath.Join(opts.CodecPath, onnx.FileName), nil, 0o666))
	e, err = core.Open(opts)
	require.NoError(t, err, "a folder with both")
	assert.NotContains(t, e.Describe(), "ONNX Runtime", "the one that can encode, too")
	require.NoError(t, e.Close())
	opts.CodecPath = dir

	opts.ONNXProvider = "abacus"
	_, err = core.Open(opts)
	assert.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, `onnx_provider: unknown execution provider "abacus": not one of auto, cpu, cuda, tensorrt`)
	opts.ONNXProvider = "cann"
	_, err = core.Open(opts)
	assert.ErrorIs(t, err, core.ErrBackend)
	assert.ErrorContains(t, err, "cann is not part of this ONNX Runtime")
	assert.ErrorContains(t, err, "available: cpu")

	for name, data := range map[string]string{"empty.onnx": "", "text.onnx": "this is no model", "model.onnx": "GGUF\x03\x00\x00\x00"} {
		opts.CodecPath = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(opts.CodecPath, []byte(data), 0o666))
		_, err = core.Open(opts)
		assert.ErrorIs(t, err, core.ErrModel)
		assert.ErrorContains(t, err, name+": this is no ONNX model")
	}
	opts.CodecPath = filepath.Join(dir, "absent.onnx")
	_, err = core.Open(opts)
	assert.ErrorIs(t, err, core.ErrModel)
	assert.ErrorContains(t, err, "absent.onnx: no such file")
	opts.CodecPath = t.TempDir()
	_, err = core.Open(opts)
	assert.ErrorIs(t, err, core.ErrModel, "a folder without")
	t.Log(err)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o666))
}
