package core

import (
	"sync/atomic"
	"time"
)

// ahead is how many frames of an utterance may wait for its caller before it rests: a second of speech.
const ahead = 12

// buffered is how many events may wait: frames, and the end or an error. A frame's codes are written over those of
// buffered+2 frames before: that the frame before it could be sent means that the caller has taken the one after those,
// and so is done with them.
const buffered = ahead + 1

// event is what a place hears of its utterance: the codes of a frame, none at the end, or why it failed.
type event struct {
	codes []int32
	err   error

	prefill, predictor, talker time.Duration // what was computed for it
}

// place is where a caller's utterance takes part in a group. The caller's goroutine uses the decoding and what next does;
// the group's has the rest.
type place struct {
	decoding
	g *group

	u      *utterance
	events chan event
	member bool          // whether the group has to let go of it
	left   atomic.Bool   // the caller has
	freed  chan struct{} // the group has let go
	tick   *time.Ticker  // to look at contexts that cannot wake

	// Of the group:
	came     time.Time
	prompted bool                  // the prompt has been read
	frames   int                   // generated
	codes    [buffered + 2][]int32 // used in turn
	prefill  time.Duration         // time so far
	stepped  time.Duration         // by the last step
}

func newPlace(g *group) *place {
	p := &place{g: g, events: make(chan event, buffered), freed: make(chan struct{}, 1)}
	for i := range p.codes {
		p.codes[i] = make([]int32, g.e.lm.Codebooks)
	}
	return p
}

// begin joins the group, which reads the prompt.
func (p *place) begin(u *utterance) error {
	p.u, p.came, p.prompted, p.frames, p.prefill, p.stepped = u, time.Now(), false, 0, 0, 0
	p.tick = time.NewTicker(pollEvery)
	p.member = true
	p.g.join(p)
	return nil
}

// next waits for the group's next frame. Audio that is ready first goes to out.
func (p *place) next(u *utterance, out *output) ([]int32, error) {
	for {
		if err := u.ctx.Err(); err != nil {
			return nil, err
		}
		select {
		case ev := <-p.events:
			p.g.nudge() // there is room for another
			t := &u.result.Timings
			t.Prefill, t.Predictor, t.Talker = t.Prefill+ev.prefill, t.Predictor+ev.predictor, t.Talker+ev.talker
			return ev.codes, ev.err
		case <-out.ready():
			if err := out.take(); err != nil {
				return nil, err
			}
		case <-u.ctx.Done():
		case <-p.tick.C:
		}
	}
}

// end leaves the group: when it has let go, nothing of the utterance is left there.
func (p *place) end() {
	if !p.member {
		return
	}
	p.tick.Stop()
	p.left.Store(true)
	p.g.nudge()
	<-p.freed
	for len(p.events) > 0 {
		<-p.events
	}
	p.left.Store(false)
	p.member, p.u = false, nil
}

// ready tells whether a frame can be computed: the prompt was read, and there is room for the frame.
func (p *place) ready() bool { return p.prompted && !p.left.Load() && len(p.events) < ahead }

// deliver hands a frame on and returns its codes, which stay until the frame is read.
func (p *place) deliver(codes []int32, took time.Duration) []int32 {
	own := p.codes[p.frames%len(p.codes)]
	copy(own, codes)
	p.frames++
	p.events <- event{codes: own, prefill: p.prefill, predictor: took, talker: p.stepped}
	p.prefill, p.stepped = 0, 0
	return own
}
