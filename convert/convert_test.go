package convert_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/tests/golden"
)

var types = []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0}

// convertTiny converts a tiny checkpoint and opens the result.
func convertTiny(t *testing.T, name string, typ gguf.Type) *gguf.File {
	path := filepath.Join(t.TempDir(), fmt.Sprintf("%s-%v.gguf", name, typ))
	require.NoError(t, convert.Convert(convert.Options{Src: filepath.Join(golden.Checkpoints(t), name), Type: typ.String(), WriteOptions: convert.WriteOptions{Dst: path}}))
	f, err := gguf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// copyTiny makes a copy of a tiny checkpoint that a test can spoil; the weights are a link.
func copyTiny(t *testing.T, name string) string {
	src, dst := filepath.Join(golden.Checkpoints(t), name), t.TempDir()
	entries, err := os.ReadDir(src)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == "speech_tokenizer" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(src, e.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dst, e.Name()), data, 0o666))
	}
	return dst
}

// floats decodes a tensor of any type that the converter writes.
func floats(t *testing.T, f *gguf.File, name string) []float32 {
	info := f.Tensor(name)
	require.NotNil(t, info, name)
	data := f.Data(info)
	x := make([]float32, info.Elements())
	switch info.Type {
	case gguf.F32:
		half.DecodeF32(x, data)
	case gguf.F16:
		half.DecodeF16(x, data)
	case gguf.BF16:
		half.DecodeBF16(x, data)
	case gguf.Q8_0:
		for i := range x {
			block := data[i/32*34:]
			d := half.FromF16(uint16(block[0]) | uint16(block[1])<<8)
			x[i] = d * float32(int8(block[2+i%32]))
		}
	default:
		require.Fail(t, "unexpected type", "%v", info.Type)
	}
	return x
}

func TestTinyCheckpoints(t *testing.T) {
	tensors := map[string]int{
		"tiny-base-06": 170, "tiny-base-17": 172, "tiny-customvoice-06": 94, "tiny-customvoice-17": 96,
		"tiny-voicedesign-17": 96, "tiny-tokenizer-12hz": 260,
	}
	for name, count := range tensors {
		exact := convertTiny(t, name, gguf.F32)
		for _, typ := range types {
			t.Run(fmt.Sprintf("%s %v", name, typ), func(t *testing.T) {
				f := convertTiny(t, name, typ)
				require.Len(t, f.Tensors(), count)
				for i := range f.Tensors() {
					info := &f.Tensors()[i]
					require.NoError(t, f.CheckFinite(info))
					require.False(t, f.AllZero(info), info.Name)
					require.Equal(t, exact.Tensor(info.Name).Shape, info.Shape)
					compare(t, info, floats(t, exact, info.Name), floats(t, f, info.Name))
				}
			})
		}
	}
}

// compare checks that a tensor's values are the exact ones as far as its type can hold them.
func compare(t *testing.T, info *gguf.TensorInfo, want, got []float32) {
	var relative, absolute, block float64 // tolerances: of the value, in itself, of the block's largest value
	switch info.Type {
	case gguf.BF16:
		relative = 1. / 256
	case gguf.F16:
		relative, absolute = 1./2048, 0x1p-25
	case gguf.Q8_0:
		block = 0.57 / 127 // half a step and the rounding of the scale, up to 127/2048 steps
	}
	top := 0.
	for i, x := range want {
		if i%32 == 0 {
			top = largest(want[i:min(i+32, len(want))])
		}
		if off := math.Abs(float64(got[i] - x)); off > relative*math.Abs(float64(x))+absolute+block*top {
			require.Equal(t, x, got[i], "%s[%d]", info.Name, i)
		}
	}
}

func largest(x []float32) float64 {
	top := 0.
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	return top
}

