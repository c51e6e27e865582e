package codec

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiny is the decoder of the tiny speech tokenizer.
func tiny(t testing.TB, threads int, typ string) *Decoder {
	t.Helper()
	return tinyAt(t, threads, typ, kernels.Best())
}

// tinyAt is tiny with the kernels of a level.
func tinyAt(t testing.TB, threads int, typ string, level kernels.Level) *Decoder {
	t.Helper()
	d, err := loadAt(t, golden.GGUF(t, "tiny-tokenizer-12hz", typ), threads, level)
	require.NoError(t, err)
	return d
}

// load opens the decoder of a file until the test ends.
func load(t testing.TB, file string, threads int) (*Decoder, error) {
	t.Helper()
	return loadAt(t, file, threads, kernels.Best())
}

func loadAt(t testing.TB, file string, threads int, level kernels.Level) (*Decoder, error) {
	t.Helper()
	f, err := gguf.Open(file)
	require.NoError(t, err)
	return loadOn(t, testenv.CPU(t, threads), f, level)
}

func loadOn(t testing.TB, be *ggml.Backend, f *gguf.File, level kernels.Level) (*Decoder, error) {
	t.Helper()
	t.Cleanup(func() { f.Close() })
	cfg, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	cfg.Kernels = level
	return loadConfig(t, be, f, cfg)
}

func loadConfig(t testing.TB, be *ggml.Backend, f *gguf.File, cfg Config) (*Decoder, error) {
	t.Helper()
	d, err := LoadDecoder(be, f, cfg)
	if err == nil {
		t.Cleanup(d.Free)
	}
	return d, err
}

// levels runs a test with ggml's operations, and with the kernels of each level that there is here.
func levels(t *testing.T, f func(t *testing.T, level kernels.Level)) {
	for _, level := range kernels.Levels() {
		t.Run(level.String(), func(t *testing.T) { f(t, level) })
	}
}

// forms runs a test with ggml's operations and with the best kernels.
func forms(t *testing.T, f func(t *testing.T, level kernels.Level)) {
	for _, level := range slices.Compact([]kernels.Level{kernels.None, kernels.Best()}) {
		t.Run(level.String(), func(t *testing.T) { f(t, level) })
	}
}

func newStream(t testing.TB, d *Decoder, width int) *Stream {
	t.Helper()
	s, err := d.NewStream(width)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// decode decodes the codes in chunks of some frames.
func decode(t testing.TB, s *Stream, codes [][]int32, chunk int) []float32 {
	t.Helper()
	var pcm []float32
	for c := range slices.Chunk(codes, chunk) {
		out := make([]float32, len(c)*s.d.Hop())
		require.NoError(t, s.Decode(c, out))
		pcm = append(pcm, out...)
	}
	return pcm
}

// frames splits the codes [T, K] of a golden file.
func frames(a *golden.Arrays) [][]int32 {
	codes, shape := a.I32("codes")
	return slices.Collect(slices.Chunk(codes, shape[1]))
}

func values(data []float32, _ []int) []float32 { return data }

func TestStages(t *testing.T) { levels(t, testStages) }

func testStages(t *testing.T, level kernels.Level) {
	want := golden.Load(t, "codec_dec_stages_T4")
	s, err := tinyAt(t, 1, "F32", level).NewTappedStream(0)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	wav := decode(t, s, frames(want), 3) // two passes and one: taps are strung together
	golden.Check(t, "wav", wav, values(want.F32("wav")))

	taps := map[string]Tap{}
	for _, tap := range s.Taps() {
		taps[tap.Name] = tap
	}
	for _, name := range want.Names() {
		if name == "codes" || name == "wav" {
			continue
		}
		data, shape := want.F32(name)
		assert.Equal(t, shape, taps[name].Shape, name)
		golden.Check(t, name, taps[name].Data, data)
	}

	s.Reset()
	assert.Empty(t, s.Taps(), "a new signal")
	decode(t, s, frames(want)[:1], 1)
	assert.Equal(t, slices.Sorted(maps.Keys(taps)), slices.Sorted(func(yield func(string) bool) {
		for _, tap := range s.Taps() {
			yield(tap.Name)
		}
	}))
	assert.Equal(t, []int{1, 1920}, s.Taps()[len(s.Taps())-1].Shape, "dac_conv_post")
}

func TestWavs(t *testing.T) { levels(t, testWavs) }

func testWavs(t *testing.T, level kernels.Level) {
	want := golden.Load(t, "codec_dec_wavs")
	codes := frames(want)
	s := newStream(t, tinyAt(t, 1, "F32", level), 0)
	for _, n := range []int{1, 2, 7, 72, 100} {
		s.Reset()
		name := "wav_T" + strconv.Itoa(n)
		golden.Check(t, name, decode(t, s, codes[:n], n), values(want.F32(name)))
	}
}

// TestLong goes past the window of attention and around the ring of keys and values.
func TestLong(t *testing.T) { forms(t, testLong) }

func testLong(t *testing.T, level kernels.Level) {
	want := golden.Load(t, "codec_dec_T230")
	codes := frames(want)
	s, err := tinyAt(t, 1, "F32", level).NewTappedStream(8)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	wav := decode(t, s, codes, 50)
	picked, _ := want.I32("frames")
	pick := func(data []float32, width int) (out []float32) {
		for _, f := range picked {
			out = append(out, data[int(f)*width:][:width]...)
		}
		return out
	}
	golden.Check(t, "wav_frames", pick(wav, s.d.Hop()), values(want.F32("wav_frames")))
	for _, tap := range s.Taps() {
		if want.Has(tap.Name) && tap.Shape[0] == len(codes) {
			golden.Check(t, tap.Name, pick(tap.Data, tap.Shape[1]), values(want.F32(tap.Name)))
		}
	}
}

// TestQuantised: the loader takes every type that the converter writes; the samples stay close to those of F32.
func TestQuantised(t *testing.T) {
	want := golden.Load(t, "codec_dec_wavs")
	levels(t, func(t *testing.T, level kernels.Level) {
		for typ, snr := range map[string]float64{"F16": 45, "BF16": 30, "Q8_0": 20} {
			s := newStream(t, tinyAt(t, 1, typ, level), 0)
			got := golden.SNR(decode(t, s, frames(want)[:7], 7), values(want.F32("wav_T7")))
			assert.Greater(t, got, snr, typ)
			t.Logf("%s: %.1f dB", typ, got)
		}
	})
}

// TestRounded: convolutions in BF16 stay close to those in F32, and pieces make the whole.
func TestRounded(t *testing.T) {
	if !kernels.Best().Rounds() {
		t.Skip("this processor has no products of BF16")
	}
	want := golden.Load(t, "codec_dec_wavs")
	f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
	require.NoError(t, err)
	be := testenv.CPU(t, 2)
	t.Cleanup(func() { f.Close() })
	cfg, err := ReadConfig(f)
	require.NoError(t, err)
	assert.False(t, cfg.Rounded, "only those who ask for it")
	cfg.Rounded = true
	d, err := loadConfig(t, be, f, cfg)
	require.NoError(t, err)
	got := decode(t, newStream(t, d, 0), frames(want)[:72], 72)
	snr := golden.SNR(got, values(want.F32("wav_T72")))
	assert.Greater(t, snr, 25.0)
	assert.Less(t, snr, 60.0, "it is rounded")
	t.Logf("%.1f dB", snr)
	for _, chunk := range []int{1, 5} {
		checkSeam(t, "chunks of "+strconv.Itoa(chunk), decode(t, newStream(t, d, 0), frames(want)[:72], chunk), got)
	}
}
