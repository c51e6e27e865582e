package ggml_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
)

func noise(n int) []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// TestQuantizeAndBack: normal noise comes back with the error that the type's bits allow.
func TestQuantizeAndBack(t *testing.T) {
	require.NoError(t, ggml.Load(testenv.GGMLDir(t)))
	const row = 512
	x := noise(8 * row)
	for typ, most := range map[gguf.Type]float64{ // of the error, relative to the deviation
		gguf.F32: 0, gguf.F16: .0005, gguf.BF16: .004, gguf.Q8_0: .01, gguf.Q6_K: .025, gguf.Q5_K: .05, gguf.Q5_1: .055, gguf.Q5_0: .06,
		gguf.Q4_K: .1, gguf.Q4_1: .11, gguf.Q4_0: .12, gguf.IQ4_NL: .1, gguf.IQ4_XS: .1, gguf.Q3_K: .2, gguf.Q2_K: .4,
	} {
		data := make([]byte, len(x)/typ.BlockSize()*typ.BlockBytes())
		require.NoError(t, ggml.Quantize(typ, data, x, row), typ)
		assert.Equal(t, -1, typ.FirstNonFinite(data), typ)
		got := make([]float32, len(x))
		require.NoError(t, ggml.Dequantize(typ, got, data), typ)
		sum := 0.
		for i := range x {
			d := float64(got[i]) - float64(x[i])
			sum += d * d
		}
		rms := math.Sqrt(sum / float64(len(x)))
		assert.LessOrEqual(t, rms, most, typ)
		assert.GreaterOrEqual(t, rms, most/4, typ)

		piece := make([]byte, len(data)/8)
		require.NoError(t, ggml.Quantize(typ, piece, x[3*row:4*row], row))
		assert.Equal(t, data[3*len(piece):4*len(piece)], piece, "%v: rows do not depend on each other", typ)
	}
}

func TestQuantizeRefuses(t *testing.T) {
	require.NoError(t, ggml.Load(testenv.GGMLDir(t)))
	x := noise(512)
	for _, c := range []struct {
		err  error
		want string
	}{
		{ggml.Quantize(gguf.Q4_K, make([]byte, 288), x[:500], 500), "not a multiple of Q4_K's block of 256"},
		{ggml.Quantize(gguf.Q4_K, make([]byte, 287), x, 512), "512 values in rows of 512 into 287 bytes"},
		{ggml.Quantize(gguf.Q4_K, make([]byte, 288), x, 0), "in rows of 0"},
		{ggml.Quantize(gguf.Q8_K, make([]byte, 584), x, 512), "Q8_K cannot be written"},
		{ggml.Quantize(gguf.IQ2_XXS, make([]byte, 132), x, 512), "IQ2_XXS cannot be written"},
		{ggml.Quantize(gguf.Type(99), nil, x, 512), "unknown tensor type 99"},
		{ggml.Dequantize(gguf.Q4_K, x, make([]byte, 287)), "287 bytes of Q4_K for 512 values"},
		{ggml.Dequantize(gguf.Q4_K, x[:100], make([]byte, 144)), "144 bytes of Q4_K for 100 values"},
		{ggml.Dequantize(gguf.I32, x, make([]byte, 2048)), "I32 cannot be widened"},
	} {
		assert.ErrorContains(t, c.err, c.want)
	}
	assert.NoError(t, ggml.Quantize(gguf.Q4_K, nil, nil, 256))
}
