//go:build !linux

package core

// mayHaveGPU tells whether there can be a GPU here.
func mayHaveGPU(string) bool { return true }
