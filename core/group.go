package core

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/ggml"
)

// group computes the frames of several utterances together. It reads each weight once for all of them, which takes hardly
// longer than for one. A goroutine of its own goes from frame to frame: utterances join and leave between two frames, and
// those that join have their prompts read piece by piece, a piece a frame, so that the others go on meanwhile. What an
// utterance speaks does not depend on the others.
//
// The codec decodes each utterance beside, on a thread for each as far as there are turns. An utterance whose audio is
// taken too slowly rests when enough of its frames wait; the others do not notice.
type group struct {
	e         *Engine
	talker    *lm.Talker
	predictor *lm.CodePredictor
	places    []*place
	turns     turns
	threads   int        // turns that the language models take
	compute   sync.Mutex // see computing

	mu     sync.Mutex
	joined []*place // have not got a lane yet, first come first
	closed bool
	wake   chan struct{} // something has changed
	ended  chan struct{} // the goroutine has

	// Of the goroutine alone:
	lanes []*place // by lane of the talker; nil: free
	draws []lm.Draw
	feeds []lm.Feed
}

// newGroup makes places for n utterances. threads are divided between the language models and the codec.
func newGroup(e *Engine, n int) (*group, error) {
	g := &group{e: e, wake: make(chan struct{}, 1), ended: make(chan struct{}), lanes: make([]*place, n)}
	if err := g.open(n); err != nil {
		g.release()
		return nil, sessionError(err)
	}
	go g.run()
	return g, nil
}

func (g *group) open(n int) (err error) {
	e := g.e
	g.share()
	if g.talker, err = e.lm.NewTalkerOf(e.context, n); err != nil {
		return err
	}
	if g.predictor, err = e.lm.NewCodePredictorOf(g.talker.Hidden(), n); err != nil {
		return err
	}
	for range n {
		p := newPlace(g)
		g.places = append(g.places, p)
		if err := g.openDecoding(&p.decoding); err != nil {
			return err
		}
	}
	return nil
}

// share divides the processors, or the device: one that is none of the CPU's does one thing at a time.
func (g *group) share() {
	lm, codec := g.e.be, g.e.codecBE
	room := 1
	switch {
	case lm.HasKernels() && codec.HasKernels():
		g.threads, room = lm.Threads(), lm.Threads()
		if codec != lm {
			room += codec.Threads()
		}
	case lm == codec:
		g.threads = 1
	case codec.HasKernels():
		room = codec.Threads()
	}
	g.turns = make(turns, room)
}

// computing waits until the language models' device is free, and keeps it until the function that it returns is called:
// for what computes beside the group. Without a group nobody else uses the device.
func (g *group) computing() (done func()) {
	if g == nil {
		return func() {}
	}
	g.occupy()
	return g.vacate
}

func (g *group) occupy() {
	g.compute.Lock()
	g.turns.take(g.threads)
}

func (g *group) vacate() {
	g.turns.give(g.threads)
	g.compute.Unlock()
}

// close ends the goroutine; nobody may be in a place any more.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.nudge()
	<-g.ended
	g.release()
}

func (g *group) release() {
	for _, p := range g.places {
		p.close()
	}
	if g.predictor != nil {
		g.predictor.Close()
	}
	if g.talker != nil {
		g.talker.Close()
	}
}

// nudge tells the goroutine that something has changed.
func (g *group) nudge() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *group) join(p *place) {
	g.mu.Lock()
	g.joined = append(g.joined, p)
	g.mu.Unlock()
	g.nudge()
}

// run goes from frame to frame, and sleeps while there is nothing to do.
func (g *group) run() {
	defer close(g.ended)
	for {
		if g.turn() {
			continue
		}
		g.mu.Lock()
		closed, more := g.closed, len(g.joined) > 0
		g.mu.Unlock()
		if closed {
			return
		}
		if !more {
			<-g.wake
		}
	}
}

// turn does what there is to do between two frames, and a frame. It tells whether there was one. What computes for a
// lane has a guard of its own, whose error is the lane's; after a panic of anything else all utterances end.
func (g *group) turn() (worked bool) {
	defer func() {
		if r := recover(); r != nil {
			g.collapse(r)
			worked = true
		}
	}()
	g.dismiss()
	g.admit()
	return g.work()
}

