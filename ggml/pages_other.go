//go:build !linux

package ggml

// zeroPages is nil: ggml allocates.
func zeroPages(int) []byte { return nil }

func freePages([]byte) {}
