package core_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// Tests on another device than the CPU: `make test-vulkan` names one.

// on places models and codec.
func on(device string) func(*core.Options) { return func(o *core.Options) { o.Device = device } }

// named is the device that the tests are for; without one they are skipped.
func named(t *testing.T) string {
	testenv.Device(t).Close()
	return os.Getenv(testenv.EnvDevice)
}

// deviceSNR is how close the samples of the same codes must be to the CPU's, dB. Devices may round factors to F16.
const deviceSNR = 45

func TestDevicePlacementsSpeakAlike(t *testing.T) {
	device := named(t)
	r := sampled(4) // without a near tie, which rounding may decide otherwise
	r.MaxFrames = 4
	want, _, err := speak(engine(t, custom, on("cpu")), r)
	require.NoError(t, err)
	for _, where := range []string{device, device + "/cpu", "cpu/" + device} {
		e := engine(t, custom, on(where))
		got, _, err := speak(e, r)
		require.NoError(t, err, where)
		require.Len(t, got, len(want), where)
		snr := golden.SNR(got, want)
		assert.Greater(t, snr, float64(deviceSNR), where)
		t.Logf("%s: %.1f dB\n%s", where, snr, e.Describe())
	}
	plain := engine(t, custom, on(device), func(o *core.Options) { o.NoFlashAttention = true })
	assert.Contains(t, plain.Describe(), "flash attention off")
	got, _, err := speak(plain, r)
	require.NoError(t, err)
	assert.Greater(t, golden.SNR(got, want), float64(deviceSNR), "without flash attention")
}

// TestDeviceStreamEqualsTheWhole: on one device the same codes come, and nearly the same samples: wide graphs and narrow
// ones may use kernels that round differently.
func TestDeviceStreamEqualsTheWhole(t *testing.T) {
	e := engine(t, custom, on(named(t)))
	r := sampled(4)
	r.MaxFrames = 4
	whole, _, err := speak(e, r)
	require.NoError(t, err)
	r.Stream = true
	streamed, res, err := speak(e, r)
	require.NoError(t, err)
	assert.Equal(t, 4, res.Frames)
	snr := golden.SNR(streamed, whole)
	assert.Greater(t, snr, float64(deviceSNR))
	t.Logf("%.1f dB", snr)
}

// TestDeviceSpeechEnds: the end of the speech is seen in a frame that was computed whole, where the CPU sees it.
func TestDeviceSpeechEnds(t *testing.T) {
	device := named(t)
	const eos = 614
	ends := func(where string) (int, core.Finish) {
		e := rigged(t, "talker.codec_head.weight", scaled(-1e4, func(row int) bool { return row == eos }), on(where))
		r := sampled(2)
		r.MaxFrames = 5
		_, res, err := speak(e, r)
		require.NoError(t, err)
		return res.Frames, res.Finish
	}
	frames, finish := ends("cpu")
	require.Equal(t, core.FinishStop, finish)
	got, finish := ends(device + "/cpu")
	assert.Equal(t, core.FinishStop, finish)
	assert.Equal(t, frames, got)
}

func TestDevicesThatWorkAreListed(t *testing.T) {
	device := named(t)
	all, err := core.Devices(testenv.GGMLDir(t))
	require.NoError(t, err)
	require.Greater(t, len(all), 1)
	for _, d := range all {
		assert.Equal(t, "works", d.Verdict(), d.Name)
		assert.Positive(t, d.MemoryTotal, d.Name)
	}
	info, err := core.SystemInfo(testenv.GGMLDir(t))
	require.NoError(t, err)
	assert.Contains(t, info, fmt.Sprintf("device: %s", all[1].Name), device)
}
