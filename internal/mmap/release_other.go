//go:build !unix

package mmap

// Release tells the system that a part of a mapped file is not needed soon; here it does nothing.
func Release([]byte) {}
