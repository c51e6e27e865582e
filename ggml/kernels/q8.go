package kernels

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// q8.h has the same numbers.
const (
	q8Block  = 32  // values that share a scale
	q8Bytes  = 34  // size of a block of weights
	q8Tile   = 16  // columns
	q8Packed = 160 // size of a block of a tile, in floats
	q8Panel  = 16  // rows

	q8Few = 4 // so many columns are faster one by one than as a tile
)

// MatMul is w·x as ggml.Tensor.MatMul, w [K, M], x [K, N, P] -> F32 [M, N, P]. For Q8_0 weights it has kernels of its
// own where the processor has AVX-512 VNNI. They read each weight once for all columns: several columns take a third of
// the time of ggml's, and one column what reading the weights takes. A column's result does not depend on the others.
func MatMul(x, w ggml.Tensor) ggml.Tensor {
	if !fitsQ8(x, w) {
		return x.MatMul(w)
	}
	in, out := w.Dim(0), w.Dim(1)
	if columns := x.Elements() / in; columns > q8Few {
		return multiply(x, packColumns(x), w, "q8_wide", q8WideAddress(), in, out)
	}
	return multiply(x, roundColumns(x), w, "q8_few", q8FewAddress(), in, out)
}

// HasQ8 tells whether there are kernels for Q8_0 weights.
func HasQ8() bool { return hasQ8() }

// fitsQ8 tells whether a kernel can compute w·x.
func fitsQ8(x, w ggml.Tensor) bool {
	return w.Type() == gguf.Q8_0 && x.Type() == ggml.F32 && w.Dim(2) == 1 && w.Dim(3) == 1 && x.Dim(3) == 1 &&
		x.Dim(0) == w.Dim(0) && x.Dense() && w.Dense() && x.Builder().HasKernels() && hasQ8()
}

// multiply is the node of the products of prepared columns of x with weights.
func multiply(x, columns, w ggml.Tensor, name string, address uintptr, in, out int) ggml.Tensor {
	n := x.Elements() / in
	return x.Builder().Custom(ggml.Kernel{Name: name, Func: address, Params: []int64{int64(in), int64(out), int64(n), x.Builder().Crew()}},
		ggml.F32, []int{out, x.Dim(1), x.Dim(2)}, columns, w)
}

// packColumns rounds columns and packs them in tiles.
func packColumns(x ggml.Tensor) ggml.Tensor {
	k := x.Dim(0)
	n := x.Elements() / k
	return x.Builder().Custom(ggml.Kernel{Name: "q8_pack", Func: q8PackAddress(), Params: []int64{int64(k), int64(n)}},
		ggml.F32, []int{q8Packed * (k / q8Block), (n + q8Tile - 1) / q8Tile}, x)
}

// roundColumns rounds columns one by one: bytes, scales and sums.
func roundColumns(x ggml.Tensor) ggml.Tensor {
	k := x.Dim(0)
	n := x.Elements() / k
	return x.Builder().Custom(ggml.Kernel{Name: "q8_round", Func: q8RoundAddress(), Params: []int64{int64(k), int64(n)}},
		ggml.F32, []int{k/4 + 3*k/q8Block, n}, x)
}
