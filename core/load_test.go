package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// open tries a pair of files.
func open(tb testing.TB, talker, codec string) error {
	e, err := core.Open(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1, GGMLDir: testenv.GGMLDir(tb)})
	if err == nil {
		require.NoError(tb, e.Close())
	}
	return err
}

// TestFilesThatAreNotWhatTheyShouldBe: each is refused with an error that names the culprit.
func TestFilesThatAreNotWhatTheyShouldBe(t *testing.T) {
	talker, codec := golden.GGUF(t, custom, "F32"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	drop := func(*gguf.TensorInfo, []byte) bool { return false }
	set := func(key string, v any) golden.Rig { return golden.Rig{Set: map[string]any{key: v}} }
	for _, c := range []struct {
		talker bool
		rig    golden.Rig
		names  string
	}{
		{true, only("talker.blk.1.attn_k.weight", drop), "talker.blk.1.attn_k.weight: missing"},
		{true, only("code_pred.mtp_proj.weight", drop), "code_pred.mtp_proj"},
		{true, only("code_pred.lm_head.14.weight", drop), "code_pred.lm_head.14.weight: missing"},
		{true, only("talker.blk.2.ffn_up.weight", transpose), "talker.blk.2.ffn_up.weight: shape"},
		{true, only("talker.text_proj.fc1.bias", nans), "talker.text_proj.fc1.bias"},
		{true, only("talker.codec_head.weight", nans), "talker.codec_head.weight"},
		{true, only("talker.blk.0.attn_v.weight", zeros), "talker.blk.0.attn_v.weight: all zero"},
		{true, golden.Rig{Add: map[string][]int64{"talker.blk.3.attn_q.weight": {4}}}, "talker.blk.3.attn_q.weight: surplus"},
		{true, set("qwen3-tts.talker.block_count", nil), "qwen3-tts.talker.block_count"},
		{true, set("qwen3-tts.talker.block_count", uint32(4)), "talker.blk.3"},
		{true, set("qwen3-tts.talker.block_count", uint32(1<<31)), "qwen3-tts.talker.block_count"},
		{true, set("qwen3-tts.talker.attention.head_count", uint32(3)), "head_count"},
		{true, set("qwen3-tts.talker.attention.head_count_kv", uint32(0)), "head_count_kv"},
		{true, set("qwen3-tts.talker.rope.freq_base", float32(math.Inf(1))), "rope.freq_base"},
		{true, set("qwen3-tts.talker.attention.layer_norm_rms_epsilon", "x"), "layer_norm_rms_epsilon"},
		{true, set("qwen3-tts.model_type", "singer"), "singer"},
		{true, set("qwen3-tts.codec.eos_id", uint32(999999)), "eos"},
		{true, set("qwen3-tts.codec.language_ids", []uint32{1}), "language_names"},
		{true, set("tokenizer.ggml.tokens", []string{"a", "a"}), "tokenizer"},
		{true, set("generation.temperature", float32(-1)), "generation.temperature"},
		{true, set("qwen3-tts.num_code_groups", uint32(15)), "code_pred."},
		{true, set("general.architecture", "llama"), "llama"},
		{false, set("general.architecture", "qwen3-tts"), "qwen3-tts"},
		{false, only("tok_dec.dec.2.conv_t.weight", drop), "tok_dec.dec.2.conv_t.weight"},
		{false, only("tok_dec.dec.2.conv_t.weight", nans), "tok_dec.dec.2.conv_t.weight"},
		{false, only("tok_dec.dec.2.res.1.conv1.weight", zeros), "tok_dec.dec.2.res.1.conv1.weight"},
		{false, only("tok_dec.pre_tfm.blk.0.attn_q.weight", transpose), "tok_dec.pre_tfm.blk.0.attn_q.weight"},
		{false, set("qwen3-tts-tokenizer.decoder.num_hidden_layers", uint32(3)), "tok_dec.pre_tfm.blk.2"},
		{false, golden.Rig{Add: map[string][]int64{"tok_dec.extra": {4}}}, "tok_dec.extra"},
	} {
		files := [2]string{talker, codec}
		i := 1
		if c.talker {
			i = 0
		}
		files[i] = golden.Rigged(t, files[i], c.rig)
		err := open(t, files[0], files[1])
		assert.ErrorIs(t, err, core.ErrModel, "%s: %v", c.names, err)
		assert.ErrorContains(t, err, c.names)
		assert.ErrorContains(t, err, files[i], "the file is named")
		e := core.Examine(files[i], true)
		if e.Kind != "unknown" && (e.Kind == "talker") == c.talker { // else it is no problem of the file
			assert.Contains(t, strings.Join(e.Problems, "\n"), c.names)
		}
	}
}

// only changes one tensor.
func only(name string, change func(*gguf.TensorInfo, []byte) bool) golden.Rig {
	return golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool { return ti.Name != name || change(ti, data) }}
}

