package audio

import "io"

// sink is a virtual file that is written. What is new waits in memory until drain hands it on, so that the destination
// is never called from C. What libsndfile changes afterwards (headers, when it knows the length) is kept for finish if
// the destination can seek, else dropped.
type sink struct {
	dst      io.Writer
	seekable *section // nil: the destination cannot seek

	fresh   []byte // not handed on yet
	handed  int64  // bytes handed on
	pos     int64
	changes []change
}

// change is what is to be written over bytes that were handed on.
type change struct {
	at   int64
	data []byte
}

func (s *sink) length() int64 { return s.handed + int64(len(s.fresh)) }

func (s *sink) tell() int64 { return s.pos }

func (s *sink) seek(offset int64, whence int32) int64 {
	to := place(offset, whence, s.pos, s.length())
	if to >= 0 {
		s.pos = to
	}
	return to
}

func (s *sink) read([]byte) int64 { return 0 }

func (s *sink) write(src []byte) int64 {
	n := int64(len(src))
	if early := min(n, s.handed-s.pos); early > 0 {
		if s.seekable != nil {
			s.changes = append(s.changes, change{s.pos, append([]byte(nil), src[:early]...)})
		}
		s.pos, src = s.pos+early, src[early:]
	}
	at := int(s.pos - s.handed)
	over := 0
	if len(src) > 0 {
		over = copy(s.fresh[at:], src)
	}
	s.fresh = append(s.fresh, src[over:]...)
	s.pos += int64(len(src))
	return n
}

// drain hands on what is new.
func (s *sink) drain() error {
	if len(s.fresh) == 0 {
		return nil
	}
	n, err := s.dst.Write(s.fresh)
	if err == nil && n < len(s.fresh) {
		err = io.ErrShortWrite
	}
	s.handed += int64(len(s.fresh))
	s.fresh = s.fresh[:0]
	return err
}

// finish hands on the rest and makes the changes.
func (s *sink) finish() error {
	if err := s.drain(); err != nil || len(s.changes) == 0 {
		return err
	}
	for _, c := range s.changes {
		if _, err := s.seekable.Seek(c.at, io.SeekStart); err != nil {
			return err
		}
		if _, err := s.seekable.Write(c.data); err != nil {
			return err
		}
	}
	_, err := s.seekable.Seek(0, io.SeekEnd)
	return err
}
