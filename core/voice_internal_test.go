package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMonotonousReferences(t *testing.T) {
	codes := func(n, variety int) [][]int32 {
		out := make([][]int32, n)
		for i := range out {
			out[i] = []int32{int32(i % variety), int32(i)}
		}
		return out
	}
	assert.True(t, monotonous(codes(20, 1)))
	assert.True(t, monotonous(codes(20, 2)))
	assert.False(t, monotonous(codes(20, 5)))
	assert.False(t, monotonous(codes(5, 1)), "too short to tell")
	assert.False(t, monotonous(nil))
}
