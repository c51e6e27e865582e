package codec

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEncoderRefusals(t *testing.T) {
	const key = "codec: metadata qwen3-tts-tokenizer."
	for name, c := range map[string]struct {
		spoil func(*rig)
		want  string
	}{
		"a talker": {
			func(r *rig) { r.values["general.architecture"] = "qwen3-tts" },
			`codec: general.architecture is "qwen3-tts", want "qwen3-tts-tokenizer": this file is not a speech tokenizer`,
		},
		"no architecture": {func(r *rig) { delete(r.values, "general.architecture") }, "codec: metadata general.architecture: missing"},
		"only a decoder":  {func(r *rig) { r.drop("tok_enc.") }, "codec: tok_enc.*: missing: this speech tokenizer can only decode"},
		"key missing":     {func(r *rig) { r.unset("encoder.num_hidden_layers") }, key + "encoder.num_hidden_layers: missing"},
		"another rate":    {func(r *rig) { r.set("input_sample_rate", uint32(16000)) }, key + "input_sample_rate: 16000 is not 24000"},
		"tiny hop":        {func(r *rig) { r.set("encode_downsample_rate", uint32(2)) }, key + "encode_downsample_rate: 2 is not within 240..65536"},
		"hop": {
			func(r *rig) { r.set("encode_downsample_rate", uint32(960)) },
			"codec: encode_downsample_rate is 960, but SEANet strides [4 5 6 8] and downsampling by 2 make 1920",
		},
		"huge count":   {func(r *rig) { r.set("encoder_valid_num_quantizers", uint32(1<<31)) }, key + "encoder_valid_num_quantizers: 2147483648 is not within 1..1024"},
		"huge filters": {func(r *rig) { r.set("encoder.num_filters", uint32(1<<20)) }, key + "encoder.num_filters: 1048576 is not within 1..1024"},
		"all semantic": {func(r *rig) { r.set("encoder.num_semantic_quantizers", uint32(16)) }, key + "encoder.num_semantic_quantizers: 16 of 16 quantizers"},
		"no strides":   {func(r *rig) { r.set("encoder.upsampling_ratios", []int32{}) }, key + "encoder.upsampling_ratios: none"},
		"zero stride":  {func(r *rig) { r.set("encoder.upsampling_ratios", []int32{8, 0}) }, key + "encoder.upsampling_ratios[1]: 0 is not within 1..65536"},
		"many strides": {func(r *rig) { r.set("encoder.upsampling_ratios", make([]int32, 99)) }, key + "encoder.upsampling_ratios: 99 stages"},
		"compression":  {func(r *rig) { r.set("encoder.compress", uint32(3)) }, key + "encoder.compress: 8 channels cannot be divided by 3"},
		"heads": {
			func(r *rig) { r.set("encoder.num_key_value_heads", uint32(3)) },
			key + "encoder.*: attention heads 2, key-value heads 3, head_dim 32 do not fit together",
		},
		"no head": {
			func(r *rig) { r.unset("encoder.head_dim"); r.set("encoder.num_attention_heads", uint32(1000)) },
			key + "encoder.*: attention heads 1000, key-value heads 2, head_dim 0 do not fit together",
		},
		"dilations": {
			func(r *rig) {
				r.set("encoder.num_residual_layers", uint32(16))
				r.set("encoder.dilation_growth_rate", uint32(16))
			},
			key + "encoder.dilation_growth_rate: 16 is too much for 16 units",
		},
		"epsilon":       {func(r *rig) { r.set("encoder.norm_eps", float32(-1)) }, key + "encoder.norm_eps: -1 is not positive"},
		"layer missing": {func(r *rig) { r.set("encoder.num_hidden_layers", uint32(3)) }, "codec: tok_enc.blk.2.attn_norm.weight: missing"},
		"layer surplus": {func(r *rig) { r.set("encoder.num_hidden_layers", uint32(1)) }, "codec: tok_enc.blk.1."},
		"unit missing":  {func(r *rig) { r.set("encoder.num_residual_layers", uint32(2)) }, "codec: tok_enc.res.2.blk.1.weight: missing"},
		"codebooks":     {func(r *rig) { r.set("encoder_valid_num_quantizers", uint32(12)) }, "codec: tok_enc.vq_acoustic.11.codebook: surplus"},
		"surplus":       {func(r *rig) { r.add("tok_enc.extra.weight", []float32{1, 2}, 2) }, "codec: tok_enc.extra.weight: surplus"},
		"surplus bias":  {func(r *rig) { r.add("tok_enc.blk.0.attn_q.bias", make([]float32, 64), 64) }, "codec: tok_enc.blk.0.attn_q.bias: surplus"},
		"odd kernel": {
			func(r *rig) {
				r.drop("tok_enc.downsample.weight")
				r.add("tok_enc.downsample.weight", make([]float32, 3*64*64), 3, 64, 64)
			},
			"codec: tok_enc.downsample.weight: a kernel of 3 is not twice a stride",
		},
		"bias of another width": {
			func(r *rig) { r.add("tok_enc.downsample.bias", []float32{1, 2}, 2) },
			"codec: tok_enc.downsample.bias: shape [2], want [64]",
		},
		"integers": {
			func(r *rig) { r.tensor("tok_enc.blk.0.attn_q.weight").Type = gguf.I32 },
			"codec: tok_enc.blk.0.attn_q.weight: type I32",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.spoil(r)
			_, err := loadEncoder(t, r.write(t), 1)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

// TestEveryEncoderTensorIsChecked: whichever tensor is missing, misshapen, not finite or empty, the error names it.
func TestEveryEncoderTensorIsChecked(t *testing.T) {
	r := newRig(t)
	r.drop("tok_dec.")
	original, err := os.ReadFile(r.write(t))
	require.NoError(t, err)
	aligned := make([]byte, len(original)+os.Getpagesize())
	aligned = aligned[-uintptr(unsafe.Pointer(&aligned[0]))&uintptr(os.Getpagesize()-1):][:len(original)]
	be := testenv.CPU(t, 1)
	for _, x := range r.tensors {
		entry := bytes.Index(original, []byte(x.Name)) + len(x.Name) // its description: count and sizes of the dimensions
		refused := func(want string, spoil func(file []byte)) {
			copy(aligned, original)
			spoil(aligned)
			f, err := gguf.Parse(aligned)
			require.NoError(t, err)
			cfg, err := ReadEncoderConfig(f)
			if err == nil {
				_, err = LoadEncoder(be, f, cfg)
			}
			require.Error(t, err, "%s: %s", x.Name, want)
			assert.Contains(t, err.Error(), "codec: "+x.Name+": "+want)
		}
		if !strings.Contains(x.Name, "output_proj") { // which files may leave out
			refused("missing", func(file []byte) { file[entry-1] = '_' })
		}
		if last := len(x.Shape) - 1; x.Shape[last] > 1 {
			refused("shape ", func(file []byte) { binary.LittleEndian.PutUint64(file[entry+4+8*last:], uint64(x.Shape[last]-1)) })
		}
		place := len(original) - len(x.data) - r.behind(x)
		refused("", func(file []byte) { copy(file[place:], []byte{0, 0, 0xc0, 0x7f}) }) // not a number
		if len(x.Shape) > 1 && x.Shape[1] > 1 {
			refused("all zero", func(file []byte) { clear(file[place:][:len(x.data)]) })
		}
	}
}

// TestEncoderFewerKeys: what other writers leave out of the metadata is found in the tensors, and what encoding does not
// need may be missing.
func TestEncoderFewerKeys(t *testing.T) {
	pcm := golden.PCM(t, "sweep")
	whole := tinyEncoder(t, 1, "F32")
	want := encodeIn(t, whole, pcm, encodeFrames)
	r := newRig(t)
	for _, key := range []string{"codebook_size", "codebook_dim", "vector_quantization_hidden_dim", "num_semantic_quantizers", "num_quantizers",
		"kernel_size", "last_kernel_size", "residual_kernel_size", "num_residual_layers", "dilation_growth_rate", "compress",
		"num_key_value_heads", "head_dim", "norm_eps", "rope_theta", "layer_scale_initial_scale"} {
		require.Contains(t, r.values, Architecture+".encoder."+key)
		r.unset("encoder." + key)
	}
	r.unset("input_sample_rate")
	r.drop("tok_dec.")
	e, err := loadEncoder(t, r.write(t), 1)
	require.NoError(t, err)
	assert.Equal(t, whole.Config(), e.Config())
	assert.Equal(t, want, encodeIn(t, e, pcm, encodeFrames))

	r.drop("tok_enc.vq_semantic.output_proj.")
	r.drop("tok_enc.vq_acoustic.output_proj.")
	r.add("tok_enc.downsample.bias", make([]float32, 64), 64)
	e, err = loadEncoder(t, r.write(t), 1)
	require.NoError(t, err)
	assert.Equal(t, want, encodeIn(t, e, pcm, encodeFrames))
}
