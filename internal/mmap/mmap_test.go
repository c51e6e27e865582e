package mmap_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

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

// TestCheck: a file that shrinks or is written to while it is mapped is found out; one that is replaced by another is not,
// since the mapping stays what it was.
func TestCheck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mapped files cannot be changed there")
	}
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, make([]byte, 10000), 0o666))
	f, err := os.Open(path)
	require.NoError(t, err)
	m, err := mmap.Map(f, 10000)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	check := func(modified bool, wrong error) {
		t.Helper()
		got, err := m.Check()
		assert.Equal(t, modified, got)
		assert.ErrorIs(t, err, wrong)
	}
	check(false, nil)
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	check(true, nil)
	require.NoError(t, os.Truncate(path, 9999))
	check(true, mmap.ErrShrunk)
	require.NoError(t, m.Close())
	check(false, nil)

	require.NoError(t, os.WriteFile(path, make([]byte, 10000), 0o666))
	f, err = os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err = mmap.Map(f, 10000)
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, os.WriteFile(path+"2", nil, 0o666))
	require.NoError(t, os.Rename(path+"2", path))
	check(false, nil)
}
