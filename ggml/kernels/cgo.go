//go:build cgo

package kernels

// #cgo CFLAGS: -O3 -Wall -Wextra
// #cgo LDFLAGS: -lm
// #include "kernels.h"
// static uintptr_t conv_address(void) { return (uintptr_t)lqk_conv; }
// static uintptr_t carry_address(void) { return (uintptr_t)lqk_carry; }
// static uintptr_t round_address(void) { return (uintptr_t)lqk_round; }
import "C"

// Best is the fastest level of this processor; None if ggml's operations are faster.
func Best() Level { return Level(C.lqk_best()) }

func (l Level) available() bool { return C.lqk_has(C.int(l)) != 0 }

func convAddress() uintptr { return uintptr(C.conv_address()) }

func carryAddress() uintptr { return uintptr(C.carry_address()) }

func roundAddress() uintptr { return uintptr(C.round_address()) }
