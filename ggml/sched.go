package ggml

import (
	"fmt"
	"slices"
	"unsafe"
)

// plan is where a graph's intermediate results live: one buffer of the device, or, if the device lacks an operation,
// what ggml's scheduler gives to the device and the CPU, each of which then computes its share.
type plan struct {
	alloc cAlloc
	sched cSched
}

// meet notes where a weight lies.
func (b *Builder) meet(w Tensor) {
	if b != nil && w.mem != nil && w.mem.be != nil && w.mem.be == b.be.helper {
		b.beside = true
	}
}

// newPlan gets the memory for a graph of at most maxNodes nodes. beside tells that it reads memory of the CPU.
func (b *Backend) newPlan(graph cGraph, maxNodes int, beside bool) (plan, error) {
	lacking := b.lacking(graph)
	if len(lacking) > 0 && b.helper == nil {
		return plan{}, fmt.Errorf("ggml: %s cannot compute %s", b.Name, lacking[0])
	}
	if len(lacking) > 0 || beside {
		b.reportLacking(lacking)
		return b.schedule(graph, maxNodes)
	}
	p := plan{alloc: fn.ggml_gallocr_new(b.buft)}
	if !fn.ggml_gallocr_alloc_graph(p.alloc, graph) {
		p.free()
		return plan{}, fmt.Errorf("%w for the intermediate results of a graph", b.noRoom(neededBytes(b, graph)))
	}
	return p, nil
}

// lacking describes the operations of a graph that the device does not have, each once.
func (b *Backend) lacking(graph cGraph) (ops []string) {
	if b.Type == DeviceCPU {
		return nil // it has all
	}
	for i := range fn.ggml_graph_n_nodes(graph) {
		if node := fn.ggml_graph_node(graph, i); !fn.ggml_backend_dev_supports_op(b.dev, node) {
			if op := fmt.Sprintf("%s -> %v", fn.ggml_op_desc(node), node.typ); !slices.Contains(ops, op) {
				ops = append(ops, op)
			}
		}
	}
	return ops
}

// reportLacking logs operations that the device lacks, once in its life.
func (b *Backend) reportLacking(ops []string) {
	for _, op := range ops {
		if !b.lacks[op] {
			b.lacks[op] = true
			log(LogWarn, fmt.Sprintf("%s has no operation %s: it runs on the CPU", b.Name, op))
		}
	}
}

// schedule divides a graph between the device and the CPU.
func (b *Backend) schedule(graph cGraph, maxNodes int) (plan, error) {
	backends := [2]cBackend{b.be, b.helper.be} // the last one is the CPU
	bufts := [2]cBuft{b.buft, b.helper.buft}
	p := plan{sched: fn.ggml_backend_sched_new(&backends[0], &bufts[0], int32(len(backends)), uintptr(maxNodes), false, false)}
	ok := false
	err := guard(func() error { // it asserts that an operation that writes to memory of the device is one of the device's
		ok = fn.ggml_backend_sched_alloc_graph(p.sched, graph)
		return nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("%w for the intermediate results of a graph shared with the CPU", b.noRoom(neededBytes(b, graph)))
	}
	if err != nil {
		p.free()
		return plan{}, err
	}
	return p, nil
}

// neededBytes is what the intermediate results of a graph take at most: the sum of all of them.
func neededBytes(b *Backend, graph cGraph) (sum uint64) {
	for i := range fn.ggml_graph_n_nodes(graph) {
		sum += uint64(fn.ggml_backend_buft_get_alloc_size(b.buft, fn.ggml_graph_node(graph, i)))
	}
	return sum
}

// call is the C function that computes a graph, and its first argument.
func (p plan) call(be *Backend) (function uintptr, on unsafe.Pointer) {
	if p.sched != nil {
		return fn.ggml_backend_sched_graph_compute, unsafe.Pointer(p.sched)
	}
	return fn.ggml_backend_graph_compute, unsafe.Pointer(be.be)
}

// bytes of the device that the intermediate results take.
func (p plan) bytes(be *Backend) uint64 {
	switch {
	case p.sched != nil:
		return uint64(fn.ggml_backend_sched_get_buffer_size(p.sched, be.be))
	case p.alloc != nil:
		return uint64(fn.ggml_gallocr_get_buffer_size(p.alloc, 0))
	}
	return 0
}

func (p plan) free() {
	if p.sched != nil {
		fn.ggml_backend_sched_free(p.sched)
	}
	if p.alloc != nil {
		fn.ggml_gallocr_free(p.alloc)
	}
}
