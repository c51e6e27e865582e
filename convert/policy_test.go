package convert

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libqwen/libqwen/ggml/gguf"
)

func TestExemptTensors(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int64      // ggml's order
		want  [5]gguf.Type // in files of F32, F16, BF16, Q8_0 and Q4_K_M
	}{
		{"talker.blk.0.attn_q.weight", []int64{1024, 2048}, [5]gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q4_K}},
		{"talker.blk.0.attn_norm.weight", []int64{2048}, [5]gguf.Type{}},
		{"matrix", []int64{48, 32}, [5]gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.F16, gguf.F16}},
		{"a/b", []int64{32, 32}, [5]gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q5_0}},
		{"tok_dec.dec.0.conv.weight", []int64{7, 1024, 1536}, [5]gguf.Type{gguf.F32, gguf.F16, gguf.F16, gguf.F16, gguf.F16}},
		{"wide.kernel", []int64{256, 4, 4}, [5]gguf.Type{gguf.F32, gguf.F16, gguf.F16, gguf.F16, gguf.F16}},
		{"tok_enc.vq_semantic.0.codebook", []int64{256, 2048}, [5]gguf.Type{}},
		{"tok_dec.vq_rest.output_proj.weight", []int64{1, 256, 512}, [5]gguf.Type{}},
		{"spk_enc.fc.weight", []int64{1, 3072, 2048}, [5]gguf.Type{}},
		{"spk_enc.mfa.weight", []int64{1, 1536, 1536}, [5]gguf.Type{}},
		{"tok_dec.pre_tfm.blk.0.attn_scale", []int64{512}, [5]gguf.Type{}},
	} {
		for i, typ := range []string{"F32", "F16", "BF16", "Q8_0", "Q4_K_M"} {
			r, err := findRecipe(typ)
			assert.NoError(t, err)
			assert.Equal(t, c.want[i], r.choose(c.name, c.shape, 5, 28).typ, "%s in %s", c.name, typ)
		}
	}
}

// TestLayersThatAreWider: of 28 layers, the published talkers'.
func TestLayersThatAreWider(t *testing.T) {
	var wide []int
	for i := range 28 {
		if spread(i, 28) {
			wide = append(wide, i)
		}
	}
	assert.Equal(t, []int{0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27}, wide)
	assert.True(t, eighth(2, 28))
	assert.False(t, eighth(3, 28))
	assert.True(t, eighth(0, 3))
	stack, layer := layerOf("tok_dec.pre_tfm.blk.12.attn_v.weight")
	assert.Equal(t, "tok_dec.pre_tfm", stack)
	assert.Equal(t, 12, layer)
	for _, name := range []string{"talker.output_norm.weight", "talker.blk.x.attn_v.weight", "talker.blk.99999999999999999999.x", ""} {
		_, layer = layerOf(name)
		assert.Equal(t, -1, layer, name)
	}
}
