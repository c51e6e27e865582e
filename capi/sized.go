package main

// #include "bridge.h"
import "C"

import "unsafe"

// The structs that start with struct_size: each caller was compiled with some release's layout, which may be
// shorter or longer than ours. Fields are only ever appended.

// maxStructSize bounds what struct_size may claim: enough for any later release, too little for a wild number
// to lead far astray.
const maxStructSize = 4096

// Sizes of the first release, which every caller has at least. A struct that grows keeps its number here
// as the offset of the first field that was added.
const (
	minOptions = unsafe.Offsetof(C.struct_qt_options{}.predictor_path)
	minRequest = unsafe.Offsetof(C.struct_qt_request{}.piece_chars)
	minResult  = unsafe.Offsetof(C.struct_qt_result{}.load_ms)
	minDevice  = unsafe.Sizeof(C.struct_qt_device{})

	minRecording = unsafe.Sizeof(C.struct_qt_recording{})
)

// checkSize refuses sizes that no release had.
func checkSize(field string, size, least uintptr) error {
	if size < least || size > maxStructSize {
		return invalid("%s: %d bytes, want %d to %d; set it by the _init function", field, size, least, maxStructSize)
	}
	return nil
}

// structSize reads the first field of a struct, as a size.
func structSize[T any](p *T) uintptr { return uintptr(*(*C.int)(unsafe.Pointer(p))) }

func bytesOf[T any](p *T, n uintptr) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), n) }

// checkSized accepts a caller's struct for reading, field by field and in place: all fields of the first release
// are there, and a later one where structSize exceeds its offset. Bytes beyond our layout come from a newer
// header; they must be zero, or the caller asks for something that this library does not know.
func checkSized[T any](name string, p *T, least uintptr) error {
	size, known := structSize(p), unsafe.Sizeof(*p)
	if err := checkSize(name+".struct_size", size, least); err != nil {
		return err
	}
	theirs := bytesOf(p, size)
	for i := known; i < size; i++ {
		if theirs[i] != 0 {
			return invalid("%s: byte %d is set, and this library knows %d: it needs a newer library", name, i, known)
		}
	}
	return nil
}

// reaches tells whether a caller's struct has the pointer field at an offset.
func reaches[T any](p *T, offset uintptr) bool {
	return structSize(p) >= offset+unsafe.Sizeof(uintptr(0))
}

// writeSized writes value over a caller's struct of the given size and zeroes what is beyond our layout.
// The first field gets the size.
func writeSized[T any](to *T, size uintptr, value T) {
	*(*C.int)(unsafe.Pointer(&value)) = C.int(size)
	theirs := bytesOf(to, size)
	n := copy(theirs, bytesOf(&value, unsafe.Sizeof(value)))
	clear(theirs[n:])
}

// initSized is the body of the qt_X_init functions. A size without room for the struct_size, or absurdly
// large, is none of a caller of ours: nothing is written.
func initSized[T any](to *T, size uintptr, defaults T) error {
	if to == nil {
		return nil
	}
	if err := checkSize("size", size, unsafe.Sizeof(C.int(0))); err != nil {
		return err
	}
	writeSized(to, size, defaults)
	return nil
}
