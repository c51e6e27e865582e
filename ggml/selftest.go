package ggml

import (
	"errors"
	"fmt"
	"math"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// ErrSelfTest: a device computes something else than the CPU.
var ErrSelfTest = errors.New("self-test failed")

// tolerance is the largest relative error of a stage. Devices that round factors to 10 bits (TF32) or 8 (BF16) pass;
// broken ones give noise, zeros or numbers that are not finite.
const tolerance = 0.02

// SelfTest computes a few tiny graphs, one for each kind of work that the models do, on a device and on the CPU, and
// compares the results. The error, which names the stage, wraps ErrSelfTest, or is that of the computation.
func (b *Backend) SelfTest() error {
	cpu := b.helper
	if cpu == nil {
		return nil // the CPU is what others are compared with
	}
	for _, s := range trials() {
		want, err := s.run(cpu)
		if err != nil {
			return fmt.Errorf("ggml: %s: self-test: %s on the CPU: %w", b.Name, s.name, err)
		}
		got, err := s.run(b)
		if err == nil {
			err = compare(got, want)
		}
		if err != nil {
			return fmt.Errorf("ggml: %s: %w: %s: %w", b.Name, ErrSelfTest, s.name, err)
		}
	}
	return nil
}

// compare fails unless got is want within the tolerance.
func compare(got, want []float32) error {
	var diff, norm float64
	for i, w := range want {
		g := float64(got[i])
		if g-g != 0 {
			return fmt.Errorf("value %d is %v", i, g)
		}
		diff += (g - float64(w)) * (g - float64(w))
		norm += float64(w) * float64(w)
	}
	if off := math.Sqrt(diff / norm); !(off <= tolerance) {
		return fmt.Errorf("off by %.2g of the values", off)
	}
	return nil
}

// trial is a tiny graph. Its inputs are filled in the order in which it makes them.
type trial struct {
	name  string
	build func(in *trialInputs) Tensor
}

// trialInputs makes the inputs of a trial and remembers what goes into them.
type trialInputs struct {
	*Builder
	fills []func()
	seed  uint32
}

// next is a number in [-1, 1), the same in every run.
func (in *trialInputs) next() float32 {
	in.seed = in.seed*1664525 + 1013904223 // Numerical Recipes
	return float32(int32(in.seed)) / (1 << 31)
}

// f32 is an input of pseudorandom values.
func (in *trialInputs) f32(ne ...int) Tensor {
	t := in.Input("x", F32, ne...)
	v := make([]float32, t.Elements())
	for i := range v {
		v[i] = in.next()
	}
	in.fills = append(in.fills, func() { t.SetF32(v) })
	return t
}

// i32 is an input of given values.
func (in *trialInputs) i32(v ...int32) Tensor {
	t := in.Input("i", I32, len(v))
	in.fills = append(in.fills, func() { t.SetI32(v) })
	return t
}

// i64 is an input of given values.
func (in *trialInputs) i64(v ...int64) Tensor {
	t := in.Input("i", I64, len(v))
	in.fills = append(in.fills, func() { t.SetI64(v) })
	return t
}

// weight is an input of pseudorandom blocks of a type.
func (in *trialInputs) weight(typ Type, ne ...int) Tensor {
	t := in.Input("w", typ, ne...)
	v := make([]byte, fn.ggml_nbytes(t.c))
	for at := 0; at < len(v); at += typ.BlockBytes() {
		for i := range typ.BlockBytes() {
			v[at+i] = byte(int8(100 * in.next()))
		}
		if typ == gguf.Q8_0 {
			v[at], v[at+1] = 0, 0x20 // the scale, a half: 2^-7
			continue
		}
		v[at+1] = v[at+1]&0x80 | 0x3b // sign, and an exponent of F16 or BF16 that keeps it between 2^-9 and 1
	}
	in.fills = append(in.fills, func() { t.SetBytes(v) })
	return t
}

func (s trial) run(be *Backend) ([]float32, error) {
	in := &trialInputs{seed: 1}
	var y Tensor
	g, err := Build(be, 256, false, func(b *Builder) {
		in.Builder = b
		y = b.Output("y", s.build(in))
	})
	if err != nil {
		return nil, err
	}
	defer g.Free()
	for _, fill := range in.fills {
		fill()
	}
	if err := g.Compute(); err != nil {
		return nil, err
	}
	out := make([]float32, y.Elements())
	y.GetF32(out)
	return out, nil
}

// trials are what the models are made of.
func trials() []trial {
	list := []trial{
		{"norm, feed-forward", func(in *trialInputs) Tensor {
			x := in.f32(64, 3).RMSNorm(1e-6).Mul(in.f32(64))
			return x.MatMul(in.f32(64, 96)).SwiGLU(x.MatMul(in.f32(64, 96)))
		}},
		{"attention", attentionTrial},
		{"rows", func(in *trialInputs) Tensor {
			table := in.i32(4, 0, 7).GetRows(in.f32(64, 8)).Concat(in.f32(64, 2), 1)
			return in.i32(1, 4, 3, 0).GetRows(table).Add(in.i32(2, 2, 1, 0).GetRows(in.weight(F16, 64, 3)))
		}},
		{"convolution, snake", func(in *trialInputs) Tensor {
			x := in.f32(32, 40).Windows(3, 9).Cont().Reshape(96, 22).MatMul(in.f32(96, 32)).Add(in.f32(32))
			return x.Add(x.Mul(in.f32(32)).Sin().Sqr().Mul(in.f32(32)))
		}},
	}
	for _, typ := range []Type{F16, gguf.BF16, gguf.Q8_0} {
		list = append(list, trial{fmt.Sprintf("%v matrices", typ), func(in *trialInputs) Tensor {
			w := in.weight(typ, 64, 96)
			return in.f32(64, 1).MatMul(w).Concat(in.f32(64, 9).MatMul(w), 1)
		}})
	}
	return list
}

// attentionTrial stores keys and values in rows of a cache and attends to them.
func attentionTrial(in *trialInputs) Tensor {
	const d, heads, kv, n, slots = 32, 4, 2, 3, 16
	at, slot := in.i32(2, 3, 4), in.i64(2, 3, 4)
	q := in.f32(d, heads, n).RoPE(at, 1e4)
	k := in.f32(d, kv, n).RoPE(at, 1e4).Reshape(d*kv, n)
	keys := k.SetRows(in.f32(d*kv, slots), slot).SplitDim(0, kv).Permute(0, 2, 1, 3)
	values := in.f32(slots, d*kv).SplitDim(1, kv)
	weights := q.Permute(0, 2, 1, 3).MatMul(keys).SoftMax(in.f32(slots, n), 0.5)
	return weights.MatMul(values).Permute(0, 2, 1, 3).Cont().Reshape(d*heads, n)
}