// F32 files hold the checkpoint's values, and codebooks the means of their vectors.
func TestValues(t *testing.T) {
	for _, c := range []struct{ model, src, name string }{
		{"tiny-base-17", "talker.codec_head.weight", "talker.codec_head.weight"},
		{"tiny-base-17", "talker.model.layers.1.mlp.down_proj.weight", "talker.blk.1.ffn_down.weight"},
		{"tiny-base-17", "talker.code_predictor.model.layers.0.mlp.up_proj.weight", "code_pred.blk.0.ffn_up.weight"},
		{"tiny-base-17", "speaker_encoder.blocks.2.res2net_block.blocks.6.conv.weight", "spk_enc.blk.2.res2net.6.weight"},
		{"tiny-tokenizer-12hz", "decoder.decoder.2.block.1.conv.weight", "tok_dec.dec.2.conv_t.weight"},
		{"tiny-tokenizer-12hz", "encoder.encoder_transformer.layers.1.mlp.fc1.weight", "tok_enc.blk.1.ffn_up.weight"},
	} {
		got := floats(t, convertTiny(t, c.model, gguf.F32), c.name)
		assert.Equal(t, sourceValues(t, c.model, c.src), got, c.name)
	}
	const model = "tiny-tokenizer-12hz"
	f := convertTiny(t, model, gguf.F32)
	for name, book := range map[string][2]string{
		"tok_enc.vq_acoustic.14.codebook": {"encoder.quantizer.acoustic_residual_vector_quantizer.layers.14.codebook", "embed_sum"},
		"tok_dec.vq_first.0.codebook":     {"decoder.quantizer.rvq_first.vq.layers.0._codebook", "embedding_sum"},
	} {
		sums, usage := sourceValues(t, model, book[0]+"."+book[1]), sourceValues(t, model, book[0]+".cluster_usage")
		require.Zero(t, usage[7], "an entry that was never used")
		got := floats(t, f, name)
		require.Len(t, got, len(sums))
		for i, x := range sums {
			require.Equal(t, x/max(usage[i/32], 1e-5), got[i], "%s[%d]", name, i)
		}
	}
}

// sourceValues reads a tensor of a tiny checkpoint.
func sourceValues(t *testing.T, model, name string) []float32 {
	h, data := readWeights(t, filepath.Join(golden.Checkpoints(t), model))
	x, ok := h[name]
	require.True(t, ok, name)
	raw := data[x.Offsets[0]:x.Offsets[1]]
	if x.Dtype == "BF16" {
		values := make([]float32, len(raw)/2)
		half.DecodeBF16(values, raw)
		return values
	}
	values := make([]float32, len(raw)/4)
	half.DecodeF32(values, raw)
	return values
}

// The types of a reduced file, by the policy.
func TestTinyTypes(t *testing.T) {
	f := convertTiny(t, "tiny-base-17", gguf.Q8_0)
	for name, want := range map[string]gguf.Type{
		"talker.text_embd.weight": gguf.Q8_0, "talker.blk.0.attn_norm.weight": gguf.F32, "code_pred.mtp_proj.bias": gguf.F32,
		"spk_enc.conv0.weight": gguf.F32, "spk_enc.fc.weight": gguf.F32,
	} {
		assert.Equal(t, want, f.Tensor(name).Type, name)
	}
	f = convertTiny(t, "tiny-tokenizer-12hz", gguf.Q8_0)
	for name, want := range map[string]gguf.Type{
		"tok_dec.vq_first.0.codebook": gguf.F32, "tok_enc.vq_semantic.input_proj.weight": gguf.F32,
		"tok_dec.dec.1.conv_t.weight": gguf.F16, "tok_dec.pre_tfm.blk.0.attn_q.weight": gguf.Q8_0,
		"tok_dec.dec.1.snake.alpha": gguf.F32, "tok_dec.pre_tfm.blk.1.attn_scale": gguf.F32,
	} {
		assert.Equal(t, want, f.Tensor(name).Type, name)
	}
	assert.Equal(t, []int64{16, 64, 128}, f.Tensor("tok_dec.dec.1.conv_t.weight").Shape, "ggml's order of (in, out, kernel)")
}

