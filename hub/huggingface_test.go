package hub_test

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/hubtest"
)

// huggingface runs testdata/hf.py with the library that `make hub-test` installs; the test is skipped without it.
func (s server) huggingface(t *testing.T, cache string, offline string, args ...string) *exec.Cmd {
	t.Helper()
	library := os.Getenv("QWEN_HF_LIBRARY")
	if library == "" {
		t.Skip("QWEN_HF_LIBRARY is not set: `make hub-test` runs this")
	}
	cmd := exec.Command("python3", append([]string{filepath.Join("testdata", "hf.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_DISABLE_PROGRESS_BARS=1", "HF_HUB_DISABLE_TELEMETRY=1",
		"HF_ENDPOINT="+s.URL, "HF_HOME="+cache+"-home", "HF_HUB_CACHE="+cache, "HF_HUB_OFFLINE="+offline)
	cmd.Stderr = os.Stderr
	return cmd
}

func lines(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestHuggingFaceTakesOurs: what we have fetched is complete to huggingface_hub, without a connection and with one.
func TestHuggingFaceTakesOurs(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	probe := s.huggingface(t, dir, "1", "download", large, small)
	snap, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large, small)
	require.NoError(t, err)
	assert.Equal(t, []string{snap.Path(large), snap.Path(small)}, lines(t, probe))
	assert.Equal(t, []string{
		"someone/Qwen3-TTS-GGUF " + hubtest.Commit + " ['main'] README.md 9",
		"someone/Qwen3-TTS-GGUF " + hubtest.Commit + " ['main'] " + large + " 300000",
	}, lines(t, s.huggingface(t, dir, "1", "scan")))
	before := s.Count("GET cdn /blob/" + large)
	assert.Equal(t, []string{snap.Dir}, lines(t, s.huggingface(t, dir, "0", "snapshot")))
	assert.Equal(t, before, s.Count("GET cdn /blob/"+large), "fetched again")
	for name := range s.Files {
		s.holds(t, snap, name)
	}
}

// TestWeTakeHuggingFaces: what huggingface_hub has fetched is complete to us.
func TestWeTakeHuggingFaces(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	paths := lines(t, s.huggingface(t, dir, "0", "download", large, small))
	before := len(s.Requests())
	snap, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large, small)
	require.NoError(t, err)
	assert.Equal(t, paths, []string{snap.Path(large), snap.Path(small)})
	assert.Len(t, s.Requests(), before+1, "more than the listing was asked for")
	snap, err = pull(t, s.client(t, func(c *hub.Config) { c.CacheDir, c.Offline = dir, true }), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
}

// TestWaitsForHuggingFace: its locks are ours.
func TestWaitsForHuggingFace(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	cmd := s.huggingface(t, dir, "0", "lock", hubtest.ETag(large, s.Files[large]))
	hold, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)

	told, tell := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := pull(t, s.client(t, func(c *hub.Config) {
			c.CacheDir, c.Logger = dir, slog.New(slog.NewTextHandler(tell, nil))
		}), large)
		done <- err
	}()
	line, err = bufio.NewReader(told).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "another process is fetching it")
	assert.Zero(t, s.Count("GET cdn"))
	require.NoError(t, hold.Close())
	require.NoError(t, cmd.Wait())
	require.NoError(t, <-done)
	assert.Equal(t, 1, s.Count("GET cdn"))
}
