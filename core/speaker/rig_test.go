package speaker

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edit changes one tensor.
func edit(name string, f func(x *gguf.TensorInfo, data []byte)) golden.Rig {
	return golden.Rig{Tensor: func(x *gguf.TensorInfo, data []byte) bool {
		if x.Name == name {
			f(x, data)
		}
		return true
	}}
}

// drop leaves out the tensors whose names start with start.
func drop(start string) golden.Rig {
	return golden.Rig{Tensor: func(x *gguf.TensorInfo, _ []byte) bool { return !strings.HasPrefix(x.Name, start) }}
}

func fill(data []byte, x float32) {
	for at := 0; at < len(data); at += 4 {
		binary.LittleEndian.PutUint32(data[at:], math.Float32bits(x))
	}
}

func TestAbsent(t *testing.T) {
	be := testenv.CPU(t, 1)
	base, custom := golden.GGUF(t, "tiny-base-06", "F32"), golden.GGUF(t, "tiny-customvoice-17", "F32")
	nameless := drop("spk_enc.")
	nameless.Set = map[string]any{"qwen3-tts.model_type": nil}
	for path, want := range map[string]string{
		custom: "it is a custom_voice model, only base models have one",
		golden.GGUF(t, "tiny-voicedesign-17", "F32"): "it is a voice_design model, only base models have one",
		golden.Rigged(t, base, drop("spk_enc.")):     "it is a base model, but the file lacks the tensors spk_enc.*",
		golden.Rigged(t, base, nameless):             "the file has no tensors spk_enc.*",
		golden.GGUF(t, "tiny-tokenizer-12hz", "F32"): "the file has no tensors spk_enc.*",
	} {
		_, err := load(t, be, path)
		assert.EqualError(t, err, "speaker: this model has no speaker encoder: "+want)
		assert.ErrorIs(t, err, ErrAbsent)
	}
}

func TestRefusals(t *testing.T) {
	const width = "qwen3-tts.spk_enc.embedding_length"
	for name, c := range map[string]struct {
		rig  golden.Rig
		want string
	}{
		"another width": {
			golden.Rig{Set: map[string]any{width: uint32(256)}},
			"metadata qwen3-tts.spk_enc.embedding_length: 256, but spk_enc.fc.weight makes vectors of 128",
		},
		"another talker": {
			golden.Rig{Set: map[string]any{"qwen3-tts.talker.embedding_length": uint32(64)}},
			"metadata qwen3-tts.talker.embedding_length: 64, but spk_enc.fc.weight makes vectors of 128",
		},
		"width of another type": {
			golden.Rig{Set: map[string]any{width: "wide"}},
			"metadata qwen3-tts.spk_enc.embedding_length: an integer expected",
		},
		"other mel bands": {
			edit("spk_enc.conv0.weight", func(x *gguf.TensorInfo, _ []byte) { x.Shape[0], x.Shape[1] = 10, 64 }),
			"spk_enc.conv0.weight: 64 mel bands, want 128",
		},
		"even parts": {
			edit("spk_enc.blk.1.res2net.0.weight", func(x *gguf.TensorInfo, _ []byte) { x.Shape[1], x.Shape[2] = 64, 1 }),
			"spk_enc.blk.1.res2net.0.weight: 64 channels do not split into parts of 64",
		},
		"uneven parts": {
			edit("spk_enc.blk.1.res2net.0.weight", func(x *gguf.TensorInfo, _ []byte) { x.Shape[0], x.Shape[1] = 2, 12 }),
			"spk_enc.blk.1.res2net.0.weight: 64 channels do not split into parts of 12",
		},
		"flat kernel": {
			edit("spk_enc.mfa.weight", func(x *gguf.TensorInfo, _ []byte) { x.Shape = x.Shape[1:] }),
			"spk_enc.mfa.weight: shape [192 x 192] is not that of this model",
		},
		"a wide kernel": {
			edit("spk_enc.conv0.weight", func(x *gguf.TensorInfo, _ []byte) { x.Shape[0], x.Shape[1] = 640, 1 }),
			"spk_enc.conv0.weight: shape [640 x 1 x 64] is not that of this model",
		},
		"a block too few":  {drop("spk_enc.blk.3."), "spk_enc.blk.3.res2net.0.weight: missing"},
		"a block too many": {golden.Rig{Add: map[string][]int64{"spk_enc.blk.4.tdnn1.bias": {64}}}, "spk_enc.blk.4.tdnn1.bias: surplus"},
		"a part too many":  {golden.Rig{Add: map[string][]int64{"spk_enc.blk.2.res2net.7.bias": {8}}}, "spk_enc.blk.2.res2net.7.bias: surplus"},
		"integers": {
			edit("spk_enc.mfa.weight", func(x *gguf.TensorInfo, _ []byte) { x.Type = gguf.I32 }),
			"spk_enc.mfa.weight: type I32 is not one of a weight",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, testenv.CPU(t, 1), golden.Rigged(t, golden.GGUF(t, "tiny-base-06", "F32"), c.rig))
			assert.ErrorContains(t, err, "speaker: "+c.want)
			assert.NotErrorIs(t, err, ErrAbsent)
		})
	}
}

// TestEveryTensorIsChecked: whichever tensor is missing, misshapen or not finite, the error names it.
func TestEveryTensorIsChecked(t *testing.T) {
	be := testenv.CPU(t, 1)
	src := golden.Rigged(t, golden.GGUF(t, "tiny-base-06", "F32"), golden.Rig{
		Tensor: func(x *gguf.TensorInfo, _ []byte) bool { return strings.HasPrefix(x.Name, "spk_enc.") },
	})
	_, err := load(t, be, src)
	require.NoError(t, err, "the encoder alone is enough")
	f, err := gguf.Open(src)
	require.NoError(t, err)
	defer f.Close()
	assert.Len(t, f.Tensors(), 76)
	for _, x := range f.Tensors() {
		for what, rig := range map[string]golden.Rig{
			"missing": drop(x.Name),
			"shape":   edit(x.Name, func(x *gguf.TensorInfo, _ []byte) { x.Shape = append([]int64{1}, x.Shape...) }),
			"element": edit(x.Name, func(_ *gguf.TensorInfo, data []byte) { fill(data[:4], float32(math.NaN())) }),
		} {
			_, err := load(t, be, golden.Rigged(t, src, rig))
			assert.ErrorContains(t, err, "speaker: "+x.Name+": ")
			assert.ErrorContains(t, err, what)
		}
	}
}

func TestAVectorThatIsNotFinite(t *testing.T) {
	path := golden.Rigged(t, golden.GGUF(t, "tiny-base-06", "F32"), edit("spk_enc.fc.weight", func(_ *gguf.TensorInfo, data []byte) {
		fill(data, math.MaxFloat32)
	}))
	e, err := load(t, testenv.CPU(t, 1), path)
	require.NoError(t, err)
	_, err = e.Embed(context.Background(), golden.PCM(t, "speech"))
	assert.EqualError(t, err, "speaker: the x-vector is not finite")
}
