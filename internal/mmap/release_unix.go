//go:build unix

package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Release tells the system that a part of a mapped file is not needed soon: its pages no longer count as this process's
// memory, and come back from the file when they are read. Only whole pages within the part are released. It must not
// be used on other memory, whose contents would be lost.
func Release(part []byte) {
	page := unix.Getpagesize()
	lead := -int(uintptr(unsafe.Pointer(unsafe.SliceData(part)))) & (page - 1)
	if lead >= len(part) {
		return
	}
	if whole := (len(part) - lead) / page * page; whole > 0 {
		_ = unix.Madvise(part[lead:lead+whole], unix.MADV_DONTNEED) // only advice
	}
}
