package kernels

import (
	"math"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// attend.h has the same numbers.
const (
	attendHead  = 256 // most channels of a head
	attendLanes = 16  // which they are a multiple of
)

// CanAttend tells whether Attend has a kernel for this processor, heads of a size that share keys and values with
// others, and a cache's types.
func CanAttend(be *ggml.Backend, head, heads, kv int, keys, values ggml.Type) bool {
	return hasQ8() && be.HasKernels() && head%attendLanes == 0 && head <= attendHead && heads%kv == 0 && grouped(heads/kv) &&
		keys == values && (keys == ggml.F32 || keys == gguf.F16)
}

// grouped tells whether so many heads may share keys and values.
func grouped(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// Attend is softmax(k·q / √D + mask)·v for one position of each lane: q [D, H, lanes], keys [D·KV, slots, lanes], values
// [slots, D·KV, lanes] of the same type, F32 or F16, mask [window, 1, 1, lanes] of zeros and -Inf, or none, which shows
// the first window slots -> [D·H, lanes]. What the mask hides does not matter, not even to the last bit.
func Attend(q, keys, values, mask ggml.Tensor, window int) ggml.Tensor {
	head, heads, lanes, slots := q.Dim(0), q.Dim(1), q.Dim(2), keys.Dim(1)
	kv := keys.Dim(0) / head
	ggml.Check(q.Type() == ggml.F32 && keys.Dim(2) == lanes && values.Dim(0) == slots && values.Dim(1) == keys.Dim(0) && values.Dim(2) == lanes &&
		window <= slots && (!mask.Valid() || mask.Type() == ggml.F32 && mask.Elements() == window*lanes), "attend", q, keys, values, mask)
	half := 0
	if keys.Type() == gguf.F16 {
		half = 1
	}
	scale := math.Float64bits(1 / math.Sqrt(float64(head)))
	return q.Builder().Custom(ggml.Kernel{Name: "attend", Func: attendAddress(),
		Params: []int64{int64(head), int64(heads), int64(kv), int64(slots), int64(window), int64(lanes), int64(half), int64(scale)}},
		ggml.F32, []int{head * heads, lanes}, q, keys, values, mask)
}
