// Package mmap maps files into memory for reading.
package mmap

import "os"

// File is a mapped file. The file must not be changed while it is mapped: a mapping of a file that shrinks faults when
// it is read.
type File struct {
	Data  []byte // starts at a page; invalid after Close
	unmap func() error
}

// Map maps the first size bytes of f, at least one, which may be closed afterwards.
func Map(f *os.File, size int) (*File, error) {
	data, unmap, err := mapFile(f, size)
	if err != nil {
		return nil, err
	}
	return &File{data, unmap}, nil
}

// Close unmaps the file. Closing twice is harmless.
func (m *File) Close() error {
	unmap := m.unmap
	m.unmap, m.Data = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}
