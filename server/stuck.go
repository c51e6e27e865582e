package server

import (
	"sync"
	"time"
)

// stuck knows the calls of the engine that were cancelled and have not come back: a device that hangs shows so.
type stuck struct {
	mu    sync.Mutex
	since map[*synthesis]time.Time
}

func (s *stuck) add(y *synthesis) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[*synthesis]time.Time{}
	}
	s.since[y] = time.Now()
}

func (s *stuck) remove(y *synthesis) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, y)
}

// longer tells whether a call is overdue by more than that.
func (s *stuck) longer(than time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.since {
		if time.Since(t) > than {
			return true
		}
	}
	return false
}
