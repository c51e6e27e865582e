package audio

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDecodeWAV reads ten seconds of each format that is written.
func BenchmarkDecodeWAV(b *testing.B) {
	for _, format := range []Format{WAV16, WAV24, WAV32} {
		var file bytes.Buffer
		w, err := NewWriter(&file, format, 24000)
		require.NoError(b, err)
		require.NoError(b, w.Write(make([]float32, 240000)))
		require.NoError(b, w.Close())
		b.Run(format.String(), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeWAV(file.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
