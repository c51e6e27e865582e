package gguf

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTypes(t *testing.T) {
	known := 0
	for typ := range Type(1000) {
		if !typ.Known() {
			continue
		}
		known++
		got, err := ParseType(typ.String())
		require.NoError(t, err)
		assert.Equal(t, typ, got)
		for _, at := range layouts[typ].scales {
			assert.Less(t, at+1, typ.BlockBytes(), "%v: scale in the block", typ)
		}
	}
	assert.Equal(t, 33, known)

	got, err := ParseType("q8_0")
	require.NoError(t, err)
	assert.Equal(t, Q8_0, got)
	for _, name := range []string{"", "F31", "type 4"} {
		_, err := ParseType(name)
		assert.Error(t, err, name)
	}
	assert.Equal(t, "type 4", Type(4).String())
}

// The bits per weight are the published ones.
func TestBitsPerWeight(t *testing.T) {
	for typ, want := range map[Type]float64{
		F32: 32, F16: 16, BF16: 16, Q4_0: 4.5, Q4_1: 5, Q5_0: 5.5, Q5_1: 6, Q8_0: 8.5, Q8_1: 9,
		Q2_K: 2.625, Q3_K: 3.4375, Q4_K: 4.5, Q5_K: 5.5, Q6_K: 6.5625, IQ2_XXS: 2.0625, IQ2_XS: 2.3125, IQ2_S: 2.5625,
		IQ3_XXS: 3.0625, IQ3_S: 3.4375, IQ1_S: 1.5625, IQ1_M: 1.75, IQ4_NL: 4.5, IQ4_XS: 4.25,
		TQ1_0: 1.6875, TQ2_0: 2.0625, MXFP4: 4.25, NVFP4: 4.5,
	} {
		assert.Equal(t, want, 8*float64(typ.BlockBytes())/float64(typ.BlockSize()), "%v", typ)
	}
}

func TestRowBytes(t *testing.T) {
	n, err := Q8_0.RowBytes(64)
	require.NoError(t, err)
	assert.EqualValues(t, 68, n)
	for _, c := range []struct {
		typ  Type
		n    int64
		want string
	}{
		{Q8_0, 33, "row length 33 is not a multiple of Q8_0's block of 32"},
		{F32, -1, "negative"},
		{F32, math.MaxInt64, "overflows"},
		{Type(31), 32, "unknown tensor type 31"},
	} {
		_, err := c.typ.RowBytes(c.n)
		assert.ErrorContains(t, err, c.want)
	}
}
