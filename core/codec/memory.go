package codec

import "github.com/libqwen/libqwen/ggml"

// past is what a causal convolution needs of the calls before: the last rows of its input.
type past struct {
	channels, rows int
	typ            ggml.Type // F32 unless rounded
}

// memory holds the rows of all convolutions of a stream, for a graph under construction.
type memory struct {
	b    *ggml.Builder
	rows map[*past]ggml.Tensor // [C, rows]
}

// extend puts the remembered rows in front of x [C, T] and remembers the last ones of the result [C, rows+T].
func (p *past) extend(x ggml.Tensor, m *memory) ggml.Tensor {
	if p.rows == 0 {
		return x
	}
	state := m.b.Use(m.rows[p])
	y := state.Concat(x, 1)
	// The copy reads y, so it comes after the last time that the old rows are read.
	y.Slice(1, x.Dim(1), p.rows).CopyTo(state)
	return y
}

// newMemory makes zeroed rows for the convolutions, in an arena of its own.
func newMemory(be *ggml.Backend, convs []rated) (*ggml.Arena, map[*past]ggml.Tensor, error) {
	arena, rows := be.NewArena(len(convs)), map[*past]ggml.Tensor{}
	for _, p := range convs {
		if p.rows > 0 {
			rows[p.past] = arena.New(p.typ, p.channels, p.rows)
		}
	}
	if err := arena.Alloc(); err != nil {
		arena.Free()
		return nil, nil, err
	}
	return arena, rows, nil
}
