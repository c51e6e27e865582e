package codec

// Snapshot is what a stream remembers at some point, to go on from there again. It belongs to streams of the same
// Decoder.
type Snapshot struct {
	convs, cache []byte
	pos          int
}

// Snapshot copies the stream's memory.
func (s *Stream) Snapshot() *Snapshot {
	return &Snapshot{convs: s.convs.Save(), cache: s.cache.Save(), pos: s.pos}
}

// Restore makes the stream go on from a snapshot as if the frames before it had just been decoded.
func (s *Stream) Restore(p *Snapshot) {
	s.convs.Restore(p.convs)
	s.cache.Restore(p.cache)
	s.pos = p.pos
	if s.taps != nil {
		s.taps.reset()
	}
}

// Bytes that the snapshot takes.
func (p *Snapshot) Bytes() int { return len(p.convs) + len(p.cache) }
