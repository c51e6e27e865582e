//go:build !windows

package onnx

import (
	"fmt"
	"strings"
	"unsafe"
)

// nativePath is a path as ONNX Runtime wants it here: bytes that end with a zero.
func nativePath(path string) (unsafe.Pointer, error) {
	if strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("%q: a path has no zero bytes", path)
	}
	return unsafe.Pointer(unsafe.StringData(path + "\x00")), nil
}
