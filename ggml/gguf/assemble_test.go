package gguf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAssemble(t *testing.T) {
	one, two := []byte("0123456789abcdef"), make([]byte, 8)
	made, closed := 0, 0
	f, err := Assemble(Parts{
		Metadata: []Entry{{"general.architecture", "x"}, {"list", []int32{1, 2}}},
		Tensors: []Piece{
			{TensorInfo: TensorInfo{Name: "a", Type: F16, Shape: []int64{2, 2}, Offset: 2}},
			{TensorInfo: TensorInfo{Name: "b", Type: F32, Shape: []int64{2}}, Mapping: 1},
			{TensorInfo: TensorInfo{Name: "c", Type: F32, Shape: []int64{1}}, Make: func() []byte { made++; return []byte("made") }},
		},
		Mappings: [][]byte{one, two},
		Close:    func() error { closed++; return nil },
	})
	require.NoError(t, err)
	ids, err := f.Ints("list")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, ids)
	assert.Equal(t, []string{"general.architecture", "list"}, f.Keys())
	assert.Equal(t, "23456789", string(f.Data(f.Tensor("a"))))
	assert.Equal(t, int64(8), f.Tensor("a").Size)
	assert.Equal(t, 8+8+4, f.Size())
	assert.True(t, f.AllZero(f.Tensor("b")))
	mapping, at, ok := f.Place(f.Tensor("a"))
	assert.Equal(t, []any{0, uint64(2), true}, []any{mapping, at, ok})
	mapping, _, ok = f.Place(f.Tensor("b"))
	assert.Equal(t, []any{1, true}, []any{mapping, ok})
	_, _, ok = f.Place(f.Tensor("c"))
	assert.False(t, ok)

	assert.Equal(t, "made", string(f.Data(f.Tensor("c"))))
	assert.Equal(t, "made", string(f.Data(f.Tensor("c"))))
	assert.Equal(t, 1, made, "kept")
	f.Release(f.Tensor("c"))
	assert.Equal(t, "made", string(f.Data(f.Tensor("c"))))
	assert.Equal(t, 2, made, "and made again")

	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	assert.Equal(t, 1, closed)
}

func TestAssembleRefuses(t *testing.T) {
	piece := func(name string, typ Type, offset int64, shape ...int64) Piece {
		return Piece{TensorInfo: TensorInfo{Name: name, Type: typ, Shape: shape, Offset: offset}}
	}
	for want, p := range map[string]Parts{
		"metadata key k occurs twice":                 {Metadata: []Entry{{"k", "v"}, {"k", "v"}}},
		"metadata k: complex128 has no":               {Metadata: []Entry{{"k", 1i}}},
		"a: tensor occurs twice":                      {Tensors: []Piece{piece("a", F32, 0, 2), piece("a", F32, 0, 2)}},
		"a: 12 bytes of data at byte 0 of 8":          {Tensors: []Piece{piece("a", F32, 0, 3)}},
		"a: 8 bytes of data at byte 4 of 8":           {Tensors: []Piece{piece("a", F32, 4, 2)}},
		"a: 8 bytes of data at byte -4 of 8":          {Tensors: []Piece{piece("a", F32, -4, 2)}},
		"a: shape [2 x 0] is not":                     {Tensors: []Piece{piece("a", F32, 0, 2, 0)}},
		"a: shape [1 x 1 x 1 x 1 x 1] is not":         {Tensors: []Piece{piece("a", F32, 0, 1, 1, 1, 1, 1)}},
		"a: row length 3 is not a multiple of Q8_0's": {Tensors: []Piece{piece("a", Q8_0, 0, 3)}},
	} {
		p.Mappings = [][]byte{make([]byte, 8)}
		_, err := Assemble(p)
		assert.ErrorContains(t, err, want)
	}
}
