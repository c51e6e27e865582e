package golden

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// PCM reads the samples of a golden clip: mono, 24 kHz, in [-1, 1].
func PCM(tb testing.TB, name string) []float32 {
	tb.Helper()
	raw, err := os.ReadFile(Path(tb, "audio", name+"_24k.wav"))
	require.NoError(tb, err)
	const header = 44
	require.Equal(tb, "data", string(raw[header-8:header-4]))
	pcm := make([]float32, (len(raw)-header)/2)
	for i := range pcm {
		pcm[i] = float32(int16(binary.LittleEndian.Uint16(raw[header+2*i:]))) / 32768
	}
	return pcm
}
