package ggml

// CanGather tells whether the backend can gather rows of a table [width, rows] of a type.
func (b *Backend) CanGather(t Type, width, rows int) bool {
	return b.supports(func(x *Builder, table Tensor) Tensor { return x.Input("ids", I32, 1).GetRows(table) }, t, width, rows)
}

// CanMultiply tells whether the backend can multiply by a matrix [in, out] of a type, with one column and with several.
func (b *Backend) CanMultiply(t Type, in, out int) bool {
	for _, columns := range []int{1, 64} {
		if !b.supports(func(x *Builder, w Tensor) Tensor { return x.Input("x", F32, in, columns).MatMul(w) }, t, in, out) {
			return false
		}
	}
	return true
}

// supports asks the device for an operation on a weight of a type. Nothing is computed.
func (b *Backend) supports(op func(*Builder, Tensor) Tensor, t Type, ne ...int) bool {
	const nodes = 8
	x := &Builder{be: b, ctx: newContext(nodes*fn.ggml_tensor_overhead() + arenaSlack), inputs: b.NewArena(nodes)}
	defer func() {
		x.inputs.Free()
		fn.ggml_free(x.ctx)
	}()
	ok := false
	err := guard(func() error {
		ok = fn.ggml_backend_dev_supports_op(b.dev, op(x, x.Input("w", t, ne...)).c)
		return nil
	})
	return ok && err == nil
}

// Can tells whether the device has all operations of a graph of at most maxNodes nodes, as Build would make it. Nothing is
// computed, and the arenas that the graph uses need no memory.
func (b *Backend) Can(maxNodes int, f func(*Builder)) bool {
	size := uintptr(maxNodes)*fn.ggml_tensor_overhead() + fn.ggml_graph_overhead_custom(uintptr(maxNodes), false) + arenaSlack
	x := &Builder{be: b, ctx: newContext(size), inputs: b.NewArena(maxInputs)}
	defer func() {
		x.inputs.Free()
		fn.ggml_free(x.ctx)
	}()
	ok := false
	err := guard(func() error {
		x.graph = fn.ggml_new_graph_custom(x.ctx, uintptr(maxNodes), false)
		f(x)
		ok = len(b.lacking(x.graph)) == 0
		return nil
	})
	return ok && err == nil
}

// Helper is the CPU beside another device, which computes what that lacks; nil on the CPU.
func (b *Backend) Helper() *Backend { return b.helper }
