package core

import (
	"errors"
	"fmt"
	"time"
)

// pollFrames is the most frames decoded between two looks at the context.
const pollFrames = 8

// output turns codes into audio and hands it on: at once when streaming, else in chunks.
type output struct {
	s       *session
	u       *utterance
	chunk   int       // frames gathered before they are decoded
	pending [][]int32 // frames not yet decoded
	store   []int32   // backs pending
}

func newOutput(s *session, u *utterance) *output {
	o := &output{s: s, u: u, chunk: 1}
	if !u.req.Stream {
		o.chunk = s.engine.chunkFrames()
	}
	return o
}

// chunkFrames is the number of frames that the chunk option stands for.
func (e *Engine) chunkFrames() int {
	seconds := e.opts.ChunkSeconds
	if seconds == 0 {
		seconds = defaultChunkSeconds
	}
	return e.FramesFor(seconds)
}

// decodeWidth is the most frames that the codec computes at once: wider is hardly faster, but takes memory.
func (e *Engine) decodeWidth() int { return min(pollFrames, e.chunkFrames()) }

// add takes a frame's codes, which are valid only during the call.
func (o *output) add(codes []int32) error {
	o.store = append(o.store, codes...)
	o.pending = append(o.pending, nil)
	if len(o.pending) < o.chunk {
		return nil
	}
	return o.flush()
}

// flush decodes and emits what is pending.
func (o *output) flush() error {
	k := o.s.engine.lm.Codebooks
	for i := range o.pending {
		o.pending[i] = o.store[i*k : (i+1)*k]
	}
	for at := 0; at < len(o.pending); at += pollFrames {
		if err := o.u.ctx.Err(); err != nil {
			return err
		}
		if err := o.decode(o.pending[at:min(at+pollFrames, len(o.pending))]); err != nil {
			return err
		}
	}
	o.store, o.pending = o.store[:0], o.pending[:0]
	return nil
}

func (o *output) decode(codes [][]int32) error {
	n := len(codes) * o.s.engine.decoder.Hop()
	if cap(o.s.pcm) < n {
		o.s.pcm = make([]float32, n)
	}
	pcm := o.s.pcm[:n]
	begin := time.Now()
	if err := o.s.stream.Decode(codes, pcm); err != nil {
		return fmt.Errorf("codec: %w", err)
	}
	o.u.result.Timings.Codec += time.Since(begin)
	o.s.dump.audio(pcm)
	return o.deliver(pcm)
}

func (o *output) deliver(pcm []float32) error {
	t := &o.u.result.Timings
	if t.FirstAudio == 0 {
		t.FirstAudio = time.Since(o.u.start)
	}
	if err := o.u.emit(pcm); err != nil {
		return as(ErrCancelled, errors.Join(err))
	}
	o.u.result.Samples += len(pcm)
	return nil
}
