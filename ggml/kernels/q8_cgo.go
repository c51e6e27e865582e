//go:build cgo

package kernels

// #include "q8.h"
// static uintptr_t q8_pack_address(void) { return (uintptr_t)lqk_q8_pack; }
// static uintptr_t q8_matmul_address(void) { return (uintptr_t)lqk_q8_matmul; }
import "C"

func hasQ8() bool { return C.lqk_q8_has() != 0 }

func q8PackAddress() uintptr { return uintptr(C.q8_pack_address()) }

func q8MatMulAddress() uintptr { return uintptr(C.q8_matmul_address()) }
