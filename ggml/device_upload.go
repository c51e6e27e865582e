package ggml

import (
	"unsafe"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// mirror is the host's side of a graph's inputs on a device with memory of its own: what is set there goes up in one
// piece with the next Compute, since each transfer costs far more than the few kilobytes of a frame.
type mirror struct {
	data   []byte
	whole  Tensor // I8, over all inputs
	lo, hi uintptr
}

// reflect gives the inputs of an arena, which has its memory, a mirror.
func (a *Arena) reflect() *mirror {
	if a.be.host || len(a.tensors) == 0 || len(a.bufs) != 1 {
		return nil
	}
	m := &mirror{data: make([]byte, a.size)}
	off := uintptr(0)
	for _, t := range a.tensors {
		t.mem.ptr, t.mem.mirror, t.mem.at = unsafe.Pointer(&m.data[off]), m, off
		off += a.padded(t)
	}
	m.whole = Tensor{c: newTensor(a.ctx, gguf.I8, []int{int(a.size)})}
	if fn.ggml_backend_tensor_alloc(a.bufs[0], m.whole.c, fn.ggml_backend_buffer_get_base(a.bufs[0])) != 0 {
		shapePanic("inputs: %d bytes could not be placed", a.size)
	}
	return m
}

// touch notes that n bytes at an offset are newer than those of the device.
func (m *mirror) touch(at, n uintptr) {
	if m.hi == 0 {
		m.lo = at
	}
	m.lo, m.hi = min(m.lo, at), max(m.hi, at+n)
}

// upload brings up what was set.
func (m *mirror) upload() {
	if m == nil || m.hi == 0 {
		return
	}
	fn.ggml_backend_tensor_set(m.whole.c, unsafe.Pointer(&m.data[m.lo]), m.lo, m.hi-m.lo)
	m.lo, m.hi = 0, 0
}
