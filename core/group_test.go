package core_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/tests/golden"
)

// spoken is a request and how it ended.
type spoken struct {
	req    core.Request
	stopAt int // samples after which the receiver stops; 0: never
	pcm    []float32
	res    core.Result
	err    error
}

func (s *spoken) speak(e *core.Engine) {
	s.res, s.err = e.Synthesize(context.Background(), &s.req, func(v []float32) error {
		s.pcm = append(s.pcm, v...)
		if s.stopAt > 0 && len(s.pcm) >= s.stopAt {
			return errStop
		}
		return nil
	})
}

// mixed are requests of all kinds and lengths: with and without voices, sampled and greedy, streamed and not, some of
// which are stopped by their receiver, and some of which are refused.
func mixed(t *testing.T, n int) []*spoken {
	pcm := clip(t, "speech")[:36000]
	voice, err := shared(t, base).ExtractVoice(context.Background(), pcm)
	require.NoError(t, err)
	var all []*spoken
	for i := range n {
		r := cloning(int64(i))
		r.Text = []string{"Hello world.", "A rather longer sentence, with more to read than the others have.", "你好，世界。"}[i%3]
		r.MaxFrames = 1 + i*7%23
		r.Stream, r.ChunkFrames = i%2 == 0, i%4
		s := &spoken{}
		switch i % 8 {
		case 1:
			r.Voice, r.RefText = voice, "The quick brown fox."
		case 2:
			r.Voice = &core.Voice{XVector: voice.XVector}
		case 3:
			r.RefAudio, r.RefText = pcm, "The quick brown fox."
		case 4:
			r.Talker, r.Predictor = sample.Params{TopP: 1, RepetitionPenalty: 1}, sample.Params{TopP: 1}
		case 5:
			r.MaxFrames, s.stopAt = 20, 3*1920
		case 6:
			r.Speaker = "vivian" // base models have none
		}
		s.req = r
		all = append(all, s)
	}
	return all
}

// TestAGroupSpeaksLikeOne: requests that are computed together give what they give alone, to the last bit.
func TestAGroupSpeaksLikeOne(t *testing.T) {
	want := mixed(t, 32)
	for _, s := range want {
		s.speak(shared(t, base))
	}
	for _, width := range []int{2, 3, 8} {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d/%d", width, threads), func(t *testing.T) {
				e := engine(t, base, func(o *core.Options) { o.MaxBatch, o.Threads = width, threads })
				got := mixed(t, 32)
				var wg sync.WaitGroup
				for _, s := range got {
					wg.Go(func() { s.speak(e) })
				}
				wg.Wait()
				for i, w := range want {
					g := got[i]
					if w.stopAt > 0 {
						assert.ErrorIs(t, g.err, errStop)
						n := min(len(w.pcm), len(g.pcm))
						assert.Equal(t, w.pcm[:n], g.pcm[:n], "request %d", i)
						continue
					}
					assert.Equal(t, w.err, g.err, "request %d", i)
					assert.Equal(t, w.pcm, g.pcm, "request %d", i)
					assert.Equal(t, w.res.Finish, g.res.Finish, "request %d", i)
					assert.Equal(t, w.res.Frames, g.res.Frames, "request %d", i)
				}
			})
		}
	}
}

// TestASlowReceiverStallsOnlyItself: its audio waits in a bounded buffer, and the others are through before it goes on.
func TestASlowReceiverStallsOnlyItself(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch = 2 })
	slow := sampled(1)
	slow.Stream, slow.MaxFrames = true, 60
	others := make(chan struct{})
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		first := true
		res, err := e.Synthesize(context.Background(), &slow, func([]float32) error {
			if first {
				first = false
				close(started)
				<-others
			}
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, res.Frames*1920, res.Samples)
	})
	<-started
	for seed := range int64(3) {
		r := sampled(seed)
		r.MaxFrames = 40
		_, _, err := speak(e, r)
		assert.NoError(t, err)
	}
	close(others)
	wg.Wait()
}

// TestAMemberOfAGroupCanBeCancelled at any time, and its place used again.
func TestAMemberOfAGroupCanBeCancelled(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch = 3 })
	want, _, err := speak(shared(t, custom), sampled(2))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for looks := range 24 {
		wg.Go(func() {
			r := sampled(2)
			r.Stream = looks%2 == 0
			samples := 0
			res, err := e.Synthesize(&countdown{context.Background(), looks}, &r, func(pcm []float32) error {
				samples += len(pcm)
				return nil
			})
			if err != nil { // otherwise it was through before
				assert.ErrorIs(t, err, core.ErrCancelled)
				assert.Equal(t, core.FinishCancelled, res.Finish)
			}
			if r.Stream {
				assert.Equal(t, res.Frames*1920, samples)
			}
		})
	}
	wg.Wait()
	got, _, err := speak(e, sampled(2))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestAGroupEndsWithItsEngine: closing cancels what is under way.
func TestAGroupEndsWithItsEngine(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch = 2 })
	var wg sync.WaitGroup
	running := make(chan struct{}, 5)
	for seed := range int64(5) {
		wg.Go(func() {
			r := sampled(seed)
			r.Stream, r.MaxFrames = true, 2000
			_, err := e.Synthesize(context.Background(), &r, func([]float32) error {
				select {
				case running <- struct{}{}:
				default:
				}
				return nil
			})
			assert.True(t, err == nil || errors.Is(err, core.ErrCancelled) || errors.Is(err, core.ErrClosed), "%v", err)
		})
	}
	<-running
	require.NoError(t, e.Close())
	wg.Wait()
}

// TestDumpsOfAGroup: stages are computed apart from the others, with the same speech.
func TestDumpsOfAGroup(t *testing.T) {
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch = 2 })
	want, _, err := speak(shared(t, custom), sampled(5))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r := sampled(5)
			if i%2 == 0 {
				r.DumpDir = t.TempDir()
			}
			got, _, err := speak(e, r)
			assert.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	wg.Wait()
}

// TestAMemberThatFailsFailsAlone: a text whose embeddings are not finite ends its own request only.
func TestAMemberThatFailsFailsAlone(t *testing.T) {
	const bad = 'Q'
	talker := golden.Rigged(t, golden.GGUF(t, custom, "F32"), only("talker.text_embd.weight", func(info *gguf.TensorInfo, data []byte) bool {
		row := len(data) / int(info.Shape[1])
		binary.LittleEndian.PutUint32(data[int(token(t, bad))*row:], math.Float32bits(float32(math.NaN())))
		return true
	}))
	e := engine(t, custom, func(o *core.Options) { o.MaxBatch, o.TalkerPath = 3, talker })
	want, _, err := speak(shared(t, custom), sampled(7))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			r := sampled(7)
			if i%2 == 0 {
				r.Text = string(bad)
				_, _, err := speak(e, r)
				assert.ErrorIs(t, err, core.ErrModel)
				assert.ErrorContains(t, err, "talker.text_embd.weight: row")
				return
			}
			got, _, err := speak(e, r)
			assert.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	wg.Wait()
}

// token is the id of a letter by itself.
func token(t *testing.T, letter rune) int32 {
	t.Helper()
	f, err := model.Open(golden.GGUF(t, custom, "F32"), lm.Architecture, "talker")
	require.NoError(t, err)
	defer f.Close()
	_, tok, err := model.ReadVocab(f)
	require.NoError(t, err)
	ids := tok.Encode(string(letter))
	require.Len(t, ids, 1)
	return ids[0]
}
