//go:build !cgo

package kernels

func hasQ8() bool { return false }

func q8PackAddress() uintptr { return 0 }

func q8MatMulAddress() uintptr { return 0 }
