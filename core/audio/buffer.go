package audio

import (
	"errors"
	"io"
)

// Buffer is a file in memory that a Writer can go back in, for files that are complete before anybody sees them. The
// zero value is empty.
type Buffer struct {
	data []byte
	at   int
}

// Bytes is the content; it is valid until the next Write.
func (b *Buffer) Bytes() []byte { return b.data }

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	over := copy(b.data[b.at:], p)
	b.data = append(b.data, p[over:]...)
	b.at += len(p)
	return len(p), nil
}

// Seek implements io.Seeker within what was written.
func (b *Buffer) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += int64(b.at)
	case io.SeekEnd:
		offset += int64(len(b.data))
	}
	if offset < 0 || offset > int64(len(b.data)) {
		return 0, errors.New("audio: seek outside the file")
	}
	b.at = int(offset)
	return offset, nil
}
