package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/libqwen/libqwen/ggml/kernels"
)

// batch is a few frames on their way through the codec. Its memory is reused.
type batch struct {
	codes [][]int32
	store []int32 // backs codes
	pcm   []float32
	took  time.Duration
	err   error
}

func newBatch(frames, codebooks, hop int) batch {
	return batch{codes: make([][]int32, 0, frames), store: make([]int32, 0, frames*codebooks), pcm: make([]float32, 0, frames*hop)}
}

// clear empties the batch.
func (b *batch) clear() {
	b.codes, b.store, b.pcm, b.took, b.err = b.codes[:0], b.store[:0], b.pcm[:0], 0, nil
}

// add copies a frame's codes. If there are more than ever before, the earlier ones stay where they were.
func (b *batch) add(codes []int32) {
	at := len(b.store)
	b.store = append(b.store, codes...)
	b.codes = append(b.codes, b.store[at:])
}

// decode fills pcm. A panic becomes an error: on a worker's goroutine nobody else could catch it.
func (b *batch) decode(s vocoderStream, hop int) {
	begin := time.Now()
	defer func() {
		if r := recover(); r != nil {
			b.err = fmt.Errorf("codec: panic: %v", r)
		}
		b.took = time.Since(begin)
	}()
	b.pcm = slices.Grow(b.pcm, len(b.codes)*hop)[:len(b.codes)*hop]
	b.err = s.Decode(b.codes, b.pcm)
}

// worker runs the codec's stream, on a goroutine of its own if the codec has threads of its own. At most one batch is
// under way.
type worker struct {
	stream vocoderStream
	hop    int
	turns  turns         // one is taken for each batch
	crew   *kernels.Crew // rests meanwhile; may be nil
	jobs   chan *batch   // nil: decode at once
	ready  chan struct{} // a batch is done
}

func newWorker(s vocoderStream, hop int, beside bool, turns turns, crew *kernels.Crew) *worker {
	w := &worker{stream: s, hop: hop, turns: turns, crew: crew, ready: make(chan struct{}, 1)}
	if beside {
		w.jobs = make(chan *batch)
		go func() {
			for b := range w.jobs {
				w.turns.take(1)
				w.crew.Pause()
				b.decode(w.stream, w.hop)
				w.crew.Resume()
				w.turns.give(1)
				w.ready <- struct{}{}
			}
		}()
	}
	return w
}

// beside tells whether the worker runs while its caller goes on.
func (w *worker) beside() bool { return w.jobs != nil }

// start decodes a batch; done tells when it is.
func (w *worker) start(b *batch) {
	if w.jobs != nil {
		w.jobs <- b
		return
	}
	b.decode(w.stream, w.hop)
	w.ready <- struct{}{}
}

// done tells whether the batch is done, after waiting for it if asked to.
func (w *worker) done(wait bool) bool {
	if wait {
		<-w.ready
		return true
	}
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// stop ends the goroutine. No batch may be under way.
func (w *worker) stop() {
	if w.jobs != nil {
		close(w.jobs)
	}
}
