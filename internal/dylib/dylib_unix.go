//go:build !windows

package dylib

import (
	"os"
	"reflect"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Open loads a library and all it needs, without offering its symbols to others.
func Open(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// Symbol is the address of a library's function.
func Symbol(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }

// Close unloads a library that nothing of is in use.
func Close(lib uintptr) { _ = purego.Dlclose(lib) }

// Module is the file that this code was loaded from: the program, or libqwen.so inside another one; "" if it cannot be
// told. Of the program the loader knows only the name that it was started by, which for one found along PATH has no folder.
func Module() string {
	loaded := loadedAs()
	if len(os.Args) == 0 || loaded != os.Args[0] {
		return loaded
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return loaded
}

// loadedAs is the loader's name of the file that holds this code; "" if it has none.
func loadedAs() string {
	addr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return ""
	}
	info := &struct {
		fname *byte
		fbase uintptr
		sname *byte
		saddr uintptr
	}{}
	var dladdr func(addr uintptr, info unsafe.Pointer) int32
	purego.RegisterFunc(&dladdr, addr)
	if dladdr(reflect.ValueOf(loadedAs).Pointer(), unsafe.Pointer(info)) == 0 || info.fname == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(info.fname), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(info.fname, n))
}
