package onnx

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/codec"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// The tiny decoder, with and without state.
const (
	stateful = "tiny-vocoder"
	whole    = "tiny-vocoder-whole"
)

func openTiny(t testing.TB, name string) *Decoder {
	t.Helper()
	testenv.ONNXRuntime(t)
	d, err := Open(golden.ONNX(t, name), Options{Provider: "cpu", Threads: 1})
	require.NoError(t, err)
	t.Cleanup(d.Free)
	return d
}

func newStream(t testing.TB, d *Decoder, width, context int) *Stream {
	t.Helper()
	s, err := d.newStream(width, context)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func randomCodes(d *Decoder, n int, seed uint64) [][]int32 {
	r := rand.New(rand.NewPCG(seed, 1))
	codes := make([][]int32, n)
	for t := range codes {
		codes[t] = make([]int32, d.Codebooks())
		for k := range codes[t] {
			codes[t][k] = int32(r.IntN(d.CodebookSize()))
		}
	}
	return codes
}

// goldenCodes are 230 frames of codes that the official encoder made.
func goldenCodes(t testing.TB) [][]int32 {
	t.Helper()
	ids, shape := golden.Load(t, "codec_dec_T230").I32("codes")
	codes := make([][]int32, shape[0])
	for i := range codes {
		codes[i] = ids[i*shape[1] : (i+1)*shape[1]]
	}
	return codes
}

// decode decodes in calls of some frames.
func decode(t testing.TB, s *Stream, codes [][]int32, chunk int) (pcm []float32) {
	t.Helper()
	for part := range slices.Chunk(codes, chunk) {
		out := make([]float32, len(part)*s.d.Hop())
		require.NoError(t, s.Decode(part, out))
		pcm = append(pcm, out...)
	}
	return pcm
}

// reference is what the official decoder makes of goldenCodes, at some frames.
func reference(t testing.TB) (frames []int32, samples []float32) {
	t.Helper()
	a := golden.Load(t, "codec_dec_T230")
	frames, _ = a.I32("frames")
	samples, _ = a.F32("wav_frames")
	return frames, samples
}

// TestAgainstTheOfficialDecoder: both forms of the model, in one call.
func TestAgainstTheOfficialDecoder(t *testing.T) {
	for _, name := range []string{stateful, whole} {
		d := openTiny(t, name)
		assert.Equal(t, []int{16, 512, 1920}, []int{d.Codebooks(), d.CodebookSize(), d.Hop()})
		assert.Equal(t, name == stateful, d.Stateful())
		pcm := decode(t, newStream(t, d, 300, 0), goldenCodes(t), 300)
		frames, want := reference(t)
		var got []float32
		for _, f := range frames {
			got = append(got, pcm[int(f)*1920:][:1920]...)
		}
		snr := golden.SNR(got, want)
		assert.Greater(t, snr, 90.0, name)
		t.Logf("%s: %.1f dB", d.Describe(), snr)
	}
}

// ggmlDecode is what ggml's decoder makes of the codes.
func ggmlDecode(t testing.TB, codes [][]int32) []float32 {
	t.Helper()
	f, err := gguf.Open(golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
	require.NoError(t, err)
	defer f.Close()
	config, err := codec.ReadConfig(f)
	require.NoError(t, err)
	d, err := codec.LoadDecoder(testenv.CPU(t, 1), f, config)
	require.NoError(t, err)
	defer d.Free()
	s, err := d.NewStream(0)
	require.NoError(t, err)
	defer s.Close()
	pcm := make([]float32, len(codes)*d.Hop())
	require.NoError(t, s.Decode(codes, pcm))
	return pcm
}

// TestTwoImplementations: ONNX Runtime and ggml agree to 60 dB and more, however the frames are divided among calls.
func TestTwoImplementations(t *testing.T) {
	d := openTiny(t, stateful)
	for name, codes := range map[string][][]int32{"golden": goldenCodes(t), "random": randomCodes(d, 200, 5)} {
		want := ggmlDecode(t, codes)
		require.Greater(t, slices.Max(want), float32(0.1), "there is a signal")
		for _, c := range []struct{ chunk, width int }{{1, 16}, {3, 2}, {100, 16}, {300, 300}} {
			snr := golden.SNR(decode(t, newStream(t, d, c.width, 0), codes, c.chunk), want)
			assert.Greater(t, snr, 60.0, "%s: chunks of %d, at most %d at once", name, c.chunk, c.width)
			t.Logf("%s: chunks of %d, at most %d at once: %.1f dB", name, c.chunk, c.width, snr)
		}
		snr := golden.SNR(decode(t, newStream(t, openTiny(t, whole), 300, 0), codes, 300), want)
		assert.Greater(t, snr, 60.0)
		t.Logf("%s: whole: %.1f dB", name, snr)
	}
}

// seamless is how much of the frames before decides about a frame of the tiny codec: two layers of attention over 72
// frames, and 10 frames of convolutions.
const seamless = 2*71 + 10

// TestContext measures the seams of the form without state against the whole decode. With all the context that matters
// there are none. With random weights attention looks at all its window alike, which is the worst case: trained models
// look at what is near.
func TestContext(t *testing.T) {
	d, codes := openTiny(t, whole), goldenCodes(t)
	want := decode(t, newStream(t, d, 300, 0), codes, 300)
	for _, c := range []struct {
		context, chunk int
		least          float64
	}{{seamless, 25, 100}, {ContextFrames, 25, 10}, {25, 25, 5}} {
		snr := golden.SNR(decode(t, newStream(t, d, c.chunk, c.context), codes, c.chunk), want)
		assert.Greater(t, snr, c.least, "context of %d frames, chunks of %d", c.context, c.chunk)
		t.Logf("context of %d frames, chunks of %d: %.1f dB", c.context, c.chunk, snr)
	}
	s, err := d.NewStream(25)
	require.NoError(t, err)
	defer s.Close()
	n := ContextFrames + 25
	got := decode(t, s, codes[:n], 25)
	assert.Greater(t, golden.SNR(got[:ContextFrames/25*25*1920], want[:ContextFrames/25*25*1920]), 100.0, "exact while all that came before is context")
}

// TestPrime: what follows is as if the frames had been decoded.
func TestPrime(t *testing.T) {
	codes := goldenCodes(t)[:60]
	for _, name := range []string{stateful, whole} {
		d := openTiny(t, name)
		context := 0
		if name == whole {
			context = ContextFrames
		}
		want := decode(t, newStream(t, d, 300, context), codes, 60)[40*1920:]
		s := newStream(t, d, 16, context)
		require.NoError(t, s.Prime(codes[:33]))
		require.NoError(t, s.Prime(codes[33:40]))
		assert.Equal(t, 40, s.Frames())
		assert.Greater(t, golden.SNR(decode(t, s, codes[40:], 20), want), 90.0, name)
	}
}

// TestSnapshotAndReset: a stream goes on from where it, or another one, was; or from nothing.
func TestSnapshotAndReset(t *testing.T) {
	for _, name := range []string{stateful, whole} {
		d, codes := openTiny(t, name), goldenCodes(t)
		s, err := d.NewStream(0)
		require.NoError(t, err)
		defer s.Close()
		other, err := d.NewStream(0)
		require.NoError(t, err)
		defer other.Close()
		first := decode(t, s, codes[:30], 10)
		p := s.Snapshot()
		assert.Positive(t, p.Bytes())
		want := decode(t, s, codes[30:60], 10)
		other.Restore(p)
		assert.Equal(t, 30, other.Frames())
		assert.Equal(t, want, decode(t, other, codes[30:60], 10), "another stream goes on from it")
		s.Restore(p)
		assert.Equal(t, want, decode(t, s, codes[30:60], 10), "and so does the same one, again")
		s.Reset()
		assert.Zero(t, s.Frames())
		assert.Equal(t, first, decode(t, s, codes[:30], 10))
		assert.NotEqual(t, first, decode(t, s, codes[:30], 10), "the state goes on")
	}
}

func TestThreads(t *testing.T) {
	codes, want := goldenCodes(t)[:20], []float32(nil)
	testenv.ONNXRuntime(t)
	for _, threads := range []int{1, 2, 4} {
		d, err := Open(golden.ONNX(t, stateful), Options{Threads: threads})
		require.NoError(t, err)
		defer d.Free()
		got := decode(t, newStream(t, d, 16, 0), codes, 20)
		if want == nil {
			want = got
		}
		assert.Greater(t, golden.SNR(got, want), 100.0)
	}
}

func TestCodesAreChecked(t *testing.T) {
	d := openTiny(t, stateful)
	s := newStream(t, d, 4, 0)
	codes := randomCodes(d, 3, 1)
	codes[2][5] = 512
	err := s.Decode(codes, make([]float32, 3*1920))
	assert.ErrorIs(t, err, codec.ErrCodes)
	assert.ErrorContains(t, err, "frame 2, codebook 5: 512 is not within 0..511")
	assert.ErrorIs(t, s.Prime(codes), codec.ErrCodes)
	assert.Zero(t, s.Frames(), "nothing was decoded")
	assert.EqualError(t, s.Decode(codes[:2], make([]float32, 5)), "vocoder: room for 5 samples, 2 frames have 3840")
	assert.NoError(t, s.Decode(nil, nil))
}

func TestNothingIsAllocated(t *testing.T) {
	for _, name := range []string{stateful, whole} {
		d := openTiny(t, name)
		s, err := d.NewStream(0)
		require.NoError(t, err)
		defer s.Close()
		codes, pcm := randomCodes(d, 80, 1), make([]float32, 80*1920)
		require.NoError(t, s.Decode(codes, pcm))
		n := 0
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			n = n%2 + 1 // shapes change
			if err := s.Decode(codes[:n], pcm[:n*1920]); err != nil {
				t.Error(err)
			}
		}), name)
	}
}
