// Package mmap maps files into memory for reading.
package mmap

import (
	"errors"
	"fmt"
	"os"
)

// File is a mapped file. The file must not be changed while it is mapped: a mapping of a file that shrinks faults when
// it is read. Check tells whether it has.
type File struct {
	Data  []byte // starts at a page; invalid after Close
	name  string
	was   os.FileInfo                 // when it was mapped
	stat  func() (os.FileInfo, error) // nil where the system does not let mapped files shrink
	unmap func() error
}

// Map maps the first size bytes of f, at least one, which may be closed afterwards.
func Map(f *os.File, size int) (*File, error) {
	was, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m := &File{name: f.Name(), was: was}
	if err := m.open(f, size); err != nil {
		return nil, err
	}
	return m, nil
}

// ErrShrunk: a mapped file has become shorter.
var ErrShrunk = errors.New("the file has been cut short since it was opened")

// Check looks whether the file is still as long as its mapping, which must not be read if not (ErrShrunk), and whether it has
// been modified. A file that was replaced by another of its name is neither.
func (m *File) Check() (modified bool, err error) {
	if m.stat == nil {
		return false, nil
	}
	is, err := m.stat()
	switch {
	case err != nil:
		return false, err
	case is.Size() < int64(len(m.Data)):
		return true, fmt.Errorf("%s: %w, from %d bytes to %d", m.name, ErrShrunk, len(m.Data), is.Size())
	}
	return is.Size() != m.was.Size() || !is.ModTime().Equal(m.was.ModTime()), nil
}

// Close unmaps the file. Closing twice is harmless.
func (m *File) Close() error {
	unmap := m.unmap
	m.unmap, m.Data, m.stat = nil, nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}
