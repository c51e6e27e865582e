//go:build !unix

package gguf

// Release tells the system that a tensor's bytes are not needed soon; here it does nothing.
func (f *File) Release(*TensorInfo) {}

// ReleasePart does nothing here.
func (f *File) ReleasePart([]byte) {}
