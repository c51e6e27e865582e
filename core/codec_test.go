package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

func openCodec(t *testing.T, talker string) *core.Codec {
	t.Helper()
	opts := core.Options{CodecPath: golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), Threads: 1, GGMLDir: testenv.GGMLDir(t)}
	if talker != "" {
		opts.TalkerPath = golden.GGUF(t, talker, "F32")
	}
	c, err := core.OpenCodec(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestTheCodecAlone goes from audio to codes and back, and agrees with what an engine extracts.
func TestTheCodecAlone(t *testing.T) {
	ctx := context.Background()
	c := openCodec(t, base)
	pcm := clip(t, "speech")
	codes, err := c.Encode(ctx, pcm)
	require.NoError(t, err)
	x, err := c.Embed(ctx, pcm)
	require.NoError(t, err)
	v, err := shared(t, base).ExtractVoice(ctx, pcm)
	require.NoError(t, err)
	assert.Equal(t, &core.Voice{XVector: x, Codes: codes}, v)

	samples := 0
	require.NoError(t, c.Decode(ctx, codes, func(pcm []float32) error { samples += len(pcm); return nil }))
	assert.Equal(t, len(codes)*c.Hop(), samples)
}

func TestTheCodecRefuses(t *testing.T) {
	ctx := context.Background()
	c := openCodec(t, "")
	_, err := c.Embed(ctx, clip(t, "speech"))
	assert.ErrorIs(t, err, core.ErrMode, "no talker was given")
	_, err = c.Encode(ctx, make([]float32, 1919))
	assert.ErrorIs(t, err, core.ErrInvalid, "less than a frame")
	_, err = c.Encode(ctx, make([]float32, 5000))
	assert.NoError(t, err, "silence has codes")
	err = c.Decode(ctx, [][]int32{make([]int32, 15)}, nil)
	assert.ErrorIs(t, err, core.ErrInvalid)
	bad := make([]int32, c.Codebooks())
	bad[2] = int32(c.CodebookSize())
	assert.ErrorIs(t, c.Decode(ctx, [][]int32{bad}, nil), core.ErrInvalid)
	err = c.Decode(ctx, [][]int32{make([]int32, 16)}, func([]float32) error { return errStop })
	assert.ErrorIs(t, err, errStop)

	_, err = openCodec(t, custom).Embed(ctx, clip(t, "speech"))
	assert.ErrorIs(t, err, core.ErrMode, "no speaker encoder")
	_, err = core.OpenCodec(core.Options{})
	assert.ErrorIs(t, err, core.ErrInvalid)
}
