//go:build cgo

package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConstantStrings(t *testing.T) {
	c := constantStrings{text: new(constantTable)}
	failure := errors.New("not yet")
	_, err := c.get(0, func() (string, error) { return "", failure })
	require.ErrorIs(t, err, failure)

	first, err := c.get(0, func() (string, error) { return "text", nil })
	require.NoError(t, err)
	again, err := c.get(0, func() (string, error) { return "another", nil })
	require.NoError(t, err)
	assert.Same(t, first, again)
	other, err := c.get(1, func() (string, error) { return "text", nil })
	require.NoError(t, err)
	assert.NotSame(t, first, other)
	cFree(first)
	cFree(other)
}

func TestVersionString(t *testing.T) {
	v, err := versionString()
	require.NoError(t, err)
	assert.Regexp(t, `^\S+ \(\S+\)$`, v)
}
