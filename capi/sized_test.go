//go:build cgo

package main

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
)

// sizedStruct stands for any struct that starts with struct_size; laterStruct for the same one in a newer header.
type sizedStruct struct{ size, a, b int32 }

type laterStruct struct {
	sizedStruct
	c, d int32
}

func TestInitSizedWritesWhatTheCallerHas(t *testing.T) {
	defaults := sizedStruct{a: 1, b: 2}
	t.Run("same", func(t *testing.T) {
		var s sizedStruct
		require.NoError(t, initSized(&s, 12, defaults))
		assert.Equal(t, sizedStruct{12, 1, 2}, s)
	})
	t.Run("older caller", func(t *testing.T) {
		s := sizedStruct{b: 99}
		require.NoError(t, initSized(&s, 8, defaults))
		assert.Equal(t, sizedStruct{8, 1, 99}, s, "not a byte beyond")
	})
	t.Run("newer caller", func(t *testing.T) {
		s := laterStruct{c: 99, d: 99}
		require.NoError(t, initSized(&s.sizedStruct, 20, defaults))
		assert.Equal(t, laterStruct{sizedStruct{20, 1, 2}, 0, 0}, s)
	})
	t.Run("nonsense", func(t *testing.T) {
		s := sizedStruct{7, 7, 7}
		for _, size := range []uintptr{0, 3, maxStructSize + 1, ^uintptr(0)} {
			assert.ErrorIs(t, initSized(&s, size, defaults), core.ErrInvalid)
		}
		assert.Equal(t, sizedStruct{7, 7, 7}, s)
		assert.NoError(t, initSized(nil, 12, defaults))
	})
}

func TestCheckSized(t *testing.T) {
	const least = 8
	for _, size := range []int32{-1, 0, 4, 7, maxStructSize + 1} {
		err := checkSized("thing", &sizedStruct{size: size}, least)
		assert.ErrorIs(t, err, core.ErrInvalid)
		assert.ErrorContains(t, err, "thing.struct_size")
	}
	for _, size := range []int32{8, 12} {
		assert.NoError(t, checkSized("thing", &sizedStruct{size: size}, least))
	}
	newer := laterStruct{sizedStruct: sizedStruct{size: int32(unsafe.Sizeof(laterStruct{}))}}
	assert.NoError(t, checkSized("thing", &newer.sizedStruct, least), "unknown fields at rest")
	newer.d = 1
	assert.EqualError(t, checkSized("thing", &newer.sizedStruct, least),
		"thing: byte 16 is set, and this library knows 12: it needs a newer library")
}