func transpose(t *gguf.TensorInfo, _ []byte) bool {
	t.Shape[0], t.Shape[1] = t.Shape[1], t.Shape[0]
	return true
}

func zeros(_ *gguf.TensorInfo, data []byte) bool {
	clear(data)
	return true
}

func nans(_ *gguf.TensorInfo, data []byte) bool {
	binary.LittleEndian.PutUint32(data[len(data)/8*4:], math.Float32bits(float32(math.NaN())))
	return true
}

// TestTextEmbeddingsAreCheckedWhenRead: the table is large and few of its rows are read, so a row that is not finite is
// no hindrance to loading, but to speaking its token.
func TestTextEmbeddingsAreCheckedWhenRead(t *testing.T) {
	const width = 4 * 64 // bytes of a row's first values, at least
	talker := golden.Rigged(t, golden.GGUF(t, custom, "F32"), only("talker.text_embd.weight", func(info *gguf.TensorInfo, data []byte) bool {
		row := len(data) / int(info.Shape[1])
		require.GreaterOrEqual(t, row, width)
		for at := 0; at < len(data); at += row {
			binary.LittleEndian.PutUint32(data[at+width-4:], math.Float32bits(float32(math.Inf(1))))
		}
		return true
	}))
	e, err := core.Open(core.Options{TalkerPath: talker, CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), Threads: 1, GGMLDir: testenv.GGMLDir(t)})
	require.NoError(t, err)
	defer e.Close()
	req := e.DefaultRequest()
	req.Text, req.MaxFrames = "Hello", 2
	if s := e.Speakers(); len(s) > 0 {
		req.Speaker = s[0]
	}
	_, err = e.Synthesize(t.Context(), &req, func([]float32) error { return nil })
	assert.ErrorIs(t, err, core.ErrModel)
	assert.ErrorContains(t, err, "talker.text_embd.weight: row")
}

// TestDamagedFiles: truncated at any place, foreign, or with absurd counts.
func TestDamagedFiles(t *testing.T) {
	talker, codec := golden.GGUF(t, custom, "F32"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	whole, err := os.ReadFile(talker)
	require.NoError(t, err)
	counts := func(at int) []byte {
		b := bytes.Clone(whole[:4096])
		binary.LittleEndian.PutUint64(b[at:], math.MaxUint64/2)
		return b
	}
	for name, data := range map[string][]byte{
		"empty":            {},
		"4 bytes":          whole[:4],
		"header":           whole[:24],
		"half":             whole[:len(whole)/2],
		"a byte short":     whole[:len(whole)-1],
		"tensor count":     counts(8),
		"metadata count":   counts(16),
		"html":             []byte("<!DOCTYPE html><html></html>"),
		"lfs pointer":      []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"),
		"safetensors":      append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, "{}"...),
		"other byte order": append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 64)...),
	} {
		path := filepath.Join(t.TempDir(), "damaged.gguf")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		for _, err := range []error{open(t, path, codec), open(t, talker, path)} {
			assert.ErrorIs(t, err, core.ErrModel, "%s: %v", name, err)
			assert.ErrorContains(t, err, path)
		}
		assert.NotEmpty(t, core.Examine(path, true).Problems, name)
	}
	assert.ErrorIs(t, open(t, t.TempDir(), codec), core.ErrModel, "a directory")
}

