package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheOneNotUsedForLongestIsForgotten(t *testing.T) {
	c := newLRU[string, int](10)
	c.put("a", 1, 4)
	c.put("b", 2, 4)
	_, ok := c.get("a")
	assert.True(t, ok)
	c.put("c", 3, 4)
	_, ok = c.get("b")
	assert.False(t, ok, "a was used since")
	v, _ := c.get("a")
	assert.Equal(t, 1, v)
	c.put("a", 9, 1)
	v, _ = c.get("a")
	assert.Equal(t, 9, v)
	assert.Equal(t, 5, c.total)
	c.put("d", 4, 11)
	_, ok = c.get("d")
	assert.False(t, ok, "it would not fit")
	assert.Equal(t, 5, c.total)
}
