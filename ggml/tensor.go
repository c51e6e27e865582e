package ggml

import (
	"fmt"
	"unsafe"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// Type of a tensor's elements.
type Type = gguf.Type

// The element types that the engine itself creates.
const (
	F32 = gguf.F32
	F16 = gguf.F16
	I32 = gguf.I32
	I64 = gguf.I64
)

// Tensor is a node of a graph under construction, or memory in an Arena. It is a small value; copy it freely.
type Tensor struct {
	c   *cTensor
	b   *Builder // the graph it belongs to; nil for memory in an arena
	mem *memory  // where its data is; nil for intermediate results
}

// memory is shared by all copies of a Tensor, since the address comes after the tensor.
type memory struct {
	ptr    unsafe.Pointer // nil where the data is not in host memory
	mirror *mirror        // that ptr lies in; nil where ptr is the data itself
	at     uintptr        // its place there
	be     *Backend       // that the memory is of; nil for results
}

// Valid tells whether t is a tensor at all (an optional weight may be absent).
func (t Tensor) Valid() bool { return t.c != nil }

// Type of the elements.
func (t Tensor) Type() Type { return t.c.typ }

// Dim is the size of dimension i, ggml order.
func (t Tensor) Dim(i int) int { return int(t.c.ne[i]) }

// Shape in ggml order, without trailing ones.
func (t Tensor) Shape() []int {
	n := 4
	for n > 1 && t.c.ne[n-1] == 1 {
		n--
	}
	s := make([]int, n)
	for i := range s {
		s[i] = int(t.c.ne[i])
	}
	return s
}

// Elements is their number.
func (t Tensor) Elements() int { return int(t.c.ne[0] * t.c.ne[1] * t.c.ne[2] * t.c.ne[3]) }

func (t Tensor) String() string {
	if !t.Valid() {
		return "none"
	}
	return fmt.Sprintf("%v%v", t.Type(), t.Shape())
}

// Host is the data of a tensor in an arena that lies in memory of the host, nil elsewhere.
func (t Tensor) Host() []byte {
	if t.mem == nil || t.mem.ptr == nil {
		return nil
	}
	return unsafe.Slice((*byte)(t.mem.ptr), fn.ggml_nbytes(t.c))
}

// element is what can be moved between the host and a tensor.
type element interface {
	~float32 | ~int32 | ~int64 | ~uint16 | ~uint8
}

// SetF32, SetI32 and SetI64 copy values into a tensor of that type, from its first element on.
func (t Tensor) SetF32(v []float32) { set(t, F32, v) }
func (t Tensor) SetI32(v []int32)   { set(t, I32, v) }
func (t Tensor) SetI64(v []int64)   { set(t, I64, v) }

// SetBytes copies raw data of the tensor's own type.
func (t Tensor) SetBytes(v []byte) { move(t, v, 0, true) }

// SetF32At copies values into an F32 tensor from element offset on.
func (t Tensor) SetF32At(offset int, v []float32) {
	checkMove(t, F32, offset+len(v))
	move(t, v, uintptr(offset)*4, true)
}

// GetF32 copies the first len(dst) elements of an F32 tensor to dst.
func (t Tensor) GetF32(dst []float32) {
	checkMove(t, F32, len(dst))
	move(t, dst, 0, false)
}

// GetF32At copies len(dst) elements of an F32 tensor from element offset on.
func (t Tensor) GetF32At(offset int, dst []float32) {
	checkMove(t, F32, offset+len(dst))
	move(t, dst, uintptr(offset)*4, false)
}

// GetBytes copies raw data of the tensor's own type.
func (t Tensor) GetBytes(dst []byte) { move(t, dst, 0, false) }

// SetBytesAt and GetBytesAt copy raw data at a byte offset.
func (t Tensor) SetBytesAt(offset int, v []byte) { move(t, v, uintptr(offset), true) }
func (t Tensor) GetBytesAt(offset int, v []byte) { move(t, v, uintptr(offset), false) }

func set[E element](t Tensor, typ Type, v []E) {
	checkMove(t, typ, len(v))
	move(t, v, 0, true)
}

func checkMove(t Tensor, typ Type, n int) {
	if t.Type() != typ || n > t.Elements() {
		panic(fmt.Sprintf("ggml: %d elements of %v moved from or to %v", n, typ, t))
	}
}

// move copies between v and the tensor's data at a byte offset. Host memory is copied by Go:
// a call into ggml costs more than the few kilobytes of a frame.
func move[E element](t Tensor, v []E, offset uintptr, up bool) {
	if len(v) == 0 {
		return
	}
	var zero E
	n := uintptr(len(v)) * unsafe.Sizeof(zero)
	if t.mem != nil && t.mem.ptr != nil {
		there := unsafe.Slice((*E)(unsafe.Add(t.mem.ptr, offset)), len(v))
		if !up {
			copy(v, there)
			return
		}
		copy(there, v)
		if t.mem.mirror != nil {
			t.mem.mirror.touch(t.mem.at+offset, n)
		}
		return
	}
	if up {
		fn.ggml_backend_tensor_set(t.c, unsafe.Pointer(unsafe.SliceData(v)), offset, n)
	} else {
		fn.ggml_backend_tensor_get(t.c, unsafe.Pointer(unsafe.SliceData(v)), offset, n)
	}
}

// Builder is the graph under construction that t belongs to; nil for memory in an arena.
func (t Tensor) Builder() *Builder { return t.b }

// Dense tells whether the elements lie without gaps.
func (t Tensor) Dense() bool { return t.dense() }
