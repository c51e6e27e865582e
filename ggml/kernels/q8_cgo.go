//go:build cgo

package kernels

// #include "attend.h"
// #include "panels.h"
// static uintptr_t q8_pack_address(void) { return (uintptr_t)lqk_q8_pack; }
// static uintptr_t q8_round_address(void) { return (uintptr_t)lqk_q8_round; }
// static uintptr_t q8_wide_address(void) { return (uintptr_t)lqk_q8_wide; }
// static uintptr_t q8_few_address(void) { return (uintptr_t)lqk_q8_few; }
// static uintptr_t q8_panels_address(void) { return (uintptr_t)lqk_q8_panels; }
// static uintptr_t q8_twin_address(void) { return (uintptr_t)lqk_q8_twin; }
// static uintptr_t q4_panels_address(void) { return (uintptr_t)lqk_q4_panels; }
// static uintptr_t q6_panels_address(void) { return (uintptr_t)lqk_q6_panels; }
// static uintptr_t attend_address(void) { return (uintptr_t)lqk_attend; }
import "C"

func hasQ8() bool { return C.lqk_q8_has() != 0 }

func q8PackAddress() uintptr { return uintptr(C.q8_pack_address()) }

func q8RoundAddress() uintptr { return uintptr(C.q8_round_address()) }

func q8WideAddress() uintptr { return uintptr(C.q8_wide_address()) }

func q8FewAddress() uintptr { return uintptr(C.q8_few_address()) }

func q8PanelsAddress() uintptr { return uintptr(C.q8_panels_address()) }

func q8TwinAddress() uintptr { return uintptr(C.q8_twin_address()) }

func q4PanelsAddress() uintptr { return uintptr(C.q4_panels_address()) }

func q6PanelsAddress() uintptr { return uintptr(C.q6_panels_address()) }

func attendAddress() uintptr { return uintptr(C.attend_address()) }
