package kernels

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// q8.h has the same numbers.
const (
	q8Block  = 32  // values that share a scale
	q8Tile   = 16  // columns
	q8Packed = 160 // size of a block of a tile, in floats
)

// MatMul is w·x as ggml.Tensor.MatMul, w [K, M], x [K, N] -> F32 [M, N]. For Q8_0 weights and several columns it has a
// kernel of its own where the processor has AVX-512 VNNI: reading each weight once for all columns, it takes a third of
// the time of ggml's. A column's result does not depend on the others.
func MatMul(x, w ggml.Tensor) ggml.Tensor {
	if !fitsQ8(x, w) {
		return x.MatMul(w)
	}
	b := x.Builder()
	k, m, n := w.Dim(0), w.Dim(1), x.Dim(1)
	packed := b.Custom(ggml.Kernel{Name: "q8_pack", Func: q8PackAddress(), Params: []int64{int64(k), int64(n)}},
		ggml.F32, []int{q8Packed * (k / q8Block), (n + q8Tile - 1) / q8Tile}, x)
	return b.Custom(ggml.Kernel{Name: "q8_matmul", Func: q8MatMulAddress(), Params: []int64{int64(k), int64(m), int64(n)}},
		ggml.F32, []int{m, n}, packed, w)
}

// HasQ8 tells whether there is a kernel for Q8_0 weights.
func HasQ8() bool { return hasQ8() }

// fitsQ8 tells whether the kernel can compute w·x.
func fitsQ8(x, w ggml.Tensor) bool {
	return w.Type() == gguf.Q8_0 && x.Type() == ggml.F32 && x.Dim(1) > 1 && matrix(x) && matrix(w) && x.Dim(0) == w.Dim(0) &&
		x.Dense() && w.Dense() && x.Builder().HasKernels() && hasQ8()
}

func matrix(t ggml.Tensor) bool { return t.Dim(2) == 1 && t.Dim(3) == 1 }
