//go:build unix

package mmap

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// open maps the first size bytes of f for reading.
func (m *File) open(f *os.File, size int) error {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	kept := os.NewFile(uintptr(fd), f.Name()) // for Check
	data, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		_ = kept.Close()
		return os.NewSyscallError("mmap", err)
	}
	m.Data, m.stat = data, kept.Stat
	m.unmap = func() error {
		return errors.Join(os.NewSyscallError("munmap", unix.Munmap(data)), kept.Close())
	}
	return nil
}
