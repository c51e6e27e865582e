package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMemoryFile(t *testing.T) {
	var m memoryFile
	io.WriteString(&m, "head")
	io.WriteString(&m, "body")
	at, err := m.Seek(1, io.SeekStart)
	require.NoError(t, err)
	assert.EqualValues(t, 1, at)
	io.WriteString(&m, "EA")
	at, err = m.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	assert.EqualValues(t, 3, at)
	_, err = m.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	io.WriteString(&m, "!")
	_, err = m.Seek(-2, io.SeekEnd)
	require.NoError(t, err)
	io.WriteString(&m, "Y?.")
	assert.Equal(t, "hEAdbodY?.", string(m.data))
	_, err = m.Seek(-1, io.SeekStart)
	assert.Error(t, err)
	_, err = m.Seek(1, io.SeekEnd)
	assert.Error(t, err)
}
