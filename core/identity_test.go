package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// identity opens a talker and a codec of certain types.
func identity(t *testing.T, talker, codec string) core.Identity {
	t.Helper()
	c, err := core.OpenCodec(core.Options{TalkerPath: talker, CodecPath: codec, Threads: 1, GGMLDir: testenv.GGMLDir(t)})
	require.NoError(t, err)
	defer c.Close()
	return c.Identity()
}

func TestIdentityDoesNotDependOnThePrecision(t *testing.T) {
	codec := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	id := identity(t, golden.GGUF(t, base, "F32"), codec)
	assert.Equal(t, "Qwen3-TTS-12Hz-1.7B-Base", id.Name)
	assert.Equal(t, "1.7b", id.Size)
	assert.Equal(t, 256, id.Width)
	assert.Equal(t, 16, id.Codebooks)
	assert.Equal(t, 512, id.CodebookSize)
	assert.NotZero(t, id.Speaker)
	assert.NotZero(t, id.Codec)
	for _, typ := range []string{"BF16", "F16", "Q8_0"} {
		assert.Equal(t, id, identity(t, golden.GGUF(t, base, typ), golden.GGUF(t, "tiny-tokenizer-12hz", typ)), typ)
	}
	assert.Equal(t, id, shared(t, base).Identity(), "of the engine")

	small := identity(t, golden.GGUF(t, "tiny-base-06", "F32"), codec)
	assert.NotEqual(t, id.Speaker, small.Speaker)
	assert.Equal(t, id.Codec, small.Codec)
}

func TestIdentityFollowsTheWeights(t *testing.T) {
	talker, codec := golden.GGUF(t, base, "F32"), golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	id := identity(t, talker, codec)
	negated := func(path, name string) string {
		return golden.Rigged(t, path, golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
			if ti.Name == name {
				for i := 3; i < len(data); i += 4 {
					data[i] ^= 0x80 // the sign
				}
			}
			return true
		}})
	}
	for _, name := range []string{"spk_enc.fc.weight", "spk_enc.conv0.bias"} {
		changed := identity(t, negated(talker, name), codec)
		assert.NotEqual(t, id.Speaker, changed.Speaker, name)
		assert.Equal(t, id.Codec, changed.Codec)
	}
	changed := identity(t, talker, negated(codec, "tok_dec.vq_rest.14.codebook"))
	assert.Equal(t, id.Speaker, changed.Speaker)
	assert.NotEqual(t, id.Codec, changed.Codec)
	assert.Equal(t, id, identity(t, negated(talker, "talker.output_norm.weight"), codec), "other parts may be tuned")
}

func TestIdentityOfParts(t *testing.T) {
	id := openCodec(t, "").Identity()
	assert.Zero(t, id.Width)
	assert.Zero(t, id.Speaker)
	assert.NotZero(t, id.Codec)
	assert.Equal(t, 16, id.Codebooks)

	e := engine(t, custom)
	id = e.Identity()
	assert.Equal(t, 256, id.Width)
	assert.Zero(t, id.Speaker, "no speaker encoder")
	require.NoError(t, e.Close())
	assert.Zero(t, e.Identity())
}
