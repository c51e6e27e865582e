package checkpoint

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// pieceOf is a weight of a checkpoint with the given tensors.
func pieceOf(t *testing.T, w weight, tensors ...tensor) (gguf.Piece, error) {
	c, err := checkpointOf(t, map[string][]byte{weightsFile: pack(t, tensors...)})
	require.NoError(t, err)
	return c.piece(w)
}

func TestCodebooksAreMeans(t *testing.T) {
	sums, usage := f32("sum", []float32{1, 2, 3, 4, 5e-5, 6}, 3, 2), f32("usage", []float32{2, 3, 0}, 3)
	p, err := pieceOf(t, weight{name: "book", src: "sum", usage: "usage", shape: []int64{3, 2}}, sums, usage)
	require.NoError(t, err)
	assert.Equal(t, gguf.F32, p.Type)
	assert.Equal(t, []int64{2, 3}, p.Shape)
	values := make([]float32, 6)
	half.DecodeF32(values, p.Make())
	third, least := float32(3), float32(1e-5)
	assert.Equal(t, []float32{0.5, 1, 1, 4 / third, 5e-5 / least, 6 / least}, values)
	assert.Equal(t, p.Make(), p.Make(), "it can be made again")
}

func TestPieces(t *testing.T) {
	c, err := checkpointOf(t, map[string][]byte{weightsFile: pack(t, f32("a", make([]float32, 6), 2, 3), tensor{"b", "BF16", []int64{2}, []byte{1, 2, 3, 4}})})
	require.NoError(t, err)
	p, err := c.piece(weight{name: "x", src: "b", shape: []int64{2}})
	require.NoError(t, err)
	assert.Equal(t, gguf.BF16, p.Type)
	assert.Nil(t, p.Make)
	assert.Equal(t, []byte{1, 2, 3, 4}, c.files[p.Mapping].mapping.Data[p.Offset:][:4])
	p, err = c.piece(weight{name: "x", src: "a", shape: []int64{2, 3}})
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 2}, p.Shape, "ggml's order")
}

func TestPieceRefusals(t *testing.T) {
	_, err := pieceOf(t, weight{src: "w", shape: []int64{1}}, tensor{"w", "I64", []int64{1}, make([]byte, 8)})
	assert.ErrorIs(t, err, ErrInput)
	assert.ErrorContains(t, err, "w: dtype I64 is not supported, only F32, F16 and BF16")
	book := weight{src: "w", usage: "u", shape: []int64{1, 1}}
	_, err = pieceOf(t, book, f32("w", []float32{1}, 1, 1), f32("u", []float32{float32(math.NaN())}, 1))
	assert.ErrorIs(t, err, ErrInput)
	assert.ErrorContains(t, err, "u: element 0 is NaN")
	_, err = pieceOf(t, book, f32("w", []float32{1}, 1, 1), tensor{"u", "I64", []int64{1}, make([]byte, 8)})
	assert.ErrorContains(t, err, "u: dtype I64 is not supported")
}

func TestIs(t *testing.T) {
	dir := t.TempDir()
	assert.False(t, Is(dir))
	assert.False(t, Is(filepath.Join(dir, "none")))
	_, err := checkpointOf(t, nil)
	assert.Error(t, err)
}
