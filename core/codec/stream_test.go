package codec

import (
	"slices"
	"strconv"
	"testing"

	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seam is the largest difference allowed between two ways to divide the same frames among calls and graphs.
const seam = 2e-6

// manyFrames are 330 frames of golden codes.
func manyFrames(t testing.TB) [][]int32 {
	return slices.Concat(frames(golden.Load(t, "codec_dec_T230")), frames(golden.Load(t, "codec_dec_wavs")))
}

func checkSeam(t *testing.T, what string, got, want []float32) {
	t.Helper()
	diff := golden.MaxAbs(got, want)
	assert.LessOrEqual(t, diff, seam, what)
	t.Logf("%s: max abs difference %.3g", what, diff)
}

func TestChunksEqualTheSinglePass(t *testing.T) {
	forms(t, func(t *testing.T, level kernels.Level) {
		codes, d := manyFrames(t)[:312], tinyAt(t, 1, "F32", level)
		want := decode(t, newStream(t, d, 0), codes, len(codes))
		require.Greater(t, slices.Max(want), float32(0.1), "there is a signal")
		for _, chunk := range []int{1, 7, 72, 300} {
			checkSeam(t, "chunks of "+strconv.Itoa(chunk), decode(t, newStream(t, d, 0), codes, chunk), want)
		}
		for _, width := range []int{1, 2, 3, 8, 16, 1000} {
			const n = 100
			checkSeam(t, "graphs of "+strconv.Itoa(width), decode(t, newStream(t, d, width), codes[:n], n), want[:n*d.Hop()])
		}
	})
}

func TestThreads(t *testing.T) {
	codes := manyFrames(t)[:40]
	forms(t, func(t *testing.T, level kernels.Level) {
		want := decode(t, newStream(t, tinyAt(t, 1, "F32", level), 0), codes, 40)
		for _, threads := range []int{2, 4} {
			got := decode(t, newStream(t, tinyAt(t, threads, "F32", level), 0), codes, 40)
			checkSeam(t, strconv.Itoa(threads)+" threads", got, want)
		}
	})
}

func TestSnapshot(t *testing.T) {
	forms(t, func(t *testing.T, level kernels.Level) {
		codes, d := manyFrames(t)[:110], tinyAt(t, 1, "F32", level)
		s, other := newStream(t, d, 0), newStream(t, d, 0)
		decode(t, s, codes[:90], 9)
		p := s.Snapshot()
		assert.Positive(t, p.Bytes())
		want := decode(t, s, codes[90:], 7)
		other.Restore(p)
		assert.Equal(t, 90, other.Frames())
		assert.Equal(t, want, decode(t, other, codes[90:], 5), "another stream goes on from it")
		s.Restore(p)
		assert.Equal(t, want, decode(t, s, codes[90:], 20), "and so does the same one, again")
	})
}

func TestReset(t *testing.T) {
	codes := manyFrames(t)
	s := newStream(t, tiny(t, 1, "F32"), 0)
	first := decode(t, s, codes[:90], 9)
	assert.Equal(t, 90, s.Frames())
	assert.NotEqual(t, first, decode(t, s, codes[:90], 9), "the state goes on")
	s.Reset()
	assert.Zero(t, s.Frames())
	assert.Equal(t, first, decode(t, s, codes[:90], 9))
}

func TestStreamsDoNotDisturbEachOther(t *testing.T) {
	codes, d := manyFrames(t), tiny(t, 1, "F32")
	a, b := newStream(t, d, 0), newStream(t, d, 0)
	wantA, wantB := decode(t, a, codes[:40], 4), decode(t, b, codes[40:80], 4)
	a.Reset()
	b.Reset()
	var gotA, gotB []float32
	for i := 0; i < 40; i += 4 {
		gotA = append(gotA, decode(t, a, codes[i:i+4], 4)...)
		gotB = append(gotB, decode(t, b, codes[40+i:44+i], 4)...)
	}
	assert.Equal(t, wantA, gotA)
	assert.Equal(t, wantB, gotB)
}

// TestPrime: what follows is as if the frames had been decoded, though most of them are not carried through.
func TestPrime(t *testing.T) {
	codes, d := manyFrames(t), tiny(t, 1, "F32")
	require.Equal(t, 10, d.lookback)
	for _, n := range []int{0, 1, 9, 10, 11, 12, 100} {
		want := decode(t, newStream(t, d, 0), codes[:n+20], n+20)[n*d.Hop():]
		s := newStream(t, d, 0)
		require.NoError(t, s.Prime(codes[:n]))
		assert.Equal(t, n, s.Frames())
		checkSeam(t, "primed with "+strconv.Itoa(n), decode(t, s, codes[n:n+20], 20), want)
	}
	s := newStream(t, d, 0) // in pieces, and after other frames
	require.NoError(t, s.Prime(codes[:50]))
	require.NoError(t, s.Prime(codes[50:53]))
	decode(t, s, codes[53:60], 3)
	require.NoError(t, s.Prime(codes[60:100]))
	want := decode(t, newStream(t, d, 0), codes[:120], 120)[100*d.Hop():]
	checkSeam(t, "primed in pieces", decode(t, s, codes[100:120], 20), want)
}

func TestCodesAreChecked(t *testing.T) {
	d := tiny(t, 1, "F32")
	s := newStream(t, d, 0)
	for _, c := range []struct {
		spoil func(codes [][]int32)
		want  string
	}{
		{func(c [][]int32) { c[2][5] = -1 }, "codec: invalid codes: frame 2, codebook 5: -1 is not within 0..511"},
		{func(c [][]int32) { c[0][15] = 512 }, "codec: invalid codes: frame 0, codebook 15: 512 is not within 0..511"},
		{func(c [][]int32) { c[1] = c[1][:15] }, "codec: invalid codes: frame 1 has 15 codes, want 16"},
		{func(c [][]int32) { c[1] = nil }, "codec: invalid codes: frame 1 has 0 codes, want 16"},
	} {
		codes := randomCodes(d, 3, 1)
		c.spoil(codes)
		err := s.Decode(codes, make([]float32, 3*d.Hop()))
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, ErrCodes)
		assert.EqualError(t, s.Prime(codes), c.want)
	}
	assert.Zero(t, s.Frames(), "nothing was decoded")
	assert.EqualError(t, s.Decode(randomCodes(d, 3, 1), make([]float32, 5)), "codec: room for 5 samples, 3 frames have 5760")
	assert.NoError(t, s.Decode(nil, nil))
}

func TestNothingIsAllocated(t *testing.T) {
	d := tiny(t, 1, "F32")
	s := newStream(t, d, 0)
	codes, pcm := randomCodes(d, 7, 1), make([]float32, 7*d.Hop())
	require.NoError(t, s.Decode(codes, pcm))
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		if err := s.Decode(codes, pcm); err != nil {
			t.Error(err)
		}
	}))
}
