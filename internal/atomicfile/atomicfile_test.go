package atomicfile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

func write(t *testing.T, f *File, data string) {
	t.Helper()
	_, err := io.WriteString(f.Writer(), data)
	require.NoError(t, err)
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "声音.wav")
	f, err := Create(path)
	require.NoError(t, err)
	defer f.Discard()
	assert.True(t, f.Seekable())
	write(t, f, "audio")
	assert.NoFileExists(t, path, "before Commit")
	require.NoError(t, f.Commit())
	f.Discard()
	assert.Equal(t, []string{"声音.wav"}, names(t, dir))
	assert.Equal(t, "audio", content(t, path))
}

// TestLongNames: a name that the file system allows is one that can be written, whatever is added to it meanwhile.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("a", 251) + ".wav", strings.Repeat("声", 83) + ".wav"} {
		require.NoError(t, Write(filepath.Join(dir, name), []byte("audio")))
		assert.Equal(t, "audio", content(t, filepath.Join(dir, name)))
	}
	assert.Len(t, names(t, dir), 2)
}

func TestDiscardLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	f, err := Create(path)
	require.NoError(t, err)
	write(t, f, "half")
	f.Discard()
	f.Discard()
	assert.Equal(t, []string{"out.wav"}, names(t, dir))
	assert.Equal(t, "before", content(t, path), "what was there stays")
}

func TestReplacesAndKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	link := filepath.Join(dir, "link.wav")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Write(link, []byte("after")))

	assert.Equal(t, "after", content(t, path), "the file behind the link")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still one")
	info, err = os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestDevicesAreWrittenDirectly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/null")
	}
	f, err := Create(os.DevNull)
	require.NoError(t, err)
	assert.False(t, f.Seekable())
	_, seeks := f.Writer().(io.Seeker)
	assert.False(t, seeks)
	write(t, f, "audio")
	require.NoError(t, f.Commit())
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular(), "the device is not replaced by a file")
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "out.wav")} {
		err := Write(path, nil)
		assert.ErrorContains(t, err, path+":", "the name that was asked for")
		assert.ErrorAs(t, err, new(*fs.PathError))
	}
	assert.Empty(t, names(t, dir))
}
