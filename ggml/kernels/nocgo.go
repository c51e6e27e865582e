//go:build !cgo

package kernels

// Best is None.
func Best() Level { return None }

func (Level) available() bool { return false }

// Without an address, ggml.Builder.Custom refuses the kernel.

func convAddress() uintptr { return 0 }

func carryAddress() uintptr { return 0 }

func roundAddress() uintptr { return 0 }
