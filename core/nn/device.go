package nn

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// use is what a weight is for.
type use struct {
	typ  ggml.Type
	rows bool // a table of which rows are gathered, not a matrix
}

// held is the type in which the device holds a weight: the file's own if the device has the operation that reads it,
// else F16, or F32 if it has not got that either. The CPU has all.
func (l *Loader) held(u use) ggml.Type {
	if l.be.Host() {
		return u.typ
	}
	if t, known := l.types[u]; known {
		return t
	}
	can := l.be.CanMultiply
	if u.rows {
		can = l.be.CanGather
	}
	t := u.typ
	for _, other := range []ggml.Type{gguf.F16, gguf.F32} {
		if !can(t) {
			t = other
		}
	}
	if l.types == nil {
		l.types = map[use]ggml.Type{}
	}
	l.types[u] = t
	return t
}

// converted declares a copy of a tensor in another type, F16 or F32.
func (l *Loader) converted(t *gguf.TensorInfo, typ ggml.Type, shape []int) ggml.Tensor {
	if typ == gguf.F32 {
		return l.Put(func() ([]float32, error) { return l.Floats(t) }, shape...)
	}
	x := l.copies.New(typ, shape...)
	l.fills = append(l.fills, func() error {
		v, err := l.Floats(t)
		if err == nil {
			b := make([]byte, 2*len(v))
			half.EncodeF16(b, v)
			x.SetBytes(b)
		}
		return err
	})
	return x
}
