//go:build cgo && !qtfault

package main

// faulty says whether a fault is to be injected at the named place: never, in a library for use.
func faulty(string) bool { return false }