// TestFilesOfDifferentModels: a speech tokenizer with other codebooks than the talker's.
func TestFilesOfDifferentModels(t *testing.T) {
	for _, c := range []struct{ talker, codec string }{
		{golden.GGUF(t, custom, "F32"), golden.GGUF(t, custom, "F32")},
		{golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32")},
		{golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), golden.GGUF(t, custom, "F32")},
	} {
		assert.ErrorIs(t, open(t, c.talker, c.codec), core.ErrModel)
	}
}

// TestEveryFileTypeSpeaks: each type that the converter writes, for every family.
func TestEveryFileTypeSpeaks(t *testing.T) {
	for _, typ := range []string{"F32", "F16", "BF16", "Q8_0"} {
		for _, model := range []string{"tiny-base-06", "tiny-base-17", "tiny-customvoice-06", custom, "tiny-voicedesign-17"} {
			e, err := core.Open(core.Options{TalkerPath: golden.GGUF(t, model, typ), CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", typ), Threads: 1, GGMLDir: testenv.GGMLDir(t)})
			require.NoError(t, err, "%s %s", model, typ)
			r := core.DefaultRequest()
			r.Text, r.MaxFrames, r.Seed = "Hello.", 2, 1
			switch e.ModelType() {
			case "custom_voice":
				r.Speaker = e.Speakers()[0]
			case "voice_design":
				r.Instruct = "A calm voice."
			}
			pcm, res, err := speak(e, r)
			require.NoError(t, err, "%s %s", model, typ)
			assert.Len(t, pcm, 2*1920)
			assert.Equal(t, core.FinishLength, res.Finish)
			require.NoError(t, e.Close())
		}
	}
}

// scaled multiplies the rows of a matrix for which want holds by a factor.
func scaled(factor float32, want func(row int) bool) func(*gguf.TensorInfo, []byte) bool {
	return func(t *gguf.TensorInfo, data []byte) bool {
		row := int(t.Shape[0]) * 4
		for i := 0; i < len(data); i += 4 {
			if want(i / row) {
				v := math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))
				binary.LittleEndian.PutUint32(data[i:], math.Float32bits(v*factor))
			}
		}
		return true
	}
}

// rigged opens an engine whose named tensor is changed.
func rigged(t *testing.T, tensor string, change func(*gguf.TensorInfo, []byte) bool, more ...func(*core.Options)) *core.Engine {
	t.Helper()
	r := golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool { return ti.Name != tensor || change(ti, data) }}
	return engine(t, custom, append(more, func(o *core.Options) {
		if bytes.HasPrefix([]byte(tensor), []byte("tok_")) {
			o.CodecPath = golden.Rigged(t, o.CodecPath, r)
		} else {
			o.TalkerPath = golden.Rigged(t, o.TalkerPath, r)
		}
	})...)
}

// TestNumbersThatOverflowAreFailures: never silence or noise passed off as speech.
func TestNumbersThatOverflowAreFailures(t *testing.T) {
	all := func(int) bool { return true }
	for tensor, stage := range map[string]string{
		"talker.codec_head.weight":          "codebook 0",
		"code_pred.lm_head.3.weight":        "codebook 4",
		"talker.blk.1.ffn_down.weight":      "codebook 0",
		"tok_dec.dec.0.conv.weight":         "codec",
		"tok_dec.pre_tfm.input_proj.weight": "codec",
	} {
		e := rigged(t, tensor, scaled(1e38, all))
		_, _, err := speak(e, sampled(1))
		assert.ErrorIs(t, err, core.ErrGenerate, "%s: %v", tensor, err)
		assert.ErrorContains(t, err, stage, tensor)
	}
	// The next norm's mean square overflows: it makes zeros of them, and the head makes nothing of these.
	for tensor, stage := range map[string]string{
		"talker.text_proj.fc2.weight":     "codebook 0, frame 0: all logits are 0",
		"talker.blk.2.ffn_down.weight":    "codebook 0, frame 0: all logits are 0",
		"code_pred.blk.1.ffn_down.weight": "codebook 1, frame 0: all logits are 0",
	} {
		e := rigged(t, tensor, scaled(1e25, all))
		_, _, err := speak(e, sampled(1))
		assert.ErrorIs(t, err, core.ErrGenerate, tensor)
		assert.ErrorContains(t, err, stage, tensor)
	}
}

