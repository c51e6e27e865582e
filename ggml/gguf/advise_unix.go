//go:build unix

package gguf

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Release tells the system that a tensor's bytes are not needed soon: their pages no longer count as this process's
// memory, and come back from the file when they are read. Only whole pages within the tensor are released.
func (f *File) Release(t *TensorInfo) { f.ReleasePart(f.Data(t)) }

// ReleasePart is Release for a part of a tensor's data.
func (f *File) ReleasePart(data []byte) {
	if f.unmap == nil {
		return // not a mapping
	}
	page := unix.Getpagesize()
	lead := -int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) & (page - 1)
	if lead >= len(data) {
		return
	}
	if whole := (len(data) - lead) / page * page; whole > 0 {
		_ = unix.Madvise(data[lead:lead+whole], unix.MADV_DONTNEED) // only advice
	}
}
