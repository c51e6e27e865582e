package nn

import (
	"fmt"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// use is what a weight is for.
type use struct {
	typ       ggml.Type
	rows      bool // a table of which rows are gathered, not a matrix
	ne0, rest int  // its shape
}

// absent is the type of what the device cannot use at all.
const absent ggml.Type = ^ggml.Type(0)

// held is the type in which the device holds a weight: the file's own if the device has the operation that reads it,
// else F16, or F32 if it has not got that either, or absent: drivers limit the size of what an operation can reach.
// The CPU has all.
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
	held := absent
	for _, t := range []ggml.Type{u.typ, gguf.F16, gguf.F32} {
		if can(t, u.ne0, u.rest) {
			held = t
			break
		}
	}
	if l.types == nil {
		l.types = map[use]ggml.Type{}
	}
	l.types[u] = held
	return held
}

// useOf is the use of a tensor of a shape.
func useOf(typ ggml.Type, shape []int, as string) use {
	u := use{typ: typ, rows: as == "rows", ne0: shape[0], rest: 1}
	for _, n := range shape[1:] {
		u.rest *= n
	}
	return u
}

// place declares a tensor on a device with memory of its own.
func (l *Loader) place(t *gguf.TensorInfo, shape []int, as string) (ggml.Tensor, error) {
	typ := l.held(useOf(t.Type, shape, as))
	switch {
	case len(shape) < 2 || typ == t.Type:
		x := l.copies.New(t.Type, shape...)
		l.fills = append(l.fills, fill{of: t, do: func() error { x.SetBytes(l.file.Data(t)); return nil }})
		return x, nil
	case typ == absent:
		l.idle[t] = as == "rows"
		return l.beside(t, shape)
	}
	return l.converted(t, typ, shape), nil
}

// beside leaves a tensor where it lies in the mapped file, for the CPU beside the device to read.
func (l *Loader) beside(t *gguf.TensorInfo, shape []int) (ggml.Tensor, error) {
	cpu := l.be.Helper()
	i, at, ok := l.file.Place(t)
	if !ok || at%uint64(cpu.AlignmentOf(t.Type)) != 0 {
		return ggml.Tensor{}, fmt.Errorf("%s: %s cannot use it, nor the CPU where it lies in the file", t.Name, l.be.Name)
	}
	for _, m := range l.file.Mappings()[len(l.inPlace):] {
		a, err := cpu.Wrap(m, 4*(len(l.file.Tensors())+16))
		if err != nil {
			return ggml.Tensor{}, fmt.Errorf("%s: %w", t.Name, err)
		}
		l.inPlace = append(l.inPlace, a)
	}
	return l.inPlace[i].At(at, t.Type, shape...)
}

// converted declares a copy of a tensor in another type, F16 or F32.
func (l *Loader) converted(t *gguf.TensorInfo, typ ggml.Type, shape []int) ggml.Tensor {
	if typ == gguf.F32 {
		return l.Put(t, func() ([]float32, error) { return l.Floats(t) }, shape...)
	}
	x := l.copies.New(typ, shape...)
	l.fills = append(l.fills, fill{of: t, do: func() error {
		v, err := l.Floats(t)
		if err == nil {
			b := make([]byte, 2*len(v))
			half.EncodeF16(b, v)
			x.SetBytes(b)
		}
		return err
	}})
	return x
}
