// Package atomicfile writes files that appear under their names only when they are complete.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A File is being written. A regular file lies under another name beside its own until Commit, so that whoever sees
// it sees all of it; Discard leaves nothing behind. What a killed process leaves goes when its file is created the next
// time. Pipes and devices are written to directly.
type File struct {
	file   *os.File
	lock   *os.File // holds the lock of file beyond its Close; nil where files are not locked
	target string   // the name that Commit gives; "" for a pipe or device
	done   bool     // Commit has been called
}

// Create starts what will become path. A link is followed: the file that it names is replaced, or created, not the link. A
// file that exists keeps its mode. Errors are the system's.
func Create(path string) (*File, error) { return create(path, false) }

// ErrTaken is a file that somebody else is writing.
var ErrTaken = errors.New("being written by somebody else")

// CreateAlone is Create, but fails with ErrTaken while another process, or somebody else in this one, writes the same
// file. Where files cannot be locked it is Create.
func CreateAlone(path string) (*File, error) { return create(path, true) }

func create(path string, alone bool) (*File, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
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
	f, lock, err := createPartial(path, mode, alone)
	if err != nil {
		return nil, renamed(err, path)
	}
	return &File{file: f, lock: lock, target: path}, nil
}

// maxLinks is how many links to links are followed.
const maxLinks = 40

// resolve follows links, also to a file that is not there yet.
func resolve(path string) (string, error) {
	for range maxLinks {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(link) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path, nil
			}
			link = folder + string(filepath.Separator) + link // not cleaned: ".." may come after a link
		}
		path = link
	}
	return "", &fs.PathError{Op: "create", Path: path, Err: syscall.ELOOP}
}

// renamed gives an error the name that the caller knows.
func renamed(err error, path string) error {
	if e, ok := err.(*fs.PathError); ok {
		e.Path = path
	}
	return err
}

// createPartial makes the file beside path that is written to. Its name is always the same, so that what a killed process
// has left there is found and removed; who is alive holds its lock, and then another name is taken, unless alone is set.
func createPartial(path string, mode fs.FileMode, alone bool) (f, lock *os.File, err error) {
	name := partialName(path)
	for range 2 {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case err == nil:
			if lock, err = tryLock(f); err == nil {
				return f, lock, nil
			}
			f.Close() // somebody takes it for an abandoned one just now, and removes it
		case errors.Is(err, fs.ErrExist):
			err = removeAbandoned(name)
		default:
			return nil, nil, err
		}
		if err != nil {
			break
		}
	}
	if alone && errors.Is(err, ErrTaken) {
		return nil, nil, err
	}
	f, err = os.OpenFile(name+"-"+rand.Text()[:8], os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	return f, nil, err
}

// partialName returns a name in the folder of path that nobody takes for a finished file.
func partialName(path string) string {
	base := filepath.Base(path)
	base = strings.ToValidUTF8(base[:min(len(base), maxBase)], "")
	return filepath.Join(filepath.Dir(path), "."+base+".partial")
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
		return regular{f.file, f.target}
	}
	return struct{ io.Writer }{f.file}
}

// regular is a file whose errors name what it will become.
type regular struct {
	*os.File
	target string
}

func (r regular) Write(p []byte) (int, error) {
	n, err := r.File.Write(p)
	return n, renamed(err, r.target)
}

func (r regular) ReadFrom(in io.Reader) (int64, error) {
	n, err := r.File.ReadFrom(in)
	return n, renamed(err, r.target)
}

// Sync has what was written stored for good, so that not even a crash of the system leaves less under the file's name.
func (f *File) Sync() error { return renamed(f.file.Sync(), f.target) }

// Commit makes the file appear under its name.
func (f *File) Commit() error {
	f.done = true
	defer f.unlock()
	if err := f.file.Close(); err != nil {
		f.remove()
		return renamed(err, f.target)
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
	f.unlock()
}

func (f *File) unlock() {
	if f.lock != nil {
		f.lock.Close()
	}
}

func (f *File) remove() {
	if f.target != "" {
		os.Remove(f.file.Name())
	}
}
