//go:build !windows

package ggml

import (
	"reflect"
	"unsafe"

	"github.com/ebitengine/purego"
)

// dlopen loads a shared library and all it needs.
func dlopen(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

// dlopenLocal loads a shared library without offering its symbols to others.
func dlopenLocal(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }

func dlclose(lib uintptr) { _ = purego.Dlclose(lib) }

// modulePath is the file that this code was loaded from: the executable, or libqwen.so inside a host program.
func modulePath() string {
	addr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return ""
	}
	var info struct {
		fname *byte
		fbase uintptr
		sname *byte
		saddr uintptr
	}
	pc := reflect.ValueOf(modulePath).Pointer()
	if r, _, _ := purego.SyscallN(addr, pc, uintptr(unsafe.Pointer(&info))); r == 0 {
		return ""
	}
	return goString(info.fname)
}
