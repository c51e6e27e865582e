package ggml

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePage is a usual size; smaller memory is not worth asking for.
const largePage = 2 << 20

// wantLargePages asks for large pages for memory of the host that was not used yet: reading weights in a row is a tenth
// faster with them. The system may decline.
func wantLargePages(base unsafe.Pointer, size uintptr) {
	page := uintptr(unix.Getpagesize())
	skip := (page - uintptr(base)%page) % page
	if size < skip+largePage {
		return
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(base, skip)), (size-skip)/page*page), unix.MADV_HUGEPAGE)
}
