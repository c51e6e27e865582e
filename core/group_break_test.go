package core_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/tests/golden"
)

// TestAnOverflowIsForgotten: a text whose embeddings are finite, but so large that what is computed from them is not,
// fails; what it left in the caches does not spoil the speech of those who come after.
func TestAnOverflowIsForgotten(t *testing.T) {
	const bad = 'Q'
	talker := golden.Rigged(t, golden.GGUF(t, custom, "F32"), only("talker.text_embd.weight", func(info *gguf.TensorInfo, data []byte) bool {
		width := int(info.Shape[0])
		for i := range width {
			x := float32(math.MaxFloat32)
			if i%2 == 0 {
				x = -x
			}
			binary.LittleEndian.PutUint32(data[(int(token(t, bad))*width+i)*4:], math.Float32bits(x))
		}
		return true
	}))
	want, _, err := speak(shared(t, custom), sampled(7))
	require.NoError(t, err)
	for _, batch := range []int{1, 2} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			e := engine(t, custom, func(o *core.Options) { o.MaxBatch, o.TalkerPath = batch, talker })
			for _, layout := range []core.Layout{core.LayoutWhole, core.LayoutStreamed} {
				r := sampled(7)
				r.Text, r.Layout = "Hello world, and some more to read: QQQQ Q Q Q.", layout
				_, _, err = speak(e, r)
				assert.ErrorIs(t, err, core.ErrGenerate)
				got, _, err := speak(e, sampled(7))
				require.NoError(t, err)
				assert.Equal(t, want, got)
			}
		})
	}
}

// endless is a model that never ends its speech.
func endless(t *testing.T) string {
	const eos = 614
	return golden.Rigged(t, golden.GGUF(t, custom, "F32"), only("talker.codec_head.weight", scaled(0, func(row int) bool { return row == eos })))
}

// TestOnlyTheLongestFailsForLackOfMemory: where the cache cannot grow, those that need no more go on, with the same speech.
func TestOnlyTheLongestFailsForLackOfMemory(t *testing.T) {
	talker := endless(t)
	say := func(e *core.Engine, frames int, next func()) ([]float32, error) {
		r := sampled(5)
		r.Talker = sample.Params{TopP: 1, RepetitionPenalty: 1}
		r.Stream, r.MaxFrames = true, frames
		var pcm []float32
		_, err := e.Synthesize(context.Background(), &r, func(v []float32) error {
			pcm = append(pcm, v...)
			next()
			return nil
		})
		return pcm, err
	}
	nothing := func() {}
	alone := engine(t, custom, func(o *core.Options) { o.TalkerPath = talker })
	want, err := say(alone, 60, nothing)
	require.NoError(t, err)

	e := engine(t, custom, func(o *core.Options) { o.MaxBatch, o.TalkerPath = 4, talker })
	_, err = say(e, 20, nothing)
	require.NoError(t, err)
	e.LimitMemory(e.CacheBytes()) // 128 positions for each
	for _, resting := range []bool{false, true} {
		var wg sync.WaitGroup
		failed := make(chan struct{})
		join := func() { // others who are far from the end when the long one's 128 positions are
			for i := range 3 {
				next := nothing
				if resting && i == 0 {
					next = func() { <-failed }
				}
				wg.Go(func() {
					got, err := say(e, 60, next)
					assert.NoError(t, err)
					assert.Equal(t, want, got)
				})
			}
		}
		frames := 0
		_, err = say(e, 400, func() {
			if frames++; frames == 60 {
				join()
			}
		})
		assert.ErrorIs(t, err, core.ErrMemory)
		close(failed)
		wg.Wait()
	}
	got, err := say(e, 60, nothing)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	e.LimitMemory(0)
	_, err = say(e, 400, nothing)
	assert.NoError(t, err)
}

// TestADumpDoesNotHoldUpTheOthers: one whose receiver is slow lets them speak meanwhile.
func TestADumpDoesNotHoldUpTheOthers(t *testing.T) {
	for _, threads := range []int{1, 2} {
		e := engine(t, custom, func(o *core.Options) { o.MaxBatch, o.Threads = 3, threads })
		want, _, err := speak(shared(t, custom), sampled(2))
		require.NoError(t, err)
		others := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			r := sampled(4)
			r.Stream, r.DumpDir = true, t.TempDir()
			started := make(chan struct{})
			wg.Go(func() {
				var once sync.Once
				_, err := e.Synthesize(context.Background(), &r, func([]float32) error {
					once.Do(func() { close(started) })
					<-others
					return nil
				})
				assert.NoError(t, err)
			})
			<-started
		}
		got, _, err := speak(e, sampled(2))
		assert.NoError(t, err)
		assert.Equal(t, want, got)
		close(others)
		wg.Wait()
	}
}

// TestAPanicFailsThoseWhoSpeakTogether: it ends neither the process, nor does anybody wait for ever; and those who come
// after are spoken as ever.
func TestAPanicFailsThoseWhoSpeakTogether(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch = 3 })
	want, _, err := speak(e, sampled(7))
	require.NoError(t, err)
	mend := e.BreakGroup()
	var wg sync.WaitGroup
	for range 7 { // more than there are places
		wg.Go(func() {
			_, _, err := speak(e, sampled(7))
			assert.ErrorIs(t, err, core.ErrGenerate)
			assert.ErrorContains(t, err, "panic")
		})
	}
	wg.Wait()
	mend()
	got, _, err := speak(e, sampled(7))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
