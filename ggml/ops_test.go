package ggml_test

import (
	"math"
	"testing"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSumRows(t *testing.T) {
	be := testenv.CPU(t, 1)
	var x, rows, part ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, 3, 2)
		rows, part = b.Output("rows", x.SumRows()), b.Output("part", x.Slice(0, 1, 2).SumRows())
	})
	x.SetF32([]float32{1, 2, 3, 10, 20, 30})
	require.NoError(t, g.Compute())
	assert.Equal(t, []int{1, 2}, rows.Shape())
	assert.Equal(t, []float32{6, 60}, read(rows))
	assert.Equal(t, []float32{5, 50}, read(part))

	_, err := ggml.Build(be, 64, false, func(b *ggml.Builder) { b.Input("x", ggml.F32, 3, 2).Transpose().SumRows() })
	var shape *ggml.ShapeError
	assert.ErrorAs(t, err, &shape, "the elements of a row are not side by side")
}

// TestFlashAttention compares the operation with its steps: two heads of four channels share keys and values of three
// positions, of which the first query does not see the last.
func TestFlashAttention(t *testing.T) {
	be := testenv.CPU(t, 1)
	var q, k, v, mask, half, flash, steps ggml.Tensor
	g := build(t, be, func(b *ggml.Builder) {
		q, k, v = b.Input("q", ggml.F32, 4, 2, 2), b.Input("k", ggml.F32, 4, 3, 1), b.Input("v", ggml.F32, 4, 3, 1)
		mask, half = b.Input("mask", ggml.F32, 3, 2), b.Input("half", ggml.F16, 3, 2)
		flash = b.Output("flash", q.FlashAttention(k, v, half, .5))
		weights := q.MatMul(k).SoftMax(mask, .5)
		steps = b.Output("steps", weights.MatMul(v.Transpose().Cont()).Permute(0, 2, 1, 3).Cont())
	})
	q.SetF32([]float32{1, 2, -1, 0, .5, 1, 1, 1, -2, 1, 0, 3, 0, 0, 1, -1})
	k.SetF32([]float32{1, 0, 2, 1, -1, 1, 0, 1, 3, 1, 1, 0})
	v.SetF32([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	mask.SetF32([]float32{0, 0, float32(math.Inf(-1)), 0, 0, 0})
	half.SetBytes([]byte{0, 0, 0, 0, 0, 0xfc, 0, 0, 0, 0, 0, 0})
	require.NoError(t, g.Compute())
	assert.Equal(t, []int{4, 2, 2}, flash.Shape())
	assert.InDeltaSlice(t, read(steps), read(flash), 1e-4)

	_, err := ggml.Build(be, 64, false, func(b *ggml.Builder) { b.Use(q).FlashAttention(k, v, mask, .5) })
	var shape *ggml.ShapeError
	assert.ErrorAs(t, err, &shape, "a mask of F32")
	assert.False(t, be.Can(64, func(b *ggml.Builder) { b.Expand(b.Use(q).FlashAttention(k, b.Use(v).Transpose(), half, .5)) }))
}
