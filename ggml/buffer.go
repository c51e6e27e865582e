package ggml

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrMemory: the host or the device has not got the memory asked for.
var ErrMemory = errors.New("out of memory")

// arenaSlack is room for what ggml adds to a context besides the tensors.
const arenaSlack = 1024

// Arena is memory on a backend that outlives a graph: weights, caches, states, inputs.
// Tensors are declared with New, then Alloc gets the memory for all of them at once, zeroed;
// or Wrap lays an Arena over memory of the host, where At places tensors.
type Arena struct {
	be      *Backend
	ctx     cContext
	bufs    []cBuffer // several where the device limits the size of one
	pages   [][]byte  // that buffers lie in
	size    uintptr
	tensors []Tensor
	max     int
}

// NewArena makes an arena for at most maxTensors tensors.
func (b *Backend) NewArena(maxTensors int) *Arena {
	return &Arena{be: b, ctx: newContext(uintptr(maxTensors)*fn.ggml_tensor_overhead() + arenaSlack), max: maxTensors}
}

func newContext(size uintptr) cContext {
	ctx := init_(size)
	if ctx == nil {
		panic(fmt.Sprintf("ggml: no context of %d bytes", size)) // malloc of some kilobytes failed
	}
	return ctx
}

// New declares a tensor; its memory comes with Alloc.
func (a *Arena) New(t Type, ne ...int) Tensor {
	if a.bufs != nil || len(a.tensors) >= a.max {
		panic("ggml: arena: New after Alloc, or more tensors than announced")
	}
	x := Tensor{c: newTensor(a.ctx, t, ne), mem: &memory{be: a.be}}
	a.tensors = append(a.tensors, x)
	return x
}

func newTensor(ctx cContext, t Type, ne []int) *cTensor {
	s := shape4(ne)
	return fn.ggml_new_tensor_4d(ctx, t, s[0], s[1], s[2], s[3])
}

// Bytes that Alloc needs, or that the arena holds.
func (a *Arena) Bytes() uint64 {
	if a.size != 0 {
		return uint64(a.size)
	}
	var n uintptr
	for _, t := range a.tensors {
		n += a.padded(t)
	}
	return uint64(n)
}

func (a *Arena) padded(t Tensor) uintptr {
	n := fn.ggml_backend_buft_get_alloc_size(a.be.buft, t.c)
	return (n + a.be.align - 1) / a.be.align * a.be.align
}

