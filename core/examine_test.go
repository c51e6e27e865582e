package core_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestExamineSoundFiles: every tiny model, as a file and as a directory, would load, and is what it is.
func TestExamineSoundFiles(t *testing.T) {
	for _, name := range golden.Models() {
		for _, path := range []string{golden.GGUF(t, name, "Q8_0"), filepath.Join(golden.Checkpoints(t), name)} {
			e := core.Examine(path, true)
			assert.Empty(t, e.Problems, path)
			require.NotNil(t, e.Memory, path)
			assert.Positive(t, e.Memory.Mapped, path)
			assert.NotEmpty(t, e.Geometry)
			text, err := json.Marshal(e)
			require.NoError(t, err)
			assert.Contains(t, string(text), `"problems":[]`)
			if name == "tiny-tokenizer-12hz" {
				assert.Equal(t, "speech tokenizer", e.Kind)
				assert.Positive(t, e.Memory.State)
				assert.Positive(t, e.Memory.Encoders)
				continue
			}
			assert.Equal(t, "talker", e.Kind)
			assert.Equal(t, strings.Contains(name, "base"), e.Memory.Encoders > 0, path)
			assert.Equal(t, strings.Contains(name, "customvoice"), len(e.Speakers) > 0, path)
			assert.Equal(t, 32768, e.Memory.Contexts[len(e.Memory.Contexts)-1].Positions)
		}
	}
	e := core.Examine(filepath.Join(golden.Checkpoints(t), "tiny-base-17"), false)
	assert.Equal(t, []core.TypeCount{{Type: "BF16", Tensors: 172, Bytes: e.Bytes}}, e.Types)
	assert.Contains(t, e.Notes[0], "speech_tokenizer")
	e = core.Examine(golden.Rigged(t, golden.GGUF(t, "tiny-base-17", "F32"), golden.Rig{Tensor: func(ti *gguf.TensorInfo, _ []byte) bool {
		return !strings.HasPrefix(ti.Name, "spk_enc.")
	}}), false)
	assert.Empty(t, e.Problems)
	assert.Contains(t, e.Notes[0], "it cannot clone from recordings")
}

// TestExamineTellsAllProblems of a file, not only the first.
func TestExamineTellsAllProblems(t *testing.T) {
	drop := map[string]bool{"talker.blk.1.attn_k.weight": true, "code_pred.lm_head.3.weight": true, "talker.text_proj.fc1.bias": true}
	path := golden.Rigged(t, golden.GGUF(t, "tiny-base-17", "F32"), golden.Rig{
		Set: map[string]any{"generation.temperature": float32(-1), "qwen3-tts.codec.eos_id": "x", "qwen3-tts.text.im_end_id": nil},
		Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
			switch ti.Name {
			case "talker.blk.0.ffn_up.weight":
				transpose(ti, data)
			case "talker.codec_head.weight", "spk_enc.mfa.weight":
				nans(ti, data)
			case "talker.blk.2.attn_v.weight":
				zeros(ti, data)
			}
			return !drop[ti.Name]
		},
		Add: map[string][]int64{"talker.extra": {4}, "nothing": {4}},
	})
	want := []string{
		"qwen3-tts.codec.eos_id", "qwen3-tts.text.im_end_id", "generation.temperature", "talker.blk.1.attn_k.weight: missing",
		"code_pred.lm_head.3.weight: missing", "talker.text_proj.fc1.bias: missing", "talker.blk.0.ffn_up.weight: shape",
		"talker.codec_head.weight: element", "spk_enc.mfa.weight: element", "talker.blk.2.attn_v.weight: all zero",
		"talker.extra: surplus", "nothing: surplus",
	}
	e := core.Examine(path, true)
	all := strings.Join(e.Problems, "\n")
	for _, w := range want {
		assert.Contains(t, all, w)
	}
	assert.Len(t, e.Problems, len(want), all)
	assert.NotContains(t, strings.Join(core.Examine(path, false).Problems, "\n"), "element", "values were not looked at")

	path = golden.Rigged(t, golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), golden.Rig{
		Set: map[string]any{"qwen3-tts-tokenizer.encoder.num_filters": uint32(7)},
		Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
			return ti.Name != "tok_dec.dec.2.conv_t.weight" && ti.Name != "tok_dec.pre_tfm.norm.weight"
		},
		Add: map[string][]int64{"other": {4}},
	})
	all = strings.Join(core.Examine(path, true).Problems, "\n")
	for _, w := range []string{"tok_dec.dec.2.conv_t.weight: missing", "tok_dec.pre_tfm.norm.weight: missing", "7 channels", "other: surplus"} {
		assert.Contains(t, all, w)
	}
}
