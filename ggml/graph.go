package ggml

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Graph is a computation that is built once and replayed. Its inputs keep their values between runs.
type Graph struct {
	be     *Backend
	ctx    cContext
	graph  cGraph
	plan   plan
	inputs *Arena
	mirror *mirror // of the inputs; nil in memory of the host
	taps   []Tap
	nodes  int
	args   [2]uintptr // of the C call, kept here so that a run allocates nothing
}

// Tap is an intermediate result kept for looking at; see Tensor.Tap.
type Tap struct {
	Name string
	Tensor
}

// Builder collects the nodes of a graph.
type Builder struct {
	be      *Backend
	ctx     cContext
	graph   cGraph
	inputs  *Arena
	outputs []Tensor
	calls   []call
	tapping bool
	taps    []Tap
	beside  bool // a weight lies in the memory of the CPU beside the device
}

// maxInputs of one graph.
const maxInputs = 64

// Build makes a graph of at most maxNodes nodes from what f does with the builder. With taps, the results
// that Tensor.Tap names are kept. A ShapeError, an AssertError or one that wraps ErrMemory comes back.
func Build(be *Backend, maxNodes int, taps bool, f func(*Builder)) (*Graph, error) {
	size := uintptr(maxNodes)*fn.ggml_tensor_overhead() + fn.ggml_graph_overhead_custom(uintptr(maxNodes), false) + arenaSlack
	b := &Builder{be: be, ctx: newContext(size), inputs: be.NewArena(maxInputs + 1), tapping: taps}
	g := &Graph{be: be, ctx: b.ctx, inputs: b.inputs}
	err := guard(func() error {
		b.graph = fn.ggml_new_graph_custom(b.ctx, uintptr(maxNodes), false)
		f(b)
		return g.finish(b, maxNodes)
	})
	if err != nil {
		g.Free()
		return nil, err
	}
	return g, nil
}

func (g *Graph) finish(b *Builder, maxNodes int) (err error) {
	g.graph, g.taps, g.nodes = b.graph, b.taps, int(fn.ggml_graph_n_nodes(b.graph))
	if err := b.inputs.Alloc(); err != nil {
		return err
	}
	g.mirror = b.inputs.reflect()
	if g.plan, err = g.be.newPlan(g.graph, maxNodes, b.beside); err != nil {
		return err
	}
	bindCalls(b.calls)
	if g.be.host {
		for _, t := range b.outputs {
			t.mem.ptr = fn.ggml_get_data(t.c)
		}
	}
	return nil
}

// Input is a tensor whose values are set before Compute; they stay until they are set again.
func (b *Builder) Input(name string, t Type, ne ...int) Tensor {
	x := b.inputs.New(t, ne...)
	fn.ggml_set_name(x.c, name)
	x.b = b
	return x
}

// Use brings memory of an arena (a weight, a state) into the graph so that ops can start from it.
func (b *Builder) Use(t Tensor) Tensor {
	t.b = b
	return t
}

// Expand makes t, and what it depends on, part of the graph, after all that already is.
func (b *Builder) Expand(t Tensor) { fn.ggml_build_forward_expand(b.graph, t.c) }

// Output makes t part of the graph and keeps its value until the next Compute.
func (b *Builder) Output(name string, t Tensor) Tensor {
	fn.ggml_set_name(t.c, name)
	fn.ggml_set_output(t.c)
	b.Expand(t)
	t.mem = &memory{}
	b.outputs = append(b.outputs, t)
	return t
}

// Tapping tells whether the graph keeps the results that Tap names.
func (b *Builder) Tapping() bool { return b.tapping }

// Tap names an intermediate result and returns it. A graph built with taps keeps a copy of it.
func (t Tensor) Tap(name string) Tensor {
	if t.b != nil && t.b.tapping {
		t.b.taps = append(t.b.taps, Tap{name, t.b.Output(name, t.Cont())})
	}
	return t
}

// TapF is Tap for a numbered name; nothing is formatted unless the graph keeps taps.
func (t Tensor) TapF(format string, args ...any) Tensor {
	if t.b != nil && t.b.tapping {
		return t.Tap(fmt.Sprintf(format, args...))
	}
	return t
}

// Compute runs the graph.
func (g *Graph) Compute() error {
	return guard(func() error {
		if err := g.be.renew(); err != nil {
			return err
		}
		g.mirror.upload()
		compute, on := g.plan.call(g.be)
		g.args = [2]uintptr{uintptr(on), uintptr(unsafe.Pointer(g.graph))} // memory of C
		st, _, _ := purego.SyscallN(compute, g.args[:]...)
		runtime.KeepAlive(g)
		switch int32(st) {
		case 0:
			return nil
		case -2:
			return fmt.Errorf("ggml: %s: %w during a computation", g.be.Name, ErrMemory)
		}
		return fmt.Errorf("ggml: %s: computation failed (status %d)", g.be.Name, int32(st))
	})
}

// Taps are the results kept, in the order in which they were named.
func (g *Graph) Taps() []Tap { return g.taps }

// Nodes is the number of operations.
func (g *Graph) Nodes() int { return g.nodes }

// Shared tells whether the CPU computes a part of the graph, for lack of an operation on the device.
func (g *Graph) Shared() bool { return g.plan.sched != nil }

// Bytes of the intermediate results and inputs.
func (g *Graph) Bytes() uint64 {
	return g.plan.bytes(g.be) + g.inputs.Bytes()
}

// Free releases the graph.
func (g *Graph) Free() {
	if g == nil || g.ctx == nil {
		return
	}
	g.plan.free()
	g.inputs.Free()
	fn.ggml_free(g.ctx)
	g.ctx, g.plan = nil, plan{}
}
