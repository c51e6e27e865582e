//go:build cgo && qtfault

package main

// #include <stdlib.h>
import "C"

import "unsafe"

// faulty says whether the environment variable QT_FAULT names this place: an export, which then panics,
// or "malloc", which then fails. Only in the library that the tests build with -tags qtfault.
//
// It asks C for the variable, since Go keeps the environment of the time when the library was loaded.
func faulty(place string) bool {
	name := C.CString("QT_FAULT")
	defer C.free(unsafe.Pointer(name))
	value := C.getenv(name)
	return value != nil && C.GoString(value) == place
}
