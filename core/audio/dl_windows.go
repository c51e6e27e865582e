package audio

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// dlopen loads a DLL: a full path with what lies beside it, a bare name from the system's search path.
func dlopen(path string) (uintptr, error) {
	flags := uintptr(0)
	if filepath.IsAbs(path) {
		flags = windows.LOAD_WITH_ALTERED_SEARCH_PATH
	}
	h, err := windows.LoadLibraryEx(path, 0, flags)
	return uintptr(h), err
}

func dlsym(lib uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(lib), name)
}
