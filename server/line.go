package server

import (
	"context"
	"slices"
	"sync"
	"time"
)

// line is where requests wait for the engine: so many are served at a time, first come first served, and so many may
// wait; whoever comes then is turned away at once.
type line struct {
	slots, room int
	patience    time.Duration // longest wait; 0 = any

	mu      sync.Mutex
	running int
	waiting []chan struct{}
	pace    time.Duration // of one request at the engine, a running mean; 0 until one was served
}

// enter waits for a slot, which leave gives back. It fails if the line is full, the wait too long, or ctx ends.
func (l *line) enter(ctx context.Context) error {
	turn, err := l.register()
	if turn == nil {
		return err
	}
	var late <-chan time.Time
	if l.patience > 0 {
		t := time.NewTimer(l.patience)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = unavailable("queue_timeout", "the request waited too long for its turn", l.delay())
	}
	l.giveUp(turn)
	return err
}

// register takes a slot at once (nil, nil) or a place in the line.
func (l *line) register() (chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.running < l.slots:
		l.running++
		return nil, nil
	case len(l.waiting) >= l.room:
		return nil, busy(l.delayLocked())
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	return turn, nil
}

func (l *line) giveUp(turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.pass() // the turn came in the same moment
}

// leave gives a slot back after so much time at the engine.
func (l *line) leave(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pace == 0 {
		l.pace = took
	}
	l.pace += (took - l.pace) / 8
	l.pass()
}

// pass hands a slot on to who waits longest.
func (l *line) pass() {
	if len(l.waiting) == 0 {
		l.running--
		return
	}
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
}

// delay guesses when the line will have moved on.
func (l *line) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delayLocked()
}

func (l *line) delayLocked() time.Duration {
	const least, most = time.Second, time.Minute
	return min(max(l.pace*time.Duration(len(l.waiting)+1)/time.Duration(2*l.slots), least), most)
}

// load tells how many are served and how many wait.
func (l *line) load() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, len(l.waiting)
}
