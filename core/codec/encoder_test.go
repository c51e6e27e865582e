package codec

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tinyEncoder is the encoder of the tiny speech tokenizer.
func tinyEncoder(t testing.TB, threads int, typ string) *Encoder {
	t.Helper()
	e, err := loadEncoder(t, golden.GGUF(t, "tiny-tokenizer-12hz", typ), threads)
	require.NoError(t, err)
	return e
}

// loadEncoder opens the encoder of a file until the test ends.
func loadEncoder(t testing.TB, file string, threads int) (*Encoder, error) {
	t.Helper()
	f, err := gguf.Open(file)
	require.NoError(t, err)
	return loadEncoderOn(t, testenv.CPU(t, threads), f)
}

func loadEncoderOn(t testing.TB, be *ggml.Backend, f *gguf.File) (*Encoder, error) {
	t.Helper()
	t.Cleanup(func() { f.Close() })
	cfg, err := ReadEncoderConfig(f)
	if err != nil {
		return nil, err
	}
	e, err := LoadEncoder(be, f, cfg)
	if err == nil {
		t.Cleanup(e.Free)
	}
	return e, err
}

// encodeIn encodes in chunks of some frames.
func encodeIn(t testing.TB, e *Encoder, pcm []float32, chunk int) [][]int32 {
	t.Helper()
	codes, _, err := e.encode(context.Background(), pcm, chunk, nil)
	require.NoError(t, err)
	return codes
}

// checkCodes compares codes with golden ones, except where the reference's own decision was a close one.
func checkCodes(t testing.TB, what string, got [][]int32, want *golden.Arrays) {
	t.Helper()
	codes := frames(want)
	gaps, shape := want.F32("rvq_gap") // [K, T]
	require.Len(t, got, len(codes), what)
	compared, equal := 0, 0
	for frame := range codes {
		require.Len(t, got[frame], shape[0])
		for _, half := range [][2]int{{0, 1}, {1, shape[0]}} { // the acoustic quantiser does not build on the semantic one
			for k := half[0]; k < half[1] && gaps[k*shape[1]+frame] > 1e-3; k++ {
				compared++
				if got[frame][k] == codes[frame][k] {
					equal++
				}
			}
		}
	}
	assert.Equal(t, compared, equal, what)
	assert.Greater(t, compared, len(codes)*shape[0]*7/10, what)
	t.Logf("%s: %d of %d codes compared, %d equal", what, compared, len(codes)*shape[0], equal)
}

func TestEncoderStages(t *testing.T) {
	e := tinyEncoder(t, 1, "F32")
	for _, name := range []string{"half_frame", "speech", "sweep", "speech_long"} {
		t.Run(name, func(t *testing.T) {
			want := golden.Load(t, "codec_enc_"+name)
			pcm := encoderInput(t, want, name)
			codes, taps, err := e.EncodeTapped(context.Background(), pcm)
			require.NoError(t, err)
			checkCodes(t, name, codes, want)
			checked := 0
			for _, tap := range taps {
				if !want.Has(tap.Name) {
					continue
				}
				data, shape := want.F32(tap.Name)
				got := tap.Data
				if name == "speech_long" { // some positions are stored
					got, tap.Shape = picked(t, tap, want)
				}
				assert.Equal(t, shape, tap.Shape, tap.Name)
				golden.Check(t, tap.Name, got, data)
				checked++
			}
			others := []string{"codes", "rvq_gap", "wav", "enc_tf_positions", "codes_if_window_250"}
			names := slices.DeleteFunc(want.Names(), func(n string) bool { return slices.Contains(others, n) })
			assert.Len(t, names, checked)
		})
	}
}

func encoderInput(t testing.TB, want *golden.Arrays, name string) []float32 {
	if want.Has("wav") {
		pcm, _ := want.F32("wav")
		return pcm
	}
	return golden.PCM(t, name)
}

