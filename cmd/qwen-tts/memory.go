package main

import (
	"errors"
	"io"
)

// A memoryFile is a file in memory: a WAV whose size is not known beforehand is written to it, header last.
type memoryFile struct {
	data []byte
	at   int
}

func (m *memoryFile) Write(p []byte) (int, error) {
	m.data = append(m.data, make([]byte, max(0, m.at+len(p)-len(m.data)))...)
	copy(m.data[m.at:], p)
	m.at += len(p)
	return len(p), nil
}

func (m *memoryFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += int64(m.at)
	case io.SeekEnd:
		offset += int64(len(m.data))
	}
	if offset < 0 || offset > int64(len(m.data)) {
		return 0, errors.New("seek outside the file")
	}
	m.at = int(offset)
	return offset, nil
}
