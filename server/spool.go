package server

import (
	"context"
	"io"
	"sync"
)

// spool carries encoded audio from the engine's side to the sender. Writing never waits for a slow reader, since others
// wait for the engine; what a reader has not taken yet is kept, at most one response.
type spool struct {
	mu    sync.Mutex
	data  []byte
	wrote bool
	ended bool
	err   error         // why it ended; nil: well
	wake  chan struct{} // of capacity 1
}

func newSpool() *spool { return &spool{wake: make(chan struct{}, 1)} }

// Write appends to what is to be sent.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.data = append(s.data, p...)
	s.wrote = s.wrote || len(p) > 0
	s.mu.Unlock()
	s.signal()
	return len(p), nil
}

// used tells whether there ever was anything to send.
func (s *spool) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// end says that nothing comes any more.
func (s *spool) end(err error) {
	s.mu.Lock()
	s.ended, s.err = true, err
	s.mu.Unlock()
	s.signal()
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next waits for data and returns all there is, in place of recycled, whose memory may be reused. At the end the error
// is io.EOF, or what end was told; a context that ends comes first.
func (s *spool) next(ctx context.Context, recycled []byte) ([]byte, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if data, err := s.take(recycled); data != nil || err != nil {
			return data, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

func (s *spool) take(recycled []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.data) > 0:
		data := s.data
		s.data = recycled[:0]
		return data, nil
	case s.ended && s.err != nil:
		return nil, s.err
	case s.ended:
		return nil, io.EOF
	}
	return nil, nil
}
