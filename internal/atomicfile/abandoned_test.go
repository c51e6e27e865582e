//go:build linux || darwin

package atomicfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/testenv"
)

// TestMain is also a process that is killed while it writes.
func TestMain(m *testing.M) {
	if path := os.Getenv("ATOMICFILE_DIE_WRITING"); path != "" {
		f, err := atomicfile.Create(path)
		if err == nil {
			_, err = f.Writer().Write([]byte("half"))
		}
		if err != nil {
			os.Exit(1)
		}
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	os.Exit(m.Run())
}

// dieWriting leaves what a process leaves that is killed while it writes path.
func dieWriting(t *testing.T, path string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "ATOMICFILE_DIE_WRITING="+path)
	require.ErrorContains(t, cmd.Run(), "killed")
}

// TestWhatWasAbandonedGoes: kills leave one file at most, and none once the file has been written.
func TestWhatWasAbandonedGoes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("long", 40)+".wav")
	for range 3 {
		dieWriting(t, path)
		assert.Len(t, testenv.Names(t, dir), 1)
	}
	require.NoError(t, atomicfile.Write(path, []byte("audio")))
	assert.Equal(t, []string{filepath.Base(path)}, testenv.Names(t, dir))
	assert.Equal(t, "audio", testenv.Content(t, path))
}

// TestTheLivingAreLeftAlone: two that write the same file do not know of each other, and the last to finish counts.
func TestTheLivingAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	one, err := atomicfile.Create(path)
	require.NoError(t, err)
	two, err := atomicfile.Create(path)
	require.NoError(t, err)
	_, err = atomicfile.CreateAlone(path)
	require.ErrorIs(t, err, atomicfile.ErrTaken)
	write(t, one, "one")
	write(t, two, "two")
	require.NoError(t, one.Commit())
	assert.Equal(t, "one", testenv.Content(t, path))
	require.NoError(t, two.Commit())
	assert.Equal(t, "two", testenv.Content(t, path))
	assert.Len(t, testenv.Names(t, dir), 1)

	three, err := atomicfile.CreateAlone(path)
	require.NoError(t, err)
	three.Discard()
	dieWriting(t, path)
	three, err = atomicfile.CreateAlone(path)
	require.NoError(t, err)
	three.Discard()
	assert.Equal(t, []string{"out.wav"}, testenv.Names(t, dir))
}

// TestManyWriteTheSame: each content is that of one of them at any moment, and nobody fails.
func TestManyWriteTheSame(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("0", 5000)), 0o666))
	var all sync.WaitGroup
	for i := range 8 {
		content := []byte(strings.Repeat(string(rune('1'+i)), 5000))
		all.Go(func() {
			for range 100 {
				assert.NoError(t, atomicfile.Write(path, content))
				seen, err := os.ReadFile(path)
				assert.NoError(t, err)
				assert.Equal(t, strings.Repeat(string(seen[:1]), 5000), string(seen))
			}
		})
	}
	all.Wait()
	assert.Equal(t, []string{"out.wav"}, testenv.Names(t, dir))
}

// TestALinkInPlaceOfThePartialFile is not followed: what it names is neither written to nor removed.
func TestALinkInPlaceOfThePartialFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("precious"), 0o666))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, ".out.wav.partial")))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "out.wav"), []byte("audio")))
	assert.Equal(t, "precious", testenv.Content(t, other))
	assert.Equal(t, "audio", testenv.Content(t, filepath.Join(dir, "out.wav")))
}

// TestLinksToNothing: the file that a link names is made, not put in the link's place.
func TestLinksToNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777))
	require.NoError(t, os.Symlink("a/b", filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("second.wav", filepath.Join(dir, "first.wav")))
	require.NoError(t, os.Symlink("folder/../third.wav", filepath.Join(dir, "second.wav")))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "first.wav"), []byte("audio")))
	assert.Equal(t, "audio", testenv.Content(t, filepath.Join(dir, "a", "third.wav")))
	assert.Equal(t, "audio", testenv.Content(t, filepath.Join(dir, "first.wav")))

	loop := filepath.Join(dir, "loop.wav")
	require.NoError(t, os.Symlink("loop.wav", loop))
	require.Error(t, atomicfile.Write(loop, nil))
}
