package dylib

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Open loads a DLL: a full path with what lies beside it, a bare name from the system's search path.
func Open(path string) (uintptr, error) {
	flags := uintptr(0)
	if filepath.IsAbs(path) {
		flags = windows.LOAD_WITH_ALTERED_SEARCH_PATH
	}
	h, err := windows.LoadLibraryEx(path, 0, flags)
	return uintptr(h), err
}

// Symbol is the address of a library's function.
func Symbol(lib uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(lib), name)
}

// Close unloads a library that nothing of is in use.
func Close(lib uintptr) { _ = windows.FreeLibrary(windows.Handle(lib)) }

// Module is the file of the running program; "" if it cannot be told.
func Module() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
