package codec

import (
	"fmt"
	"math"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// Conv is a causal convolution y[t] = b + Σk W[k]·x[t - (K-1-k)·d]. Rows before the first are zero.
type Conv struct {
	past
	weight   ggml.Tensor // F32 [K·C in, C out], or what its kernel wants
	bias     ggml.Tensor // F32 [C out]
	out      int
	taps     int
	dilation int // 0 is 1
	form
}

// form is what a convolution is computed with.
type form struct {
	level   kernels.Level // of its kernel; None: ggml's operations
	rounded bool          // weights and input, to BF16
}

// LoadFrom implements nn.Custom for a kernel [K, C in, C out].
func (c *Conv) LoadFrom(l *nn.Loader, name string, shape []int) error {
	k, in, out := shape[0], shape[1], shape[2]
	c.dilation = max(c.dilation, 1)
	c.taps, c.out, c.past = k, out, past{channels: in, rows: (k - 1) * c.dilation}
	return c.load(l, name, shape, kernels.ConvLayout(k, in, out), func(dst, src []float32) { relayConv(dst, src, k, in) }, 1)
}

// load loads the weights in the layout of our kernel, or of ggml's operations, and the bias, which each of times new
// rows has.
func (c *Conv) load(l *nn.Loader, name string, shape []int, layout kernels.Layout, relay func(dst, src []float32), times int) (err error) {
	if c.level != kernels.None {
		if c.rounded = c.rounded && c.channels%2 == 0; c.rounded { // pairs of channels
			c.typ = gguf.BF16
		}
		if c.weight, err = packed(l, name+".weight", shape, c.form, layout); err == nil {
			c.bias, err = repeated(l, name+".bias", c.out/times, 1)
		}
		return err
	}
	if c.weight, err = relaid(l, name+".weight", shape, relay, c.taps*c.channels, c.out); err == nil {
		c.bias, err = repeated(l, name+".bias", c.out/times, times)
	}
	return err
}

// packed loads weights for a kernel, in the file's type where there are kernels for that.
func packed(l *nn.Loader, name string, shape []int, f form, layout kernels.Layout) (ggml.Tensor, error) {
	t, err := l.Find(name, shape...)
	if err != nil {
		return ggml.Tensor{}, err
	}
	ne := f.level.PackedShape(layout)
	switch {
	case f.rounded:
		return l.Relay(t, gguf.BF16, func(dst []byte) error {
			src, err := l.Floats(t)
			if err == nil {
				f.level.PackRounded(dst, src, layout)
			}
			return err
		}, ne...), nil
	case f.level.Packs(t.Type):
		return l.Relay(t, t.Type, func(dst []byte) error {
			f.level.Pack(dst, l.Data(t), t.Type, layout)
			return nil
		}, ne...), nil
	}
	return l.Relay(t, ggml.F32, func(dst []byte) error {
		src, err := l.Floats(t)
		if err == nil {
			f.level.PackF32(dst, src, layout)
		}
		return err
	}, ne...), nil
}

// relaid loads a kernel into the layout [ne...] that relay makes.
func relaid(l *nn.Loader, name string, shape []int, relay func(dst, src []float32), ne ...int) (ggml.Tensor, error) {
	t, err := l.Find(name, shape...)
	if err != nil {
		return ggml.Tensor{}, err
	}
	return l.Put(t, func() ([]float32, error) {
		src, err := l.Floats(t)
		dst := make([]float32, len(src))
		if err == nil {
			relay(dst, src)
		}
		return dst, err
	}, ne...), nil
}

// repeated loads a vector of n elements, times times in a row.
func repeated(l *nn.Loader, name string, n, times int) (ggml.Tensor, error) {
	t, err := l.Find(name, n)
	if err != nil {
		return ggml.Tensor{}, err
	}
	return l.Put(t, func() ([]float32, error) {
		src, err := l.Floats(t)
		return slices.Repeat(src, times), err
	}, n*times), nil
}

// relayConv brings [K, C in, C out] to [C in, K, C out].
func relayConv(dst, src []float32, k, in int) {
	for at := 0; at < len(src); at += k * in {
		for i := range in {
			for j := range k {
				dst[at+j*in+i] = src[at+i*k+j]
			}
		}
	}
}

// then is what follows a convolution; its kernel does it with the sums at hand.
type then struct {
	add   ggml.Tensor // a residual, the shape of the result
	snake *Snake      // the activation before the next layer
	keep  bool        // the sum is wanted besides its activation
}

// apply returns y plus the residual, and the activation of that.
func (n then) apply(y ggml.Tensor) (sum, activated ggml.Tensor) {
	if n.add.Valid() {
		y = n.add.Add(y)
	}
	if n.snake != nil {
		activated = n.snake.Forward(y)
	}
	return y, activated
}

// Forward maps x [C in, T] to [C out, T].
func (c *Conv) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	y, _ := c.forward(x, m, then{})
	return y
}