// collapse ends the utterances of all lanes after a panic. Those who wait for a lane start afresh.
func (g *group) collapse(panicked any) {
	stack := debug.Stack()
	for i, p := range g.lanes {
		if p == nil {
			continue
		}
		g.lanes[i] = nil
		g.forget(i)
		select {
		case p.events <- event{err: fmt.Errorf("panic: %v", panicked)}:
		default: // its end is there already
		}
		p.freed <- struct{}{}
	}
	g.e.log.Error("panic while syntheses were computed together", "panic", fmt.Sprint(panicked), "stack", string(stack))
}

// forget ends the sequence of a lane, whatever state that is in.
func (g *group) forget(lane int) {
	var err error
	defer caught(&err)
	g.talker.Stop(lane)
}

// dismiss frees the lanes of those who have left, and brings the others together if fewer are computed then.
func (g *group) dismiss() {
	for i, p := range g.lanes {
		if p != nil && p.left.Load() {
			g.free(i)
		}
	}
	for free := 0; ; free++ {
		for free < len(g.lanes) && g.lanes[free] != nil {
			free++
		}
		last := len(g.lanes) - 1
		for last > free && g.lanes[last] == nil {
			last--
		}
		if last <= free || !g.lanes[last].prompted {
			return
		}
		g.move(free, last)
	}
}

func (g *group) move(to, from int) {
	g.occupy()
	defer g.vacate()
	g.talker.Move(to, from)
	g.lanes[to], g.lanes[from] = g.lanes[from], nil
}

// fail ends the utterance of a lane with an error.
func (g *group) fail(lane int, err error) {
	g.lanes[lane].events <- event{err: err}
	g.free(lane)
}

// free ends the sequence of a lane; its place may be used again, by others: it must not be touched after.
func (g *group) free(lane int) {
	p := g.lanes[lane]
	g.talker.Stop(lane)
	g.lanes[lane] = nil
	p.freed <- struct{}{}
}

// admit gives lanes to those who have joined. There are as many lanes as places.
func (g *group) admit() {
	for {
		lane := slices.Index(g.lanes, nil)
		if lane < 0 || !g.seat(lane) {
			return
		}
		if err := g.start(lane, g.lanes[lane]); err != nil {
			g.fail(lane, err)
		}
	}
}

// seat gives a lane to who joined first, if anybody did.
func (g *group) seat(lane int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.joined) == 0 {
		return false
	}
	g.lanes[lane] = g.joined[0]
	g.joined = slices.Delete(g.joined, 0, 1)
	return true
}

// start begins a sequence. It makes room in the cache, which must not happen while others use the device.
func (g *group) start(lane int, p *place) (err error) {
	g.occupy()
	defer g.vacate()
	defer caught(&err)
	return g.talker.Start(lane, p.u.prompt, p.u.xvector())
}

// caught turns a panic into an error, where nobody else could: on a goroutine of the engine's.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// work computes a frame of all lanes that are ready, and then a piece of one prompt. It tells whether there was anything.
func (g *group) work() bool {
	ready, reading := g.ready(), g.reading()
	if !ready && reading < 0 {
		return false
	}
	g.occupy()
	defer g.vacate()
	if ready {
		g.frame()
	}
	if reading >= 0 {
		g.read(reading)
	}
	return true
}

// ready tells whether there is a lane to compute a frame of.
func (g *group) ready() bool {
	for _, p := range g.lanes {
		if p != nil && p.ready() {
			return true
		}
	}
	return false
}

// reading is the lane whose prompt is read: of the one who came first. -1: none.
func (g *group) reading() int {
	first := -1
	for i, p := range g.lanes {
		if p != nil && !p.prompted && (first < 0 || p.came.Before(g.lanes[first].came)) {
			first = i
		}
	}
	return first
}

// read computes a piece of a prompt.
func (g *group) read(lane int) {
	p := g.lanes[lane]
	if p == nil { // its end came with the frame
		return
	}
	begin := time.Now()
	done, err := g.advance(lane)
	p.prefill += time.Since(begin)
	p.prompted = done
	if err != nil {
		g.fail(lane, err)
	}
}

