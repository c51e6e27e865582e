package codec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/stretchr/testify/require"
)

// BenchmarkEncode measures a full-size encoder with random weights, which bench/make_fullsize.py writes to
// .bench/qwen-tokenizer-12hz-Q8_0.gguf:
//
//	go test ./core/codec -run - -bench Encode
func BenchmarkEncode(b *testing.B) {
	path := filepath.Join(testenv.Root(b), ".bench", "qwen-tokenizer-12hz-Q8_0.gguf")
	if _, err := os.Stat(path); err != nil {
		b.Skip("no full-size file: see bench/README.md")
	}
	for _, threads := range []int{1, 2} {
		e, err := loadEncoder(b, path, threads)
		require.NoError(b, err)
		for _, c := range []struct{ seconds, frames int }{{10, 1}, {10, 4}, {10, 8}, {10, 16}, {10, 32}, {60, encodeFrames}} {
			name := fmt.Sprintf("threads=%d/seconds=%d/frames=%d", threads, c.seconds, c.frames)
			b.Run(name, func(b *testing.B) { benchmarkEncode(b, e, c.seconds, c.frames) })
		}
	}
}

func benchmarkEncode(b *testing.B, e *Encoder, seconds, frames int) {
	pcm := noise(seconds * SampleRate)
	var peak uint64
	for b.Loop() {
		var err error
		_, peak, err = e.encode(context.Background(), pcm, frames, nil)
		require.NoError(b, err)
	}
	_, copied := e.Bytes()
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*seconds), "ms/s")
	b.ReportMetric(float64(peak)/(1<<20), "MiB")
	b.ReportMetric(float64(copied)/(1<<20), "weights-MiB")
}
