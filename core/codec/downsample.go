package codec

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// Downsample is a causal strided convolution that takes rows before the first for the first one, and rows after the
// last, up to a whole step, for the last.
type Downsample struct {
	Kernel DownsampleKernel `gguf:"downsample" shape:"kernel,embd,embd"`
	Bias   ggml.Tensor      `gguf:"downsample.bias" shape:"embd" as:"f32" if:"downsamplebias"`
	stride int
}

// DownsampleKernel is the weight of a Downsample.
type DownsampleKernel struct {
	past
	weight ggml.Tensor // F32 [K·C, C]
	taps   int         // K / s
}

// LoadFrom implements nn.Custom for a kernel [K, C in, C out], K twice the stride.
func (d *DownsampleKernel) LoadFrom(l *nn.Loader, name string, shape []int) (err error) {
	const taps = 2
	d.taps, d.past = taps, past{channels: shape[0] / taps * shape[1], rows: taps - 1}
	d.weight, err = loadKernel(l, name, shape[0], shape[1], shape[2])
	return err
}

// Forward maps x [C, T] to [C, T/s]; first tells whether x begins the signal.
func (d *Downsample) Forward(x ggml.Tensor, m *memory, first bool) ggml.Tensor {
	k := &d.Kernel
	y := product(k.weight, taps(d.extend(lastRepeated(x, d.stride), m, first), k.taps, 1))
	if d.Bias.Valid() {
		y = y.Add(d.Bias)
	}
	return y.Tap("downsample")
}

// extend puts what comes before in front of x [C, T], remembers what the next call needs, and returns steps of s rows.
func (d *Downsample) extend(x ggml.Tensor, m *memory, first bool) ggml.Tensor {
	k := &d.Kernel
	if !first {
		return k.past.extend(steps(x, d.stride), m)
	}
	before := x.Slice(1, 0, 1).Repeat(x.Dim(0), k.rows*d.stride)
	y := steps(before.Concat(x, 1), d.stride)
	y.Slice(1, y.Dim(1)-k.rows, k.rows).CopyTo(m.b.Use(m.rows[&k.past]))
	return y
}

// lastRepeated appends the last row of x [C, T] up to a multiple of n.
func lastRepeated(x ggml.Tensor, n int) ggml.Tensor {
	t := x.Dim(1)
	missing := (n - t%n) % n
	if missing == 0 {
		return x
	}
	return x.Concat(x.Slice(1, t-1, 1).Repeat(x.Dim(0), missing), 1)
}