func (g *group) advance(lane int) (done bool, err error) {
	defer caught(&err)
	return g.talker.Advance(lane)
}

// frame computes the next frame of all lanes that are ready, hands the codes on, and feeds them back.
func (g *group) frame() {
	g.sample()
	if len(g.draws) == 0 {
		return
	}
	begin := time.Now()
	err := g.predict()
	took := time.Since(begin)
	if err != nil {
		g.failAll(err)
		return
	}
	g.feeds = g.feeds[:0]
	for i := range g.draws {
		d := &g.draws[i]
		p := g.lanes[d.Lane]
		if d.Err != nil {
			g.fail(d.Lane, d.Err)
			continue
		}
		codes := p.deliver(g.predictor.Codes(d.Lane), took)
		if p.frames == p.u.req.MaxFrames {
			g.free(d.Lane)
			continue
		}
		g.feeds = append(g.feeds, lm.Feed{Lane: d.Lane, Codes: codes, Frame: p.frames - 1})
	}
	g.step()
}

// sample draws code 0 of the lanes that are ready. Those that draw the end are through.
func (g *group) sample() {
	g.draws = g.draws[:0]
	for i, p := range g.lanes {
		if p == nil || !p.ready() {
			continue
		}
		c0, err := g.first(i, p)
		switch {
		case err != nil:
			g.fail(i, err)
		case c0 == g.e.vocab.Codec.EOS:
			p.events <- event{}
			g.free(i)
		default:
			g.draws = append(g.draws, lm.Draw{Lane: i, Code0: c0, Frame: p.frames, Sampler: p.u.sampler})
		}
	}
}

// first draws code 0 of a lane.
func (g *group) first(lane int, p *place) (c0 int32, err error) {
	defer caught(&err)
	return p.u.sampler.Talker(p.frames, g.talker.Logits(lane))
}

// predict completes the frames. If memory does not suffice for so many, the last lane's utterance ends, and the others
// go on.
func (g *group) predict() error {
	for {
		err := g.complete()
		last := len(g.draws) - 1
		if last < 1 || !errors.Is(err, ggml.ErrMemory) {
			return err
		}
		g.fail(g.draws[last].Lane, err)
		g.draws = g.draws[:last]
	}
}

func (g *group) complete() (err error) {
	defer caught(&err)
	return g.predictor.FrameAll(g.draws)
}

// step feeds the frames back to the talker.
func (g *group) step() {
	if len(g.feeds) == 0 {
		return
	}
	begin := time.Now()
	err := g.feed()
	for errors.Is(err, ggml.ErrMemory) {
		if g.failLongest(err); len(g.feeds) == 0 {
			return
		}
		err = g.feed()
	}
	took := time.Since(begin)
	for _, f := range g.feeds {
		g.lanes[f.Lane].stepped = took
	}
	if err != nil {
		g.failAll(err)
	}
}

// failLongest ends the utterance of the most positions: it is the one that the cache does not suffice for, even if it
// rests and others are fed.
func (g *group) failLongest(err error) {
	longest := g.feeds[0].Lane
	for i, p := range g.lanes {
		if p != nil && g.talker.Length(i) > g.talker.Length(longest) {
			longest = i
		}
	}
	g.fail(longest, err)
	g.feeds = slices.DeleteFunc(g.feeds, func(f lm.Feed) bool { return f.Lane == longest })
}

func (g *group) feed() (err error) {
	defer caught(&err)
	return g.talker.StepAll(g.feeds)
}

// failAll ends all that was computed together.
func (g *group) failAll(err error) {
	for _, d := range g.draws {
		if g.lanes[d.Lane] != nil {
			g.fail(d.Lane, err)
		}
	}
}

// openDecoding makes the codec's side of an utterance: on one thread of its own, or the device that all share.
func (g *group) openDecoding(d *decoding) (err error) {
	be := g.e.codecBE
	if be.HasKernels() {
		if d.own, err = ggml.OpenCPU(1); err != nil {
			return err
		}
		be = d.own
	}
	g.turns.take(1)
	defer g.turns.give(1)
	return d.open(g.e, be, true, g.turns)
}
