//go:build !windows

package ggml

import "github.com/ebitengine/purego"

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