// picked are the rows of a tap that speech_long has.
func picked(t testing.TB, tap Tap, want *golden.Arrays) (data []float32, shape []int) {
	_, shape = want.F32(tap.Name)
	if tap.Name == "enc_tf_out" {
		positions, _ := want.I32("enc_tf_positions")
		for _, p := range positions {
			data = append(data, tap.Data[int(p)*tap.Shape[1]:][:tap.Shape[1]]...)
		}
		return data, shape
	}
	for row := range slices.Chunk(tap.Data, tap.Shape[1]) { // downsample: the last frames
		data = append(data, row[len(row)-shape[1]:]...)
	}
	return data, shape
}

// TestQuantisedEncoder: the loader takes every type that the converter writes; most codes stay. Weights of less precision
// cost what they cost, but the activations are not rounded to them.
func TestQuantisedEncoder(t *testing.T) {
	want := golden.Load(t, "codec_enc_speech")
	for typ, share := range map[string]float64{"F16": 0.95, "BF16": 0.93, "Q8_0": 0.85} {
		got := encodeIn(t, tinyEncoder(t, 1, typ), golden.PCM(t, "speech"), encodeFrames)
		equal, semantic := 0, 0
		for i, frame := range frames(want) {
			for k, code := range frame {
				if code == got[i][k] {
					equal++
				}
			}
			if frame[0] == got[i][0] {
				semantic++
			}
		}
		all := len(got) * len(got[0])
		assert.Greater(t, float64(equal)/float64(all), share, typ)
		assert.Equal(t, len(got), semantic, typ)
		t.Logf("%s: %d of %d codes equal", typ, equal, all)
	}
}

// latentsIn encodes in chunks of some frames and returns the latents, too.
func latentsIn(t testing.TB, e *Encoder, pcm []float32, chunk int) (codes [][]int32, latents []float32) {
	t.Helper()
	taps := &encoderTaps{recorder{at: map[string]int{}}}
	codes, _, err := e.encode(context.Background(), pcm, chunk, taps)
	require.NoError(t, err)
	for _, tap := range taps.reference() {
		if tap.Name == "downsample" {
			return codes, tap.Data
		}
	}
	require.Fail(t, "no latents")
	return nil, nil
}

func TestEncoderChunksEqualTheSinglePass(t *testing.T) {
	e := tinyEncoder(t, 1, "F32")
	for _, c := range []struct {
		name        string
		cut, frames int
		chunks      []int
	}{
		{"speech", 0, 26, []int{1, 3, 8}},
		{"sweep", 0, 16, []int{1, 5, 15}},
		{"sweep", 959, 16, []int{1, 5, 15}}, // two positions in the last frame
		{"sweep", 960, 16, []int{1, 5, 15}}, // and one
		{"sweep", 1919, 16, []int{1, 5, 15}},
		{"speech_long", 77, 163, []int{8, 50}}, // more than the first part of the cache
	} {
		pcm := golden.PCM(t, c.name)
		pcm = pcm[:len(pcm)-c.cut]
		codes, latents := latentsIn(t, e, pcm, 1000)
		assert.Len(t, codes, c.frames)
		for _, chunk := range c.chunks {
			gotCodes, got := latentsIn(t, e, pcm, chunk)
			assert.Equal(t, codes, gotCodes, "chunks of %d", chunk)
			checkSeam(t, fmt.Sprintf("%d samples in chunks of %d", len(pcm), chunk), got, latents)
		}
	}
}

func TestEncoderThreads(t *testing.T) {
	pcm := golden.PCM(t, "speech")
	codes, latents := latentsIn(t, tinyEncoder(t, 1, "F32"), pcm, encodeFrames)
	gotCodes, got := latentsIn(t, tinyEncoder(t, 2, "F32"), pcm, encodeFrames)
	assert.Equal(t, codes, gotCodes)
	checkSeam(t, "2 threads", got, latents)
}

// TestEncoderKeepsNothing: a call does not see the ones before, failed ones included.
func TestEncoderKeepsNothing(t *testing.T) {
	e, pcm := tinyEncoder(t, 1, "F32"), golden.PCM(t, "speech")
	want := encodeIn(t, e, pcm, encodeFrames)
	encodeIn(t, e, golden.PCM(t, "sweep"), encodeFrames)
	_, err := e.Encode(&expiring{Context: context.Background(), polls: 2}, pcm)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, want, encodeIn(t, e, pcm, encodeFrames))
	assert.NotEqual(t, want[0], want[1])
}

