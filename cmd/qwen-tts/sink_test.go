package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func write(t *testing.T, s *sink, data string) {
	t.Helper()
	_, err := s.writer().Write([]byte(data))
	require.NoError(t, err)
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestSinkAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "声音.wav")
	s, err := openSink(path)
	require.NoError(t, err)
	defer s.discard()
	assert.True(t, s.seekable())
	write(t, s, "audio")
	assert.NoFileExists(t, path, "before commit")
	require.NoError(t, s.commit())
	s.discard()
	assert.Equal(t, []string{"声音.wav"}, names(t, dir))
	assert.Equal(t, "audio", content(t, path))
}

func TestSinkDiscardedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	s, err := openSink(path)
	require.NoError(t, err)
	write(t, s, "half")
	s.discard()
	assert.Equal(t, []string{"out.wav"}, names(t, dir))
	assert.Equal(t, "before", content(t, path), "what was there stays")
}

func TestSinkReplacesAndKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	link := filepath.Join(dir, "link.wav")
	require.NoError(t, os.Symlink(path, link))
	s, err := openSink(link)
	require.NoError(t, err)
	write(t, s, "after")
	require.NoError(t, s.commit())

	assert.Equal(t, "after", content(t, path), "the file behind the link")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still one")
	info, err = os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestSinkWritesToDevicesDirectly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/null")
	}
	s, err := openSink(os.DevNull)
	require.NoError(t, err)
	assert.False(t, s.seekable())
	write(t, s, "audio")
	require.NoError(t, s.commit())
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular(), "the device is not replaced by a file")
}

func TestSinkRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "out.wav")} {
		_, err := openSink(path)
		require.Error(t, err)
		assert.Contains(t, err.Error(), dir)
		assert.Equal(t, exitIO, exitCode(context.Background(), err))
	}
	assert.Empty(t, names(t, dir))
}
