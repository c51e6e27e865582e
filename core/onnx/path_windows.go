package onnx

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// nativePath is a path as ONNX Runtime wants it here: UTF-16 that ends with a zero.
func nativePath(path string) (unsafe.Pointer, error) {
	p, err := windows.UTF16PtrFromString(path)
	return unsafe.Pointer(p), err
}