// expiring is a context that is cancelled after some polls.
type expiring struct {
	context.Context
	polls int
}

func (c *expiring) Err() error {
	if c.polls == 0 {
		return context.Canceled
	}
	c.polls--
	return nil
}

func TestEncodeIsCancelledBetweenChunks(t *testing.T) {
	e, pcm := tinyEncoder(t, 1, "F32"), noise(3*encodeFrames*1920)
	for polls := range 3 {
		codes, err := e.Encode(&expiring{Context: context.Background(), polls: polls}, pcm)
		assert.EqualError(t, err, "codec: context canceled")
		assert.ErrorIs(t, err, context.Canceled)
		assert.Nil(t, codes)
	}
	codes, err := e.Encode(&expiring{Context: context.Background(), polls: 3}, pcm)
	require.NoError(t, err)
	assert.Len(t, codes, 3*encodeFrames)
}

func TestFramesAreFilledUp(t *testing.T) {
	e := tinyEncoder(t, 1, "F32")
	pcm := noise(20000)
	for _, samples := range []int{1, 2, 959, 960, 961, 1919, 1920, 1921, 15359, 15360, 15361, 20000} {
		codes := encodeIn(t, e, pcm[:samples], encodeFrames)
		assert.Len(t, codes, (samples+1919)/1920, samples)
		for _, frame := range codes {
			require.Len(t, frame, 16)
			assert.GreaterOrEqual(t, slices.Min(frame), int32(0))
			assert.Less(t, slices.Max(frame), int32(e.CodebookSize()))
		}
	}
}

func TestAudioIsChecked(t *testing.T) {
	e := tinyEncoder(t, 1, "F32")
	spoilt := func(i int, v float64) []float32 {
		pcm := noise(5000)
		pcm[i] = float32(v)
		return pcm
	}
	for _, c := range []struct {
		pcm  []float32
		want string
	}{
		{nil, "codec: invalid audio: no samples"},
		{[]float32{}, "codec: invalid audio: no samples"},
		{spoilt(4999, math.NaN()), "codec: invalid audio: sample 4999 is NaN"},
		{spoilt(0, math.Inf(1)), "codec: invalid audio: sample 0 is +Inf"},
		{spoilt(2000, math.Inf(-1)), "codec: invalid audio: sample 2000 is -Inf"},
		{make([]float32, MaxSamples+1), "codec: invalid audio: 14400001 samples, at most 14400000 can be encoded (600 s)"},
	} {
		codes, err := e.Encode(context.Background(), c.pcm)
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, ErrAudio)
		assert.Nil(t, codes)
	}
	assert.NoError(t, CheckAudio(make([]float32, MaxSamples)))
	_, err := e.Encode(context.Background(), spoilt(4000, math.MaxFloat32)) // finite, but not for long
	assert.EqualError(t, err, "codec: semantic latents of frames 0 to 2 are not finite")
	assert.NotErrorIs(t, err, ErrAudio)
}

// TestEncoderMemoryIsBounded: it grows with the audio by the keys and values, and by the scores of one chunk.
func TestEncoderMemoryIsBounded(t *testing.T) {
	e := tinyEncoder(t, 1, "F32")
	c := e.Config()
	peak := func(seconds int) int {
		_, n, err := e.encode(context.Background(), noise(seconds*SampleRate), encodeFrames, nil)
		require.NoError(t, err)
		return int(n)
	}
	short, long := peak(12), peak(36)
	positions := 24 * 25 // more
	cache := positions * 2 * c.Layers * c.Width * 4
	scores := positions * 2 * encodeFrames * (2*c.Attention.Heads + 1) * 4 // of a chunk, before and after the softmax, and their mask
	assert.LessOrEqual(t, long-short, (cache+scores)*5/4)
	t.Logf("12 s: %d KiB, 36 s: %d KiB", short>>10, long>>10)
}

// noise is some audio.
func noise(samples int) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	pcm := make([]float32, samples)
	for i := range pcm {
		pcm[i] = float32(0.1 * r.NormFloat64())
	}
	return pcm
}
