// Package atomicfile writes files that appear under their names only when they are complete.
package atomicfile

import (
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A File is being written. A regular file lies under another name beside its own until Commit, so that whoever sees
// it sees all of it; Discard leaves nothing behind. Pipes and devices are written to directly.
type File struct {
	file   *os.File
	target string // the name that Commit gives; "" for a pipe or device
	done   bool   // Commit has been called
}

// Create starts what will become path. A link is followed: the file that it names is replaced, not the link. A file
// that exists keeps its mode. Errors are the system's.
func Create(path string) (*File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o666) // less the umask
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil, &fs.PathError{Op: "create", Path: path, Err: syscall.EISDIR}
		}
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, err
			}
			return &File{file: f}, nil
		}
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(partialName(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		if e, ok := err.(*fs.PathError); ok {
			e.Path = path // the name that the caller knows
		}
		return nil, err
	}
	return &File{file: f, target: path}, nil
}

// partialName returns a fresh name in the folder of path that nobody takes for a finished file.
func partialName(path string) string {
	base := filepath.Base(path)
	base = strings.ToValidUTF8(base[:min(len(base), maxBase)], "")
	return filepath.Join(filepath.Dir(path), "."+base+".partial-"+rand.Text()[:8])
}

// maxBase leaves room for what is added to a name: file systems allow 255 bytes.
const maxBase = 200

// Write replaces or creates a file with that content.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Writer().Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Seekable tells whether Writer can seek: a file can, a pipe or device cannot.
func (f *File) Seekable() bool { return f.target != "" }

// Writer is where the content goes; it is an io.WriteSeeker if, and only if, the file is seekable.
func (f *File) Writer() io.Writer {
	if f.Seekable() {
		return f.file
	}
	return struct{ io.Writer }{f.file}
}

// Commit makes the file appear under its name.
func (f *File) Commit() error {
	f.done = true
	if err := f.file.Close(); err != nil {
		f.remove()
		return err
	}
	if f.target == "" {
		return nil
	}
	if err := os.Rename(f.file.Name(), f.target); err != nil {
		f.remove()
		return err
	}
	return nil
}

// Discard removes what was written, unless Commit was called.
func (f *File) Discard() {
	if f.done {
		return
	}
	f.done = true
	f.file.Close()
	f.remove()
}

func (f *File) remove() {
	if f.target != "" {
		os.Remove(f.file.Name())
	}
}
