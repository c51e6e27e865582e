package audio

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func needSonic(t *testing.T) {
	t.Helper()
	if _, err := libsonic(); err != nil {
		t.Skipf("not tested: %v", err)
	}
}

// atSpeed passes samples through a stage, in parts of that many.
func atSpeed(t *testing.T, x []float32, speed float64, part int) []float32 {
	t.Helper()
	var out []float32
	s, err := NewSpeed(24000, speed, func(y []float32) error { out = append(out, y...); return nil })
	require.NoError(t, err)
	for p := range slices.Chunk(x, part) {
		require.NoError(t, s.Write(p))
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.ErrorContains(t, s.Write(x), "after close")
	s.Discard()
	return out
}

// tone is a voice-like sound of that fundamental, Hz.
func tone(hz float64, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		for h := 1.0; h <= 5; h++ {
			x[i] += float32(0.15 / h * math.Sin(2*math.Pi*hz*h*float64(i)/24000))
		}
	}
	return x
}

// period finds the fundamental near hz by autocorrelation.
func period(x []float32, hz float64) float64 {
	best, lag := math.Inf(-1), 0
	middle := x[len(x)/4 : len(x)/2]
	for d := int(24000 / hz / 1.6); d <= int(24000/hz*1.6); d++ {
		sum := 0.0
		for i := range middle[:len(middle)-d] {
			sum += float64(middle[i]) * float64(middle[i+d])
		}
		if sum > best {
			best, lag = sum, d
		}
	}
	return 24000 / float64(lag)
}

func TestSpeedChangesLengthAndNotPitch(t *testing.T) {
	needSonic(t)
	const hz = 150
	x := tone(hz, 72000)
	for _, speed := range []float64{0.25, 0.5, 0.8, 1.25, 2, 3, 4} {
		y := atSpeed(t, x, speed, 1920)
		assert.InDelta(t, Scaled(len(x), speed), len(y), 0.01*float64(Scaled(len(x), speed))+200, "%v", speed)
		assert.InDelta(t, hz, period(y, hz), 3, "%v", speed)
		assert.InDelta(t, rms(x), rms(y), 0.1*rms(x), "%v", speed)
	}
}

// TestSpeedStreams: what comes does not depend on the parts that go in, and comes soon.
func TestSpeedStreams(t *testing.T) {
	needSonic(t)
	x := speech(t)[:48000]
	got, went := 0, 0
	s, err := NewSpeed(24000, 1.5, func(y []float32) error { got += len(y); return nil })
	require.NoError(t, err)
	for p := range slices.Chunk(x, 1920) {
		require.NoError(t, s.Write(p))
		went += len(p)
		assert.GreaterOrEqual(t, got, Scaled(went-3*960, 1.5), "at most some 100 ms behind")
	}
	s.Discard()
	n := len(atSpeed(t, x, 1.5, len(x)))
	assert.InDelta(t, n, len(atSpeed(t, x, 1.5, 1000)), 0.02*float64(n))
}

func TestSpeedOneIsExact(t *testing.T) {
	x := []float32{0.1, 2, -3}
	assert.Equal(t, x, atSpeed(t, x, 1, 2))
}

func TestSpeedRange(t *testing.T) {
	for _, speed := range []float64{0, -1, 0.2499, 4.001, math.NaN(), math.Inf(1)} {
		assert.ErrorContains(t, CheckSpeed(speed), "is not in 0.25..4")
		_, err := NewSpeed(24000, speed, nil)
		assert.Error(t, err)
	}
	assert.NoError(t, CheckSpeed(1))
}

func TestSpeedFails(t *testing.T) {
	needSonic(t)
	_, err := NewSpeed(5, 2, nil)
	assert.ErrorContains(t, err, "5 Hz")
	broken := errors.New("broken pipe")
	s, err := NewSpeed(24000, 2, func([]float32) error { return broken })
	require.NoError(t, err)
	defer s.Discard()
	assert.ErrorIs(t, s.Write(tone(150, 24000)), broken)
	assert.ErrorIs(t, s.Close(), broken)
}

// TestSpeedLimits: loud samples saturate, they do not wrap around.
func TestSpeedLimits(t *testing.T) {
	needSonic(t)
	x := make([]float32, 24000)
	for i := range x {
		x[i] = 1.5
	}
	x[0], x[1] = nan, inf
	y := atSpeed(t, x, 2, 1920)
	for _, v := range y[100 : len(y)-2000] {
		require.Greater(t, v, float32(0.99))
	}
}

func TestWithoutSonic(t *testing.T) {
	if os.Getenv("QWEN_TEST_WITHOUT_SONIC") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWithoutSonic$")
		cmd.Env = append(os.Environ(), "QWEN_TEST_WITHOUT_SONIC=1", SonicEnv+"="+filepath.Join(t.TempDir(), "none.so"))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
		return
	}
	err := CheckSpeed(1.5)
	assert.ErrorIs(t, err, ErrNoLibrary)
	assert.ErrorContains(t, err, "speed 1.5: it needs libsonic, which was not found: "+SonicEnv)
	assert.NoError(t, CheckSpeed(1))
	assert.Contains(t, howToInstall("libsonic", "sonic.dll"), "sonic")
}
