package codec

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/stretchr/testify/require"
)

// BenchmarkDecode measures a full-size decoder with random weights, which bench/make_fullsize.py writes to
// .bench/qwen-tokenizer-12hz-Q8_0.gguf, with ggml's operations, with our kernels, and with those that round to BF16:
//
//	go test ./core/codec -run - -bench Decode
func BenchmarkDecode(b *testing.B) {
	f, cfg := fullSizeFile(b)
	for _, threads := range []int{1, 2} {
		for _, c := range []struct {
			name    string
			level   kernels.Level
			rounded bool
		}{{"ggml", kernels.None, false}, {"kernels", kernels.Best(), false}, {"bf16", kernels.Best(), true}} {
			cfg.Kernels, cfg.Rounded = c.level, c.rounded
			d, err := loadConfig(b, testenv.CPU(b, threads), f, cfg)
			require.NoError(b, err)
			for _, width := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("%s/threads=%d/width=%d", c.name, threads, width), func(b *testing.B) { benchmarkDecode(b, d, width) })
			}
		}
	}
}

// BenchmarkPrime measures what ten seconds of reference cost.
func BenchmarkPrime(b *testing.B) {
	f, cfg := fullSizeFile(b)
	d, err := loadConfig(b, testenv.CPU(b, 1), f, cfg)
	require.NoError(b, err)
	s := newStream(b, d, 0)
	codes := randomCodes(d, 125, 1)
	for b.Loop() {
		s.Reset()
		require.NoError(b, s.Prime(codes))
	}
}

// BenchmarkLoad measures the loading of a file that the system has cached.
func BenchmarkLoad(b *testing.B) {
	f, cfg := fullSizeFile(b)
	be := testenv.CPU(b, 1)
	for b.Loop() {
		d, err := LoadDecoder(be, f, cfg)
		require.NoError(b, err)
		d.Free()
	}
}

func fullSizeFile(b *testing.B) (*gguf.File, Config) {
	b.Helper()
	path := filepath.Join(testenv.Root(b), ".bench", "qwen-tokenizer-12hz-Q8_0.gguf")
	if _, err := os.Stat(path); err != nil {
		b.Skip("no full-size file: see bench/README.md")
	}
	f, err := gguf.Open(path)
	require.NoError(b, err)
	b.Cleanup(func() { f.Close() })
	cfg, err := ReadConfig(f)
	require.NoError(b, err)
	return f, cfg
}

func benchmarkDecode(b *testing.B, d *Decoder, width int) {
	s, err := d.NewStream(width)
	require.NoError(b, err)
	defer s.Close()
	codes := randomCodes(d, width, 1)
	pcm := make([]float32, width*d.Hop())
	require.NoError(b, s.Decode(codes, pcm))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.Decode(codes, pcm))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*width), "ms/frame")
	b.ReportMetric(float64(s.Bytes())/(1<<20), "MiB")
}

// randomCodes are frames of uniformly distributed codes.
func randomCodes(d *Decoder, frames int, seed uint64) [][]int32 {
	r := rand.New(rand.NewPCG(seed, 0))
	codes := make([][]int32, frames)
	for t := range codes {
		codes[t] = make([]int32, d.Codebooks())
		for k := range codes[t] {
			codes[t][k] = r.Int32N(int32(d.CodebookSize()))
		}
	}
	return codes
}
