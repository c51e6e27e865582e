//go:build !windows

package ggml

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// initParams is struct ggml_init_params.
type initParams struct {
	memSize uintptr
	_       unsafe.Pointer // a buffer of the caller
	noAlloc bool
}

// initFunc binds ggml_init, which takes its parameters by value.
func initFunc(addr uintptr) func(uintptr) cContext {
	var f func(initParams) cContext
	purego.RegisterFunc(&f, addr)
	return func(size uintptr) cContext { return f(initParams{memSize: size, noAlloc: true}) }
}
