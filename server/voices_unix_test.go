//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
)

// A pipe or device among the voices is not waited for.
func TestPipesAmongVoices(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.qvoice"), 0o666))
	require.NoError(t, os.Symlink(filepath.Join(dir, "pipe.qvoice"), filepath.Join(dir, "link.qvoice")))
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(dir, "device.qvoice")))
	var log testenv.Buffer
	r := start(t, &fake{kind: "base"}, func(o *server.Options) { o.VoicesDir, o.Logger = dir, textLog(&log) })
	assert.Empty(t, r.voices())
	for _, name := range []string{"pipe", "link", "device"} {
		assert.Contains(t, log.String(), "file="+name+".qvoice error=\"it is no file\"")
	}
}
