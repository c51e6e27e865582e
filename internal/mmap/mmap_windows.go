package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// open maps the first size bytes of f for reading.
func (m *File) open(f *os.File, size int) error {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return os.NewSyscallError("CreateFileMapping", err)
	}
	// The view keeps the mapping alive.
	defer windows.CloseHandle(mapping)
	addr, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return os.NewSyscallError("MapViewOfFile", err)
	}
	// addr is memory of the system, which the garbage collector neither moves nor frees. The conversion through
	// a pointer to addr is the form of it that vet accepts.
	m.Data = unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
	m.unmap = func() error { return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(addr)) }
	return nil
}
