//go:build linux || darwin

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file; ErrTaken: somebody else has locked or removed it. The lock lasts until what is returned is closed, or the process ends; it is nil where the file system has no
// locks, so that nobody can have them.
func tryLock(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	lock := os.NewFile(uintptr(fd), f.Name())
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil && named(f):
		return lock, nil
	case err == nil || errors.Is(err, unix.EWOULDBLOCK):
		err = ErrTaken
	default:
		err = nil
	}
	lock.Close()
	return nil, err
}

// named tells whether the name of a file is still its own.
func named(f *os.File) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(here, there)
}

// removeAbandoned removes a file that nobody has locked.
func removeAbandoned(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // for writing: network file systems want it for a lock
	if err != nil {
		return err
	}
	defer f.Close()
	lock, err := tryLock(f)
	if err != nil {
		return err
	}
	if lock == nil {
		return errors.ErrUnsupported
	}
	defer lock.Close()
	return os.Remove(name)
}