func TestTalkerMetadata(t *testing.T) {
	f := convertTiny(t, "tiny-customvoice-17", gguf.Q8_0)
	for key, want := range map[string]int{
		"general.file_type": 7, "general.quantization_version": 2, "qwen3-tts.num_code_groups": 16,
		"qwen3-tts.talker.embedding_length": 256, "qwen3-tts.talker.feed_forward_length": 512, "qwen3-tts.talker.block_count": 3,
		"qwen3-tts.talker.attention.head_count": 4, "qwen3-tts.talker.attention.head_count_kv": 2,
		"qwen3-tts.talker.attention.key_length": 64, "qwen3-tts.talker.vocab_size": 1536, "qwen3-tts.talker.text_vocab_size": 2624,
		"qwen3-tts.talker.text_hidden_size": 256, "qwen3-tts.talker.context_length": 32768,
		"qwen3-tts.talker.position_id_per_seconds": 13, "qwen3-tts.code_pred.embedding_length": 128,
		"qwen3-tts.code_pred.block_count": 2, "qwen3-tts.code_pred.vocab_size": 512, "qwen3-tts.code_pred.context_length": 65536,
		"qwen3-tts.codec.pad_id": 612, "qwen3-tts.codec.bos_id": 613, "qwen3-tts.codec.eos_id": 614, "qwen3-tts.codec.think_id": 618,
		"qwen3-tts.codec.nothink_id": 619, "qwen3-tts.codec.think_bos_id": 620, "qwen3-tts.codec.think_eos_id": 621,
		"qwen3-tts.text.im_start_id": 2566, "qwen3-tts.text.im_end_id": 2567, "qwen3-tts.text.tts_pad_id": 2593,
		"qwen3-tts.text.tts_bos_id": 2594, "qwen3-tts.text.tts_eos_id": 2595, "tokenizer.ggml.eos_token_id": 2565,
		"generation.top_k": 50, "generation.subtalker_top_k": 50, "generation.max_new_tokens": 8192,
	} {
		v, ok := f.Value(key)
		require.True(t, ok, key)
		assert.Equal(t, gguf.Uint32, v.Type, key)
		got, err := f.Int(key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string]float32{
		"qwen3-tts.talker.rope.freq_base": 1e6, "qwen3-tts.talker.attention.layer_norm_rms_epsilon": 1e-6,
		"qwen3-tts.code_pred.rope.freq_base": 1e6, "generation.top_p": 1, "generation.temperature": 0.9,
		"generation.repetition_penalty": 1.05, "generation.subtalker_top_p": 1, "generation.subtalker_temperature": 0.9,
	} {
		v, ok := f.Value(key)
		require.True(t, ok, key)
		assert.Equal(t, gguf.Float32, v.Type, key)
		got, err := f.Float32(key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string]string{
		"general.architecture": "qwen3-tts", "general.name": "Qwen3-TTS-12Hz-1.7B-CustomVoice", "qwen3-tts.model_size": "1.7b",
		"qwen3-tts.model_type": "custom_voice", "qwen3-tts.tokenizer_type": "qwen3_tts_tokenizer_12hz", "tokenizer.ggml.model": "gpt2",
	} {
		got, err := f.String(key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for _, key := range []string{"generation.do_sample", "generation.subtalker_do_sample", "qwen3-tts.talker.mrope_interleaved"} {
		got, err := f.Bool(key)
		require.NoError(t, err)
		assert.True(t, got, key)
	}
	sections, err := f.Ints("qwen3-tts.talker.rope.mrope_section")
	require.NoError(t, err)
	assert.Equal(t, []int{12, 10, 10}, sections)
	assert.False(t, f.Has("qwen3-tts.spk_enc.embedding_length"))
}

func TestTables(t *testing.T) {
	f := convertTiny(t, "tiny-customvoice-17", gguf.F32)
	names, err := f.Strings("qwen3-tts.codec.speaker_names")
	require.NoError(t, err)
	assert.Equal(t, []string{"serena", "vivian", "uncle_fu", "ryan", "aiden", "ono_anna", "sohee", "eric", "dylan"}, names, "in the order of the configuration")
	ids, err := f.Ints("qwen3-tts.codec.speaker_ids")
	require.NoError(t, err)
	assert.Equal(t, []int{1530, 1529, 1474, 1525, 1325, 1337, 1328, 1339, 1342}, ids)
	dialects, err := f.Strings("qwen3-tts.codec.speaker_dialects")
	require.NoError(t, err)
	assert.Equal(t, []string{"", "", "", "", "", "", "", "sichuan_dialect", "beijing_dialect"}, dialects)
	languages, err := f.Strings("qwen3-tts.codec.language_names")
	require.NoError(t, err)
	assert.Equal(t, "chinese", languages[0])
	assert.Equal(t, "sichuan_dialect", languages[11])
	ids, err = f.Ints("qwen3-tts.codec.language_ids")
	require.NoError(t, err)
	assert.Equal(t, []int{519, 514, 517, 534, 535, 518, 522, 528, 525, 533, 538, 526}, ids)

	f = convertTiny(t, "tiny-base-17", gguf.F32)
	assert.False(t, f.Has("qwen3-tts.codec.speaker_names"))
	width, err := f.Int("qwen3-tts.spk_enc.embedding_length")
	require.NoError(t, err)
	assert.Equal(t, 256, width)
	rate, err := f.Int("qwen3-tts.spk_enc.sample_rate")
	require.NoError(t, err)
	assert.Equal(t, 24000, rate)
}

// No merge may be lost, not even those that look like comments.
func TestTokenizerMetadata(t *testing.T) {
	f := convertTiny(t, "tiny-customvoice-06", gguf.F32)
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	require.NoError(t, err)
	kinds, err := f.Ints("tokenizer.ggml.token_type")
	require.NoError(t, err)
	merges, err := f.Strings("tokenizer.ggml.merges")
	require.NoError(t, err)
	require.Len(t, tokens, 2598)
	require.Len(t, kinds, 2598)
	assert.Equal(t, "!", tokens[0])
	assert.Equal(t, "<|endoftext|>", tokens[2565])
	count := map[int]int{}
	for _, k := range kinds {
		count[k]++
	}
	assert.Equal(t, count[1]+count[4]+count[5], len(kinds))

	data, err := os.ReadFile(filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06", "merges.txt"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	assert.Equal(t, lines[1:], merges)
	hashes := 0
	for _, m := range merges {
		if strings.HasPrefix(m, "#") {
			hashes++
		}
	}
	assert.Positive(t, hashes, "the tiny vocabulary has such merges")
}

func TestCodecMetadata(t *testing.T) {
	f := convertTiny(t, "tiny-tokenizer-12hz", gguf.BF16)
	const arch = "qwen3-tts-tokenizer."
	for key, want := range map[string]int{
		"general.file_type": 32, arch + "input_sample_rate": 24000, arch + "output_sample_rate": 24000,
		arch + "decode_upsample_rate": 1920, arch + "encode_downsample_rate": 1920, arch + "encoder_valid_num_quantizers": 16,
		arch + "decoder.latent_dim": 96, arch + "decoder.codebook_size": 512, arch + "decoder.codebook_dim": 64,
		arch + "decoder.codebook_dim_internal": 32, arch + "decoder.hidden_size": 64, arch + "decoder.intermediate_size": 128,
		arch + "decoder.head_dim": 64, arch + "decoder.num_attention_heads": 2, arch + "decoder.num_key_value_heads": 2,
		arch + "decoder.num_hidden_layers": 2, arch + "decoder.num_quantizers": 16, arch + "decoder.num_semantic_quantizers": 1,
		arch + "decoder.sliding_window": 72, arch + "decoder.decoder_dim": 128, arch + "encoder.num_filters": 8,
		arch + "encoder.num_quantizers": 16, arch + "encoder.codebook_size": 512, arch + "encoder.hidden_size": 64,
		arch + "encoder.num_hidden_layers": 2, arch + "encoder.head_dim": 32, arch + "encoder.compress": 2,
	} {
		got, err := f.Int(key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string][]int{
		"decoder.upsampling_ratios": {2, 2}, "decoder.upsample_rates": {8, 5, 4, 3}, "encoder.upsampling_ratios": {8, 6, 5, 4},
	} {
		got, err := f.Ints(arch + key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string]float32{
		"decoder.rope_theta": 1e4, "decoder.rms_norm_eps": 1e-5, "decoder.layer_scale_initial_scale": 0.01, "encoder.norm_eps": 1e-5,
	} {
		got, err := f.Float32(arch + key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	assert.False(t, f.Has("general.quantization_version"))
}

func TestConversionIsDeterministic(t *testing.T) {
	src, dir := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06"), t.TempDir()
	var files [2][]byte
	for i := range files {
		path := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, convert.Convert(convert.Options{Src: src, Type: "Q8_0", WriteOptions: convert.WriteOptions{Dst: path}}))
		var err error
		files[i], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	assert.True(t, string(files[0]) == string(files[1]))
}

func TestProgress(t *testing.T) {
	var last, all int64
	var names []string
	o := convert.Options{Src: filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), Type: "F16", WriteOptions: convert.WriteOptions{Dst: filepath.Join(t.TempDir(), "x")}}
	o.Progress = func(done, total int64, name string) {
		assert.GreaterOrEqual(t, done, last)
		last, all = done, total
		names = append(names, name)
	}
	require.NoError(t, convert.Convert(o))
	assert.Equal(t, all, last)
	require.Len(t, names, 261)
	assert.Equal(t, "tok_enc.conv.0.weight", names[0])
	assert.Empty(t, names[260])
}

func TestCancelledConversionLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := convert.ConvertContext(ctx, convert.Options{
		Src: filepath.Join(golden.Checkpoints(t), "tiny-tokenizer-12hz"), Type: "F32",
		WriteOptions: convert.WriteOptions{Dst: filepath.Join(dir, "x.gguf"), Progress: func(int64, int64, string) {
			if calls++; calls == 100 {
				cancel()
			}
		}},
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 100, calls)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Shards give the same file as one piece.
func TestShardedCheckpoint(t *testing.T) {
	dir := copyTiny(t, "tiny-customvoice-06")
	whole, shards := filepath.Join(dir, "a.gguf"), filepath.Join(dir, "b.gguf")
	require.NoError(t, convert.Convert(convert.Options{Src: dir, Type: "BF16", WriteOptions: convert.WriteOptions{Dst: whole}}))
	shard(t, dir)
	require.NoError(t, convert.Convert(convert.Options{Src: dir, Type: "BF16", WriteOptions: convert.WriteOptions{Dst: shards}}))
	a, err := os.ReadFile(whole)
	require.NoError(t, err)
	b, err := os.ReadFile(shards)
	require.NoError(t, err)
	assert.True(t, string(a) == string(b))
}

// header of a safetensors file, as far as tests change it.
type header map[string]struct {
	Dtype   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets [2]int  `json:"data_offsets"`
}

// readWeights splits a checkpoint's weights into header and data.
func readWeights(t *testing.T, dir string) (header, []byte) {
	data, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	require.NoError(t, err)
	n := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
	var raw map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data[8:8+n], &raw))
	delete(raw, "__metadata__")
	text, err := json.Marshal(raw)
	require.NoError(t, err)
	var h header
	require.NoError(t, json.Unmarshal(text, &h))
	return h, data[8+n:]
}

func writeWeights(t *testing.T, path string, h header, data []byte) {
	text, err := json.Marshal(h)
	require.NoError(t, err)
	out := append([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), 0, 0, 0, 0, 0}, text...)
	require.NoError(t, os.WriteFile(path, append(out, data...), 0o666))
}

// shard splits a checkpoint's weights over two files. Both keep all the data: only the headers differ.
func shard(t *testing.T, dir string) {
	h, data := readWeights(t, dir)
	parts := [2]header{{}, {}}
	files := map[string]string{}
	for name, x := range h {
		i := len(name) % 2
		parts[i][name] = x
		files[name] = fmt.Sprintf("model-0000%d-of-00002.safetensors", i+1)
	}
	for i := range parts {
		writeWeights(t, filepath.Join(dir, fmt.Sprintf("model-0000%d-of-00002.safetensors", i+1)), parts[i], data)
	}
	text, err := json.Marshal(map[string]any{"weight_map": files})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o666))
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
}

// A spoiled checkpoint is refused by name, and no file appears.
func TestSpoiledCheckpoints(t *testing.T) {
	const norm = "talker.model.norm.weight"
	edit := func(change func(h header, data []byte)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			h, data := readWeights(t, dir)
			change(h, data)
			writeWeights(t, filepath.Join(dir, "model.safetensors"), h, data)
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, name))) }
	}
	replace := func(file, old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			require.Contains(t, string(data), old)
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(string(data), old, new, 1)), 0o666))
		}
	}
	for want, spoil := range map[string]func(*testing.T, string){
		norm + ": missing, needed for talker.output_norm.weight": edit(func(h header, _ []byte) { delete(h, norm) }),
		"talker.lora: surplus, no part of this model":            edit(func(h header, _ []byte) { h["talker.lora"] = h[norm]; delete(h, norm) }),
		norm + ": shape [64 2], but [128] expected": edit(func(h header, _ []byte) {
			x := h[norm]
			x.Shape = []int64{64, 2}
			h[norm] = x
		}),
		norm + ": dtype I16 is not supported, only F32, F16 and BF16": edit(func(h header, _ []byte) {
			x := h[norm]
			x.Dtype = "I16"
			h[norm] = x
		}),
		"talker.output_norm.weight: element 3 is NaN": edit(func(h header, data []byte) {
			at := h[norm].Offsets[0] + 6
			data[at], data[at+1] = 0xc0, 0x7f
		}),
		"config.json: missing in":                                           remove("config.json"),
		"generation_config.json: missing in":                                remove("generation_config.json"),
		"vocab.json: missing in":                                            remove("vocab.json"),
		"merges.txt: missing in":                                            remove("merges.txt"),
		"tokenizer_config.json: missing in":                                 remove("tokenizer_config.json"),
		"model.safetensors: missing in":                                     remove("model.safetensors"),
		`generation_config.json: top_k: an integer expected, but it is "x"`: replace("generation_config.json", `"top_k": 50`, `"top_k": "x"`),
		"generation_config.json: top_p occurs twice":                        replace("generation_config.json", `"top_k": 50`, `"top_p": 1`),
		"config.json: tts_pad_token_id: the tokenizer has no token 2600":    replace("config.json", `"tts_pad_token_id": 2593`, `"tts_pad_token_id": 2600`),
		"talker_config.num_hidden_layers: missing":                          replace("config.json", `"num_hidden_layers": 3`, `"layers": 3`),
		"talker.model.layers.3.input_layernorm.weight: missing":             replace("config.json", `"num_hidden_layers": 3`, `"num_hidden_layers": 4`),
		"talker.model.layers.2.input_layernorm.weight: surplus":             replace("config.json", `"num_hidden_layers": 3`, `"num_hidden_layers": 2`),
	} {
		t.Run(want, func(t *testing.T) {
			dir := copyTiny(t, "tiny-customvoice-06")
			spoil(t, dir)
			dst := filepath.Join(t.TempDir(), "x.gguf")
			err := convert.Convert(convert.Options{Src: dir, Type: "Q8_0", WriteOptions: convert.WriteOptions{Dst: dst}})
			assert.ErrorIs(t, err, convert.ErrInput)
			assert.ErrorContains(t, err, want)
			left, err := os.ReadDir(filepath.Dir(dst))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// Sampling defaults that are absent, or null, are left to the engine.
func TestSparseGenerationConfig(t *testing.T) {
	dir := copyTiny(t, "tiny-customvoice-06")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(`{"top_k": null, "subtalker_do_sample": false}`), 0o666))
	dst := filepath.Join(dir, "x.gguf")
	require.NoError(t, convert.Convert(convert.Options{Src: dir, Type: "F32", WriteOptions: convert.WriteOptions{Dst: dst}}))
	f, err := gguf.Open(dst)
	require.NoError(t, err)
	defer f.Close()
	var keys []string
	for _, key := range f.Keys() {
		if strings.HasPrefix(key, "generation.") {
			keys = append(keys, key)
		}
	}
	assert.Equal(t, []string{"generation.subtalker_do_sample"}, keys)
}

func TestOptionErrors(t *testing.T) {
	src := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-06")
	err := convert.Convert(convert.Options{Src: src, Type: "Q4_K", WriteOptions: convert.WriteOptions{Dst: filepath.Join(t.TempDir(), "x")}})
	assert.ErrorIs(t, err, convert.ErrRequest)
	assert.ErrorContains(t, err, "convert: type Q4_K is not one of F32, BF16, F16, Q8_0, ")
	err = convert.Convert(convert.Options{Src: src, Type: "F32", WriteOptions: convert.WriteOptions{Dst: filepath.Join(t.TempDir(), "none", "x")}})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NotErrorIs(t, err, convert.ErrInput)
	err = convert.Convert(convert.Options{Src: filepath.Dir(src), Type: "F32", WriteOptions: convert.WriteOptions{Dst: filepath.Join(t.TempDir(), "x")}})
	assert.ErrorIs(t, err, convert.ErrInput)
}

// Python's gguf package must read the same tensors and values. QWEN_PYTHON names the interpreter that has it.
func TestPythonReadsTheFiles(t *testing.T) {
	python := os.Getenv("QWEN_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import gguf").CombinedOutput(); err != nil {
		t.Skipf("%s with the gguf package is needed (pip install gguf; QWEN_PYTHON): %v: %s", python, err, out)
	}
	var expected []map[string]any
	for _, name := range golden.Models() {
		exact := convertTiny(t, name, gguf.F32)
		for _, typ := range types {
			path := filepath.Join(t.TempDir(), "model.gguf")
			require.NoError(t, convert.Convert(convert.Options{Src: filepath.Join(golden.Checkpoints(t), name), Type: typ.String(), WriteOptions: convert.WriteOptions{Dst: path}}))
			expected = append(expected, expect(t, path, exact))
		}
	}
	list := filepath.Join(t.TempDir(), "expected.json")
	text, err := json.Marshal(expected)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, text, 0o666))
	out, err := exec.Command(python, "testdata/check_gguf.py", list).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// expect describes a file for check_gguf.py, which wants tensors in the order of the file.
