//go:build !linux

package ggml

import "unsafe"

func wantLargePages(unsafe.Pointer, uintptr) {}