// forward maps x [C in, T] to the sum [C out, T] and its activation; what is not wanted may be missing.
func (c *Conv) forward(x ggml.Tensor, m *memory, next then) (sum, activated ggml.Tensor) {
	if c.level == kernels.None {
		return next.apply(c.sum(x, m))
	}
	return c.fused(x, m, next)
}

// sum is the convolution with ggml's operations.
func (c *Conv) sum(x ggml.Tensor, m *memory) ggml.Tensor {
	return product(c.weight, taps(c.extend(x, m), c.taps, c.dilation)).Add(c.bias)
}

// fused is the convolution, and what follows, with our kernel.
func (c *Conv) fused(x ggml.Tensor, m *memory, next then) (sum, activated ggml.Tensor) {
	k := kernels.Conv{Level: c.level, In: c.channels, Out: c.out, Taps: c.taps, Dilation: c.dilation, Weight: c.weight, Rounded: c.rounded, Bias: c.bias}
	if c.rounded {
		x = kernels.Round(m.b, c.level, x)
	}
	after := kernels.Then{Add: next.add, Sum: next.keep || m.b.Tapping()}
	if next.snake != nil {
		after.Alpha, after.InvBeta = next.snake.alpha, next.snake.invBeta
	}
	var before ggml.Tensor
	if c.rows > 0 {
		before = m.b.Use(m.rows[&c.past])
	}
	sum, activated = k.Forward(m.b, before, x, after)
	if c.rows > 0 {
		kernels.Carry(m.b, before, x, either(sum, activated))
	}
	return sum, activated
}

func either(a, b ggml.Tensor) ggml.Tensor {
	if a.Valid() {
		return a
	}
	return b
}

// taps of all outputs, side by side: x [C, L] -> [C·K, L - (K-1)·d].
func taps(x ggml.Tensor, k, dilation int) ggml.Tensor {
	if k == 1 {
		return x
	}
	w := x.Windows(k, dilation).Cont()
	return w.Reshape(x.Dim(0)*k, w.Dim(2))
}

// fewestRows that a matrix is multiplied with. The kernels for a single row sum in another order than those for
// several; as a pair of the same rows a single one has the sums, to the last bit, that it has in a wide graph.
const fewestRows = 2

// product is w·x, w [C in, C out], x [C in, T] -> [C out, T].
func product(w, x ggml.Tensor) ggml.Tensor {
	return widened(x, func(x ggml.Tensor) ggml.Tensor { return x.MatMul(w) })
}

// widened is f(x), computed with at least fewestRows rows.
func widened(x ggml.Tensor, f func(ggml.Tensor) ggml.Tensor) ggml.Tensor {
	if t := x.Dim(1); t < fewestRows {
		return f(x.Repeat(x.Dim(0), fewestRows)).Slice(1, 0, t)
	}
	return f(x)
}

// TransConv is a causal transposed convolution of stride s with s or 2s taps, cut to the length s·T. Output s·t + r
// sees W[r]·x[t] and W[r+s]·x[t-1]: it is an ordinary convolution with s·C outputs, which lie side by side as the s
// new rows, and K/s taps.
type TransConv struct {
	Conv
	stride int
}

// LoadFrom implements nn.Custom for a kernel [K, C out, C in].
func (c *TransConv) LoadFrom(l *nn.Loader, name string, shape []int) error {
	k, out, in := shape[0], shape[1], shape[2]
	c.dilation, c.taps, c.out = 1, k/c.stride, c.stride*out
	c.past = past{channels: in, rows: c.taps - 1}
	layout := kernels.TransConvLayout(c.taps, c.stride, in, out)
	return c.load(l, name, shape, layout, func(dst, src []float32) { c.relay(dst, src, out, in) }, c.stride)
}

