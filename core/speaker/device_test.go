package speaker

import (
	"testing"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/require"
)

// TestDeviceEqualsTheCPU runs on another device than the CPU: `make test-vulkan` names one.
func TestDeviceEqualsTheCPU(t *testing.T) {
	be := testenv.Device(t)
	e, err := load(t, be, golden.GGUF(t, "tiny-base-17", "F32"))
	require.NoError(t, err)
	pcm := golden.PCM(t, "speech")[:12000]
	want := inspect(t, tiny(t, 1, "tiny-base-17", "F32"), pcm)
	for name, got := range inspect(t, e, pcm) {
		golden.Check(t, "gpu/"+name, got.values, want[name].values)
	}
}
