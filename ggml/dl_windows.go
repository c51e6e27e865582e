package ggml

import "golang.org/x/sys/windows"

// dlopen loads a DLL and all it needs, searching beside the DLL itself first.
func dlopen(path string) (uintptr, error) {
	h, err := windows.LoadLibraryEx(path, 0, windows.LOAD_WITH_ALTERED_SEARCH_PATH)
	return uintptr(h), err
}

func dlopenLocal(path string) (uintptr, error) { return dlopen(path) }

func dlsym(lib uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(lib), name)
}

func dlclose(lib uintptr) { _ = windows.FreeLibrary(windows.Handle(lib)) }