// relay brings [K, C out, C in] to [C in, taps, C out, s]; the oldest tap has the last of the K.
func (c *TransConv) relay(dst, src []float32, out, in int) {
	k := c.taps * c.stride
	for i := range in {
		for o := range out {
			for j, w := range src[(i*out+o)*k:][:k] {
				tap, r := c.taps-1-j/c.stride, j%c.stride
				dst[((r*out+o)*c.taps+tap)*in+i] = w
			}
		}
	}
}

// Forward maps x [C in, T] to [C out, s·T].
func (c *TransConv) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	y, _ := c.forward(x, m, then{})
	return y
}

// forward is Conv.forward for results [C out, s·T].
func (c *TransConv) forward(x ggml.Tensor, m *memory, next then) (sum, activated ggml.Tensor) {
	if c.level == kernels.None {
		return next.apply(c.spread(c.sum(x, m)))
	}
	sum, activated = c.fused(x, m, next)
	return c.spread(sum), c.spread(activated)
}

// spread views rows [s·C, T] as [C, s·T].
func (c *TransConv) spread(y ggml.Tensor) ggml.Tensor {
	if !y.Valid() {
		return y
	}
	return y.Reshape(c.out/c.stride, c.stride*y.Dim(1))
}

// DepthwiseConv is a causal convolution of each channel by itself.
type DepthwiseConv struct {
	past
	weight ggml.Tensor // F32 [C, K]
	bias   ggml.Tensor // F32 [C]
}

// LoadFrom implements nn.Custom for a kernel [K, 1, C].
func (c *DepthwiseConv) LoadFrom(l *nn.Loader, name string, shape []int) (err error) {
	k, channels := shape[0], shape[2]
	c.past = past{channels: channels, rows: k - 1}
	c.weight, err = relaid(l, name+".weight", shape, func(dst, src []float32) {
		for i, w := range src {
			dst[i%k*channels+i/k] = w
		}
	}, channels, k)
	if err != nil {
		return err
	}
	c.bias, err = repeated(l, name+".bias", channels, 1)
	return err
}

// Forward maps x [C, T] to [C, T].
func (c *DepthwiseConv) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	t := x.Dim(1)
	x = c.extend(x, m)
	w := m.b.Use(c.weight)
	y := x.Slice(1, 0, t).Mul(w.Slice(1, 0, 1))
	for k := 1; k < w.Dim(1); k++ {
		y = y.Add(x.Slice(1, k, t).Mul(w.Slice(1, k, 1)))
	}
	return y.Add(c.bias)
}

// Snake is SnakeBeta: y = x + sin²(a·x) / (b + 1e-9), where the file holds ln a and ln b.
type Snake struct {
	alpha   ggml.Tensor // F32 [C]: a
	invBeta ggml.Tensor // F32 [C]: 1 / (b + 1e-9)
}

// LoadFrom implements nn.Custom for [C] logarithms.
func (s *Snake) LoadFrom(l *nn.Loader, name string, shape []int) error {
	var err error
	if s.alpha, err = loadExp(l, name+".alpha", shape, math.Exp); err != nil {
		return err
	}
	s.invBeta, err = loadExp(l, name+".beta", shape, func(b float64) float64 { return 1 / (math.Exp(b) + 1e-9) })
	return err
}

// loadExp loads a vector through f.
func loadExp(l *nn.Loader, name string, shape []int, f func(float64) float64) (ggml.Tensor, error) {
	t, err := l.Find(name, shape...)
	if err != nil {
		return ggml.Tensor{}, err
	}
	return l.Put(t, func() ([]float32, error) {
		v, err := l.Floats(t)
		for i, x := range v {
			if v[i] = float32(f(float64(x))); math.IsInf(float64(v[i]), 0) {
				return nil, fmt.Errorf("%s: element %d is %g: its exponential is too large", name, i, x)
			}
		}
		return v, err
	}, shape...), nil
}

// Forward maps x [C, T] to [C, T]. These five operations in this order are what GPU backends fuse.
func (s *Snake) Forward(x ggml.Tensor) ggml.Tensor {
	return x.Add(x.Mul(s.alpha).Sin().Sqr().Mul(s.invBeta))
}
