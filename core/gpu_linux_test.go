package core

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMayHaveGPU(t *testing.T) {
	dev := t.TempDir()
	assert.False(t, mayHaveGPU(dev))
	require.NoError(t, os.Mkdir(filepath.Join(dev, "dri"), 0o777))
	assert.False(t, mayHaveGPU(dev), "a directory that no driver has put anything into")
	for _, name := range []string{"dri/renderD128", "nvidia0", "nvidiactl", "kfd", "dxg", "nvgpu"} {
		path := filepath.Join(dev, name)
		require.NoError(t, os.WriteFile(path, nil, 0o666))
		assert.True(t, mayHaveGPU(dev), name)
		require.NoError(t, os.Remove(path))
	}
	assert.False(t, mayHaveGPU(dev))
}
