package core

import (
	"errors"
	"fmt"
	"time"
)

// decodeFrames is the most frames that ggml's decoder computes at once, and so the longest that a cancelled synthesis goes
// on: wider is hardly faster, and takes memory in proportion.
const decodeFrames = 4

// streamLead is how many times as long as a chunk the audio before it is, where nobody has said how long chunks may be.
// A chunk's last frame comes the later the longer the chunk is; the lead that a player has by then grows with all
// that was generated faster than it is played.
const streamLead = 4

// output turns codes into audio and hands it on, a frame at a time when streaming, else a few. The codec works beside
// the language models where it has threads of its own; what it has done is handed on when the next frame comes.
type output struct {
	s     *decoding
	u     *utterance
	width int    // frames decoded at once
	most  int    // width doubles up to here
	lead  int    // once so many times as many frames were decoded before
	sent  int    // frames decoded
	fill  *batch // takes the coming frames
	ahead *batch // is being decoded; nil if none is
	spare *batch
	heard bool // some audio was handed on

	clipped int // samples handed on that are at full scale
}

func newOutput(s *decoding, u *utterance) *output {
	o := &output{s: s, u: u, width: s.engine.decodeWidth(), most: s.engine.decodeWidth()}
	if u.req.Stream {
		_, streamed := s.engine.decoder.widths()
		o.width, o.most = 1, max(u.req.ChunkFrames, streamed)
		if o.most == 1 && u.req.ChunkFrames == 0 {
			o.most, o.lead = decodeFrames, streamLead
		}
	}
	o.fill, o.spare = &s.batches[0], &s.batches[1]
	o.fill.clear()
	o.spare.clear()
	return o
}

// decodeWidth is the most frames that the codec computes at once.
func (e *Engine) decodeWidth() int {
	seconds := e.opts.ChunkSeconds
	if seconds == 0 {
		seconds = defaultChunkSeconds
	}
	whole, _ := e.decoder.widths()
	return min(whole, e.FramesFor(seconds))
}

// add takes a frame's codes, which are valid only during the call.
func (o *output) add(codes []int32) error {
	o.fill.add(codes)
	if len(o.fill.codes) < o.width {
		return o.collect(false)
	}
	return o.decode()
}

// decode sends the gathered frames to the codec. The first audio is waited for; later audio comes with the next frame.
func (o *output) decode() error {
	if err := o.collect(true); err != nil {
		return err
	}
	o.s.worker.start(o.fill)
	o.ahead, o.fill, o.spare = o.fill, o.spare, nil
	if o.sent += len(o.ahead.codes); o.sent >= o.lead*2*o.width {
		o.width = min(2*o.width, o.most)
	}
	return o.collect(!o.heard || !o.s.worker.beside())
}

// collect hands on what the codec has done, or if wait is set also what it is at.
func (o *output) collect(wait bool) error {
	if o.ahead == nil || !o.s.worker.done(wait) {
		return nil
	}
	return o.take()
}

// ready tells when the codec has done what it is at; take hands it on then.
func (o *output) ready() <-chan struct{} {
	if o.ahead == nil {
		return nil
	}
	return o.s.worker.ready
}

func (o *output) take() error {
	b := o.ahead
	o.ahead, o.spare = nil, b
	o.u.result.Timings.Codec += b.took
	if b.err != nil {
		return b.err
	}
	o.s.dump.audio(b.pcm)
	defer b.clear()
	return o.deliver(b.pcm)
}

// flush decodes what is left and hands on everything.
func (o *output) flush() error {
	if len(o.fill.codes) > 0 {
		if err := o.decode(); err != nil {
			return err
		}
	}
	return o.collect(true)
}

// end hands on what is left after the last frame. A stream that was cancelled from outside still gets the frames that
// were generated before.
func (o *output) end(err error) error {
	if err == nil {
		return o.flush()
	}
	if o.u.req.Stream && o.u.ctx.Err() != nil && errors.Is(err, o.u.ctx.Err()) {
		_ = o.flush() // err is what counts
	}
	return err
}

// abandon waits for the codec to end and drops what is left.
func (o *output) abandon() {
	if o.ahead != nil {
		o.s.worker.done(true)
		o.ahead = nil
	}
}

func (o *output) deliver(pcm []float32) error {
	if !o.heard {
		o.heard, o.u.result.Timings.FirstAudio = true, time.Since(o.u.start)
	}
	if err := o.u.emit(pcm); err != nil {
		return &kindError{kind: ErrCancelled, err: err}
	}
	o.u.result.Samples += len(pcm)
	for _, x := range pcm {
		if x >= 1 || x <= -1 {
			o.clipped++
		}
	}
	return nil
}

// judge warns about speech of which a tenth or more is at full scale: most of it was beyond, and cut off.
func (o *output) judge() {
	if n := o.u.result.Samples; n > 0 && o.clipped >= n/10 {
		o.u.result.Warnings = append(o.u.result.Warnings, fmt.Sprintf("audio: clipped, %d %% of the samples are at full scale", 100*o.clipped/n))
	}
}