func expect(t *testing.T, path string, exact *gguf.File) map[string]any {
	f, err := gguf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	const sample = 640
	var tensors strings.Builder
	for i, info := range f.Tensors() {
		values := floats(t, f, info.Name)
		entry := map[string]any{"type": info.Type.String(), "shape": info.Shape, "values": values[:min(sample, len(values))]}
		if info.Type == gguf.Q8_0 {
			entry["source"] = floats(t, exact, info.Name)[:min(sample, len(values))]
		}
		text, err := json.Marshal(entry)
		require.NoError(t, err)
		if i > 0 {
			_, _ = io.WriteString(&tensors, ",")
		}
		fmt.Fprintf(&tensors, "%q:%s", info.Name, text)
	}
	return map[string]any{"file": path, "keys": readKeys(t, f), "tensors": json.RawMessage("{" + tensors.String() + "}")}
}

// readKeys are all metadata values that JSON can hold.
func readKeys(t *testing.T, f *gguf.File) map[string]any {
	keys := map[string]any{}
	for _, key := range f.Keys() {
		v, _ := f.Value(key)
		var value any
		var err error
		switch {
		case v.Type == gguf.Array && v.Elem == gguf.String:
			value, err = f.Strings(key)
		case v.Type == gguf.Array:
			value, err = f.Ints(key)
		case v.Type == gguf.String:
			value, err = f.String(key)
		case v.Type == gguf.Bool:
			value, err = f.Bool(key)
		case v.Type == gguf.Float32:
			value, err = f.Float32(key)
		default:
			value, err = f.Int(key)
		}
		require.NoError(t, err, key)
		keys[key] = value
	}
	return keys
}
