package core

import (
	"context"
	"sync"
	"time"
)

// pollEvery is how often a waiter looks at a context that cannot wake it.
const pollEvery = 20 * time.Millisecond

// queue gives out places, first come first served.
type queue struct {
	mu      sync.Mutex
	free    []int // the one given out next at the end
	waiting []chan int
}

// newQueue has the places 0 to n-1.
func newQueue(n int) *queue {
	q := &queue{}
	for i := n - 1; i >= 0; i-- {
		q.free = append(q.free, i)
	}
	return q
}

// enter waits for a place. It returns the context's error if that ends first; contexts are also polled, on the calling
// goroutine, since those that stand for a C callback have no channel.
func (q *queue) enter(ctx context.Context) (place int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	turn := q.register()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case place := <-turn:
			return place, nil
		case <-ctx.Done():
		case <-tick.C:
		}
		if err := ctx.Err(); err != nil {
			q.giveUp(turn)
			return 0, err
		}
	}
}

// register gives a channel that a place will come from, or has come already.
func (q *queue) register() chan int {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn := make(chan int, 1)
	if last := len(q.free) - 1; last >= 0 {
		turn <- q.free[last]
		q.free = q.free[:last]
	} else {
		q.waiting = append(q.waiting, turn)
	}
	return turn
}

func (q *queue) giveUp(turn chan int) {
	q.mu.Lock()
	for i, w := range q.waiting {
		if w == turn {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.mu.Unlock()
			return
		}
	}
	q.mu.Unlock()
	q.leave(<-turn) // the place came in the same moment: pass it on
}

// leave gives a place back.
func (q *queue) leave(place int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.free = append(q.free, place)
		return
	}
	q.waiting[0] <- place
	q.waiting = q.waiting[1:]
}
