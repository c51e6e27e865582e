package kernels

import (
	"sync/atomic"
	"unsafe"

	"github.com/libqwen/libqwen/ggml"
)

// Twin are Q8_0 weights that are multiplied where they lie in a file until a copy in panels, which is read faster, is
// there. The results are the same bits.
type Twin struct {
	Weight ggml.Tensor // [K, M]
	Panels Panels
	Ready  ggml.Tensor // I32 [1]: 0 until the panels are there
}

// Valid tells whether there are weights.
func (w Twin) Valid() bool { return w.Weight.Valid() }

// SetReady makes products use the panels from now on.
func (w Twin) SetReady() { atomic.StoreInt32(w.flag(), 1) }

func (w Twin) flag() *int32 { return (*int32)(unsafe.Pointer(unsafe.SliceData(w.Ready.Host()))) }

// MatMul is Panels.MatMul or, before, MatMul. Products of a few columns change over by themselves; others are what they
// were when they were built.
func (w Twin) MatMul(x ggml.Tensor) ggml.Tensor {
	if n := x.Elements() / x.Dim(0); n > q8Few {
		if atomic.LoadInt32(w.flag()) != 0 {
			return w.Panels.MatMul(x)
		}
		return MatMul(x, w.Weight)
	}
	p := w.Panels
	ggml.Check(fitsQ8(x, w.Weight) && x.Dim(0) == p.In, "twin", x, w.Weight)
	n := x.Elements() / p.In
	return x.Builder().Custom(ggml.Kernel{Name: "q8_twin", Func: q8TwinAddress(), Params: []int64{int64(p.In), int64(p.Out), int64(n), x.Builder().Crew()}},
		ggml.F32, []int{p.Out, x.Dim(1), x.Dim(2)}, roundColumns(x), w.Weight, p.Data, w.Ready)
}
