package ggml

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openCPU loads ggml as internal/testenv does, which this package's inner tests cannot import.
func openCPU(t *testing.T) *Backend {
	t.Helper()
	dir := os.Getenv(EnvDir)
	if dir == "" {
		dir = "../.ggml"
	}
	require.NoError(t, Load(dir))
	be, err := OpenCPU(1)
	require.NoError(t, err)
	t.Cleanup(be.Close)
	return be
}

func TestTrialsAreFiniteAndTellDevicesApart(t *testing.T) {
	cpu := openCPU(t)
	for _, s := range trials() {
		want, err := s.run(cpu)
		require.NoError(t, err, s.name)
		require.NoError(t, compare(want, want), s.name)

		wrong := make([]float32, len(want))
		assert.ErrorContains(t, compare(wrong, want), "off by", "%s: zeros", s.name)
		for i, x := range want {
			wrong[i] = x * float32(i%2)
		}
		assert.Error(t, compare(wrong, want), "%s: every other value is missing", s.name)
		wrong[3] = float32(math.NaN())
		assert.ErrorContains(t, compare(wrong, want), "value 3 is NaN", s.name)
	}
}

func TestTheCPUNeedsNoSelfTest(t *testing.T) { assert.NoError(t, openCPU(t).SelfTest()) }

func TestFindDevice(t *testing.T) {
	openCPU(t)
	for _, name := range []string{"CPU", "cpu", "cpu:0", "CPU0"} {
		d, err := FindDevice(name)
		require.NoError(t, err, name)
		assert.Equal(t, DeviceCPU, d.Type)
	}
	for _, name := range []string{"abacus", "cpu:9", "", "cuda:77"} {
		_, err := FindDevice(name)
		assert.ErrorContains(t, err, "no such device; ggml finds CPU", name)
	}
}