// TestAudioBeyondFullScale: what is absurdly loud is a failure, what is merely clipped comes with a warning.
func TestAudioBeyondFullScale(t *testing.T) {
	all := func(int) bool { return true }
	e := rigged(t, "tok_dec.dec.6.conv.weight", scaled(1e6, all))
	_, _, err := speak(e, sampled(1))
	assert.ErrorIs(t, err, core.ErrGenerate)
	assert.ErrorContains(t, err, "full scale")
	for _, stream := range []bool{false, true} {
		r := sampled(1)
		r.Stream = stream
		_, res, err := speak(rigged(t, "tok_dec.dec.6.conv.weight", scaled(20, all)), r)
		require.NoError(t, err)
		require.Len(t, res.Warnings, 1)
		assert.Contains(t, res.Warnings[0], "audio: clipped")
		_, res, err = speak(shared(t, custom), r)
		require.NoError(t, err)
		assert.Empty(t, res.Warnings)
	}
}

// TestTheModelEndsTheUtterance: with an end-of-speech row that always wins, speech ends as soon as it may.
func TestTheModelEndsTheUtterance(t *testing.T) {
	const eos = 614
	e := rigged(t, "talker.codec_head.weight", scaled(-1e4, func(row int) bool { return row == eos }))
	ends := 0
	for seed := range int64(6) {
		pcm, res, err := speak(e, sampled(seed))
		require.NoError(t, err)
		assert.Len(t, pcm, res.Frames*1920)
		assert.GreaterOrEqual(t, res.Frames, 2, "the first two codes are never the end")
		if res.Finish == core.FinishStop {
			assert.Less(t, res.Frames, 12)
			ends++
		}
	}
	assert.Positive(t, ends)
}

// TestAnEncoderForOtherFrames: a speech tokenizer whose two halves do not fit cannot clone, but says so.
func TestAnEncoderForOtherFrames(t *testing.T) {
	e := engine(t, base, func(o *core.Options) {
		o.CodecPath = golden.Rigged(t, o.CodecPath, golden.Rig{Set: map[string]any{"qwen3-tts-tokenizer.encoder_valid_num_quantizers": uint32(8)}})
	})
	r := cloning(1)
	r.RefAudio, r.RefText = clip(t, "speech"), "Hello."
	_, _, err := speak(e, r)
	assert.ErrorIs(t, err, core.ErrModel, "%v", err)
	assert.ErrorContains(t, err, "8 codes")
}

// TestAFileThatIsCutShortWhileOpen is refused before anything reads beyond its end, which would end the process; one that
// is written to is warned about.
func TestAFileThatIsCutShortWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mapped files cannot be changed there")
	}
	copied := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		to := filepath.Join(t.TempDir(), filepath.Base(path))
		require.NoError(t, os.WriteFile(to, data, 0o666))
		return to
	}
	for i, field := range []string{"talker_path", "codec_path"} {
		files := []string{copied(golden.GGUF(t, base, "F32")), copied(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))}
		e := engine(t, base, func(o *core.Options) { o.TalkerPath, o.CodecPath = files[0], files[1] })
		_, res, err := speak(e, cloning(1))
		require.NoError(t, err)
		assert.Empty(t, res.Warnings)

		require.NoError(t, os.Chtimes(files[i], time.Now(), time.Now().Add(time.Hour)))
		_, res, err = speak(e, cloning(1))
		require.NoError(t, err)
		require.Len(t, res.Warnings, 1)
		assert.Contains(t, res.Warnings[0], field+": "+files[i])

		require.NoError(t, os.Truncate(files[i], 4096))
		_, _, err = speak(e, cloning(1))
		assert.ErrorIs(t, err, core.ErrModel)
		assert.ErrorContains(t, err, files[i])
		_, err = e.ExtractVoice(context.Background(), clip(t, "speech"))
		assert.ErrorIs(t, err, core.ErrModel)
	}
}
