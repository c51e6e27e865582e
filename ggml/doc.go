// Package ggml is a thin binding to ggml's shared libraries, loaded at run time without cgo.
//
// Four nouns: a Device is something that computes (the CPU, a GPU); a Backend is an open device with its
// threads; an Arena is memory on a backend that outlives a graph (weights, caches, states); a Graph is built
// once by Build and then replayed by Compute.
//
//	err := ggml.Load("")                                   // find and bind the libraries
//	be, err := ggml.OpenCPU(1)
//	g, err := ggml.Build(be, 64, func(b *ggml.Builder) {
//		x = b.Input("x", ggml.F32, 4)                      // uploaded before each Compute
//		y = b.Output("y", x.Mul(x))
//	})
//	x.SetF32(values); err = g.Compute(); y.GetF32(result)
//
// Shapes are in ggml order, ne[0] first: a matrix of r rows with c columns is [c, r].
// Every op checks its shapes in Go and panics with a ShapeError, which Build returns as an error:
// an assertion inside ggml would end the host process.
package ggml
