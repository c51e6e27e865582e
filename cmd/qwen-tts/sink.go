package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A sink is where the audio of one synthesis goes.
//
// A regular file is written under another name beside it and renamed by commit, so that whoever sees it sees all of
// it; discard leaves nothing behind. Pipes and devices are written to directly.
type sink struct {
	file    *os.File
	target  string // the name commit gives; "" for a pipe or device
	written bool   // commit has been done
}

// openSink creates what will become path.
func openSink(path string) (*sink, error) {
	// A link is followed: the file that it names is replaced, not the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o666) // less the umask
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil, ioError{fmt.Errorf("%s is a folder", path)}
		}
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, ioError{err}
			}
			return &sink{file: f}, nil
		}
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(partialName(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, ioError{err}
	}
	return &sink{file: f, target: path}, nil
}

// partialName returns a fresh name in the folder of path that nobody takes for a finished file.
func partialName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".partial-"+rand.Text()[:8])
}

// seekable tells whether the header can be completed once the length is known.
func (s *sink) seekable() bool { return s.target != "" }

// writer returns the file, without the ability to seek if it has none.
func (s *sink) writer() io.Writer {
	if s.seekable() {
		return s.file
	}
	return struct{ io.Writer }{s.file}
}

// commit makes the file appear under its name.
func (s *sink) commit() error {
	s.written = true
	if err := s.file.Close(); err != nil {
		s.remove()
		return ioError{err}
	}
	if s.target == "" {
		return nil
	}
	if err := os.Rename(s.file.Name(), s.target); err != nil {
		s.remove()
		return ioError{err}
	}
	return nil
}

// discard removes what was written, unless commit was called.
func (s *sink) discard() {
	if s.written {
		return
	}
	s.file.Close()
	s.remove()
}

func (s *sink) remove() {
	if s.target != "" {
		os.Remove(s.file.Name())
	}
}
