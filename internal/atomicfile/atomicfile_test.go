package atomicfile_test

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

	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/testenv"
)

func write(t *testing.T, f *atomicfile.File, data string) {
	t.Helper()
	_, err := io.WriteString(f.Writer(), data)
	require.NoError(t, err)
}

func TestAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "声音.wav")
	f, err := atomicfile.Create(path)
	require.NoError(t, err)
	defer f.Discard()
	assert.True(t, f.Seekable())
	write(t, f, "audio")
	assert.NoFileExists(t, path, "before Commit")
	require.NoError(t, f.Commit())
	f.Discard()
	assert.Equal(t, []string{"声音.wav"}, testenv.Names(t, dir))
	assert.Equal(t, "audio", testenv.Content(t, path))
}

// TestLongNames: a name that the file system allows is one that can be written, whatever is added to it meanwhile.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("a", 251) + ".wav", strings.Repeat("声", 83) + ".wav"} {
		require.NoError(t, atomicfile.Write(filepath.Join(dir, name), []byte("audio")))
		assert.Equal(t, "audio", testenv.Content(t, filepath.Join(dir, name)))
	}
	assert.Len(t, testenv.Names(t, dir), 2)
}

func TestDiscardLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	f, err := atomicfile.Create(path)
	require.NoError(t, err)
	write(t, f, "half")
	f.Discard()
	f.Discard()
	assert.Equal(t, []string{"out.wav"}, testenv.Names(t, dir))
	assert.Equal(t, "before", testenv.Content(t, path), "what was there stays")
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
	require.NoError(t, atomicfile.Write(link, []byte("after")))

	assert.Equal(t, "after", testenv.Content(t, path), "the file behind the link")
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
	f, err := atomicfile.Create(os.DevNull)
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
		err := atomicfile.Write(path, nil)
		assert.ErrorContains(t, err, path+":", "the name that was asked for")
		assert.ErrorAs(t, err, new(*fs.PathError))
	}
	assert.Empty(t, testenv.Names(t, dir))
}
