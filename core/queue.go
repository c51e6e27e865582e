package core

import (
	"context"
	"sync"
	"time"
)

// pollEvery is how often a waiter looks at a context that cannot wake it.
const pollEvery = 20 * time.Millisecond

// queue lets one caller in at a time, first come first served.
type queue struct {
	mu      sync.Mutex
	busy    bool
	waiting []chan struct{}
}

// enter waits for the caller's turn. It returns the context's error if that ends first; contexts are also polled,
// on the calling goroutine, since those that stand for a C callback have no channel.
func (q *queue) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	turn := q.register()
	if turn == nil {
		return nil
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-turn:
			return nil
		case <-ctx.Done():
		case <-tick.C:
		}
		if err := ctx.Err(); err != nil {
			q.giveUp(turn)
			return err
		}
	}
}

// register takes the turn at once (nil) or a place in the queue.
func (q *queue) register() chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.busy {
		q.busy = true
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	return turn
}

func (q *queue) giveUp(turn chan struct{}) {
	q.mu.Lock()
	for i, w := range q.waiting {
		if w == turn {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.mu.Unlock()
			return
		}
	}
	q.mu.Unlock()
	q.leave() // the turn came in the same moment: pass it on
}

// leave passes the turn on.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}
