package mmap_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/mmap"
)

func TestMap(t *testing.T) {
	data := make([]byte, 5*os.Getpagesize()+100)
	for i := range data {
		data[i] = byte(i % 251)
	}
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	f, err := os.Open(path)
	require.NoError(t, err)
	m, err := mmap.Map(f, len(data))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, data, m.Data)
	for _, part := range [][]byte{m.Data, m.Data[1:], m.Data[3:9], m.Data[:0], m.Data[len(data)-1:]} {
		mmap.Release(part)
	}
	assert.Equal(t, data, m.Data, "what was released comes back")
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	assert.Nil(t, m.Data)
}
