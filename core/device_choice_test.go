package core

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/testenv"
)

func TestPlacements(t *testing.T) {
	for device, want := range map[string]placement{
		"":                         {[]string{"auto"}, []string{"auto"}},
		"Auto":                     {[]string{"auto"}, []string{"auto"}},
		"CUDA:1":                   {[]string{"cuda:1"}, []string{"cuda:1"}},
		"cuda:0, vulkan:0,cpu":     {[]string{"cuda:0", "vulkan:0", "cpu"}, []string{"cuda:0", "vulkan:0", "cpu"}},
		"vulkan:0/cpu":             {[]string{"vulkan:0"}, []string{"cpu"}},
		"cpu/vulkan:1,vulkan:0":    {[]string{"cpu"}, []string{"vulkan:1", "vulkan:0"}},
		"/cpu":                     {[]string{"auto"}, []string{"cpu"}},
		"cuda:0,cpu/ cuda:0 , cpu": {[]string{"cuda:0", "cpu"}, []string{"cuda:0", "cpu"}},
	} {
		p, err := readPlacement(device)
		require.NoError(t, err, device)
		assert.Equal(t, want, p, device)
		assert.Equal(t, assert.ObjectsAreEqual(want.models, want.codec), p.together(), device)
	}
	for _, device := range []string{",", "cpu,", "cpu,,vulkan:0", "cpu/cpu,", "cpu/cpu/cpu,,"} {
		assert.ErrorIs(t, (&Options{Device: device}).checkDevice(), ErrInvalid, device)
	}
}

func TestTheEnvironmentNamesADevice(t *testing.T) {
	t.Setenv(EnvDevice, "cpu,")
	assert.ErrorIs(t, (&Options{}).checkDevice(), ErrInvalid)
	assert.NoError(t, (&Options{Device: "auto"}).checkDevice(), "the option comes first")
}

func choose(t *testing.T, candidates ...string) (be *ggml.Backend, said string, err error) {
	t.Helper()
	require.NoError(t, ggml.Load(testenv.GGMLDir(t)))
	var log bytes.Buffer
	be, err = chooser{slog.New(slog.NewTextHandler(&log, nil)), 1}.open(candidates)
	if err == nil {
		t.Cleanup(be.Close)
	}
	return be, log.String(), err
}

func TestADeviceThatIsNotThereIsRefused(t *testing.T) {
	_, _, err := choose(t, "abacus:7")
	assert.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, `device "abacus:7": no such device; ggml finds CPU`)
}

func TestTheNextDeviceIsTriedWithAWarning(t *testing.T) {
	be, said, err := choose(t, "abacus:7", "cpu")
	require.NoError(t, err)
	assert.Equal(t, ggml.DeviceCPU, be.Type)
	assert.Contains(t, said, "level=WARN")
	assert.Contains(t, said, "abacus:7")
	assert.Contains(t, said, "cpu is tried")
}

// TestAutoTakesNoSoftwareDevice: there may be a GPU here, but nothing that only looks like one.
func TestAutoTakesNoSoftwareDevice(t *testing.T) {
	be, said, err := choose(t, "auto")
	require.NoError(t, err)
	assert.False(t, be.Software())
	assert.Empty(t, said)
}

func TestModelsAndCodecShareADevice(t *testing.T) {
	require.NoError(t, ggml.Load(testenv.GGMLDir(t)))
	for device, threads := range map[string][2]int{"cpu": {2, 1}, "cpu/cpu": {2, 1}, "cpu/abacus,cpu": {2, 1}} {
		models, codec, err := openDevices(device, 3, slog.New(slog.DiscardHandler))
		require.NoError(t, err, device)
		assert.Equal(t, threads, [2]int{models.Threads(), codec.Threads()}, device)
		models.Close()
		codec.Close()
	}
	_, _, err := openDevices("cpu/abacus", 3, slog.New(slog.DiscardHandler))
	assert.ErrorIs(t, err, ErrInvalid)
}
