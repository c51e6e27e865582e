package ggml

import "unsafe"

// Kernel is an operation written in C. Each thread of the backend calls it, with its number and their count:
//
//	void kernel(struct ggml_tensor * result, int thread, int threads, void * call);
//
// call points to the address of the result, those of the operands in order (NULL for one that is absent) and the
// parameters, eight bytes each. The operands' elements lie without gaps.
type Kernel struct {
	Name   string // for errors
	Func   uintptr
	Params []int64
}

// call is a node whose addresses are not known before the graph has its memory.
type call struct {
	data    *uintptr // of the result; the operands' follow
	tensors []*cTensor
}

// maxOperands of a node in ggml.
const maxOperands = 9

// allTasks makes all threads call a kernel (GGML_N_TASKS_MAX).
const allTasks = -1

// HasKernels tells whether the backend can run Kernels: it computes in memory of the host, with threads of its own.
func (b *Backend) HasKernels() bool { return b.host && b.Type == DeviceCPU }

// Custom is a kernel's result, a tensor of the given type and shape; the caller has checked that the operands fit. It
// counts as two nodes of the graph.
func (b *Builder) Custom(k Kernel, t Type, ne []int, operands ...Tensor) Tensor {
	var present []*cTensor
	tensors := make([]*cTensor, 1, 1+len(operands))
	for _, x := range operands {
		if x.Valid() {
			check(x.dense(), k.Name, x)
			present = append(present, x.c)
		}
		tensors = append(tensors, x.c)
	}
	check(b.be.HasKernels() && k.Func != 0 && len(present) > 0 && len(present) <= maxOperands, k.Name, operands...)
	const word = unsafe.Sizeof(uintptr(0))
	data := fn.ggml_new_buffer(b.ctx, uintptr(len(tensors)+len(k.Params))*8)
	copy(unsafe.Slice((*int64)(unsafe.Add(data, uintptr(len(tensors))*word)), len(k.Params)), k.Params)
	s := shape4(ne)
	c := fn.ggml_custom_4d(b.ctx, t, s[0], s[1], s[2], s[3], &present[0], int32(len(present)), k.Func, allTasks, data)
	tensors[0] = c
	b.calls = append(b.calls, call{(*uintptr)(data), tensors})
	return Tensor{c: c, b: b}
}

// bindCalls writes the addresses once the graph has its memory, which it keeps.
func bindCalls(calls []call) {
	for _, c := range calls {
		addresses := unsafe.Slice(c.data, len(c.tensors))
		for i, t := range c.tensors {
			addresses[i] = 0
			if t != nil {
				addresses[i] = uintptr(fn.ggml_get_data(t))
			}
		}
	}
}

// Check panics with a ShapeError that names the operation and its operands, unless ok. It is for operations made of
// kernels: Build returns the error.
func Check(ok bool, op string, operands ...Tensor) { check(ok, op, operands...) }

// HasKernels tells whether the graph can hold Kernels.
func (b *Builder) HasKernels() bool { return b.be.HasKernels() }

// SetCrew gives the backend's graphs that are built from now on a value for their Kernels, see kernels.Crew; 0 is none.
func (b *Backend) SetCrew(crew int64) { b.crew = crew }

// Crew is the value of Backend.SetCrew.
func (b *Builder) Crew() int64 { return b.be.crew }