// Alloc gets the memory of all declared tensors, zeroed. Its error wraps ErrMemory.
func (a *Arena) Alloc() error {
	a.size = uintptr(a.Bytes())
	if len(a.tensors) == 0 {
		return nil
	}
	return guard(func() error {
		if err := a.be.checkRoom(uint64(a.size)); err != nil {
			return err
		}
		limit := fn.ggml_backend_buft_get_max_size(a.be.buft)
		for rest := a.tensors; len(rest) > 0; {
			n, size := a.fit(rest, limit)
			if err := a.allocBuffer(rest[:n], size); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// fit is how many of the tensors, at least one, a buffer of limit bytes holds, and what they take.
func (a *Arena) fit(tensors []Tensor, limit uintptr) (n int, size uintptr) {
	for _, t := range tensors {
		bytes := a.padded(t)
		if n > 0 && size+bytes > limit {
			break
		}
		n, size = n+1, size+bytes
	}
	return n, size
}

// allocBuffer gets one zeroed buffer for some tensors.
func (a *Arena) allocBuffer(tensors []Tensor, size uintptr) error {
	buf := a.mapped(size)
	if buf == nil {
		if buf = fn.ggml_backend_buft_alloc_buffer(a.be.buft, size); buf == nil {
			return a.be.noRoom(uint64(a.size))
		}
		fn.ggml_backend_buffer_clear(buf, 0)
	}
	a.bufs = append(a.bufs, buf)
	at := fn.ggml_backend_buffer_get_base(buf)
	for _, t := range tensors {
		if err := a.place(buf, t, at); err != nil {
			return err
		}
		at = unsafe.Add(at, a.padded(t))
	}
	return nil
}

// largePage is a usual size of large pages; less memory is not worth mapping.
const largePage = 2 << 20

// mapped is a buffer in memory that comes zeroed from the system: whoever writes to it first pays for a page, so that
// several threads can fill it without one having cleared all of it before. nil where that cannot be, or is too small.
func (a *Arena) mapped(size uintptr) cBuffer {
	if !a.be.host || size < largePage || !a.be.props().fromHostPtr {
		return nil
	}
	mem := zeroPages(int(size))
	if mem == nil {
		return nil
	}
	buf := fn.ggml_backend_dev_buffer_from_host_ptr(a.be.dev, unsafe.Pointer(unsafe.SliceData(mem)), size, size)
	if buf == nil {
		freePages(mem)
		return nil
	}
	a.pages = append(a.pages, mem)
	return buf
}

func (a *Arena) place(buf cBuffer, t Tensor, addr unsafe.Pointer) error {
	if st := fn.ggml_backend_tensor_alloc(buf, t.c, addr); st != 0 {
		return fmt.Errorf("ggml: %s: tensor could not be placed (status %d)", a.be.Name, st)
	}
	if a.be.host {
		t.mem.ptr = addr
	}
	return nil
}

// Wrap lays an arena over host memory, such as a mapped file, without copying it. The memory must stay
// mapped as long as the arena lives and must start at a page. It works on devices that compute in host memory.
func (b *Backend) Wrap(mem []byte, maxTensors int) (*Arena, error) {
	var buf cBuffer
	if b.host && b.props().fromHostPtr {
		buf = fn.ggml_backend_dev_buffer_from_host_ptr(b.dev, unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)), uintptr(len(mem)))
	}
	if buf == nil {
		return nil, fmt.Errorf("ggml: %s cannot use host memory in place", b.Name)
	}
	a := b.NewArena(maxTensors)
	fn.ggml_backend_buffer_set_usage(buf, 1) // weights
	a.bufs, a.size = []cBuffer{buf}, uintptr(len(mem))
	return a, nil
}

// Alignment in bytes of a tensor's first byte.
func (b *Backend) Alignment() int { return int(b.align) }

// AlignmentOf in bytes of the first byte of a tensor of the type in a wrapped arena. The CPU's kernels read elements of
// plain types wherever these can lie; files of other programs than ours align them no further.
func (b *Backend) AlignmentOf(t Type) int {
	if b.Type == DeviceCPU && t.BlockSize() == 1 {
		return t.BlockBytes()
	}
	return int(b.align)
}

// At places a tensor at an offset of a wrapped arena; the offset must be a multiple of AlignmentOf its type
// and the tensor must lie within the memory.
func (a *Arena) At(offset uint64, t Type, ne ...int) (Tensor, error) {
	if len(a.tensors) >= a.max {
		panic("ggml: arena: more tensors than announced")
	}
	x := Tensor{c: newTensor(a.ctx, t, ne), mem: &memory{be: a.be}}
	n := uint64(fn.ggml_nbytes(x.c))
	if offset%uint64(a.be.AlignmentOf(t)) != 0 || offset > uint64(a.size) || n > uint64(a.size)-offset {
		return Tensor{}, fmt.Errorf("ggml: tensor of %d bytes at offset %d does not fit into %d bytes", n, offset, a.size)
	}
	a.tensors = append(a.tensors, x)
	return x, guard(func() error {
		return a.place(a.bufs[0], x, unsafe.Add(fn.ggml_backend_buffer_get_base(a.bufs[0]), uintptr(offset)))
	})
}

// Clear zeroes the arena.
func (a *Arena) Clear() {
	for _, buf := range a.bufs {
		fn.ggml_backend_buffer_clear(buf, 0)
	}
}

// Save copies the contents of all tensors, in the order of their declaration.
func (a *Arena) Save() []byte {
	var all []byte
	for _, t := range a.tensors {
		n := len(all)
		all = append(all, make([]byte, fn.ggml_nbytes(t.c))...)
		t.GetBytes(all[n:])
	}
	return all
}

// Restore puts back what Save copied.
func (a *Arena) Restore(saved []byte) {
	for _, t := range a.tensors {
		n := fn.ggml_nbytes(t.c)
		t.SetBytes(saved[:n])
		saved = saved[n:]
	}
}

// Free releases the arena; its tensors must not be used any more.
func (a *Arena) Free() {
	if a == nil {
		return
	}
	for _, buf := range a.bufs {
		fn.ggml_backend_buffer_free(buf)
	}
	for _, mem := range a.pages {
		freePages(mem)
	}
	if a.ctx != nil {
		fn.ggml_free(a.ctx)
	}
	for _, t := range a.tensors {
		t.mem.ptr = nil
	}
	a.bufs, a.pages, a.ctx, a.tensors = nil, nil, nil, nil
}
