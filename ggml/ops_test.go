package ggml_test

import (
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
