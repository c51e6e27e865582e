package kernels

import (
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Conv is a causal convolution y[t] = b + Σk W[k]·x[t - (K-1-k)·d] of rows of channels.
type Conv struct {
	Level          Level
	In, Out        int         // channels
	Taps, Dilation int         // K and d
	Weight         ggml.Tensor // what Pack made, or PackRounded
	Rounded        bool        // weights, input and past are BF16, products and sums F32
	Bias           ggml.Tensor // F32 [P]; P divides Out, and output o has entry o mod P
}

// Then is what follows a convolution's sums y, computed while they are at hand. Snake's result differs from a float64
// computation by at most 1e-6 of |y| + sin²(Alpha·y)·InvBeta.
type Then struct {
	Add            ggml.Tensor // F32, as many elements as y: y + Add takes the place of y
	Alpha, InvBeta ggml.Tensor // F32 [P]: Snake, y + sin²(Alpha·y)·InvBeta
	Sum            bool        // y itself is wanted besides Snake's result
}

// Past is how many rows before the first one a convolution sees.
func (c *Conv) Past() int { return (c.Taps - 1) * c.Dilation }

// Forward convolves x F32 [In, T] (if Rounded, what Round made of it), which past [In, Past] precedes (none if Past is 0). It returns the sums [Out, T], if
// they are wanted or nothing follows, and Snake's result [Out, T], if that follows.
func (c *Conv) Forward(b *ggml.Builder, past, x ggml.Tensor, then Then) (sum, activated ggml.Tensor) {
	weight, bias := b.Use(c.Weight), b.Use(c.Bias)
	rows, snake := x.Dim(1), then.Alpha.Valid()
	both := snake && then.Sum
	c.check(past, x, then)
	planes := 1
	if both {
		planes = 2
	}
	y := b.Custom(ggml.Kernel{Name: "conv", Func: convAddress(), Params: []int64{
		int64(c.Level), c.weightType(), int64(c.In), int64(c.Out), int64(c.Taps), int64(c.Dilation), int64(rows),
		int64(bias.Elements()), flag(both),
	}}, ggml.F32, []int{c.Out, rows, planes}, past, x, weight, bias, then.Add, then.Alpha, then.InvBeta)
	switch {
	case both:
		return y.Slice(2, 0, 1), y.Slice(2, 1, 1)
	case snake:
		return ggml.Tensor{}, y
	}
	return y, ggml.Tensor{}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// rounded is the number of kernels.h for weights that PackRounded made.
const rounded = 3

func (c *Conv) weightType() int64 {
	if c.Rounded {
		return rounded
	}
	return packedTypes[c.Weight.Type()]
}

// check panics with a ggml.ShapeError unless the operands fit.
func (c *Conv) check(past, x ggml.Tensor, then Then) {
	rows := x.Dim(1)
	period := c.Bias.Elements()
	input := gguf.F32
	typed := c.Level.Packs(c.Weight.Type())
	if c.Rounded {
		input, typed = gguf.BF16, c.Level.Rounds() && c.In%2 == 0 && c.Weight.Type() == gguf.BF16
	}
	ggml.Check(c.Level.available() && typed && c.Weight.Elements() == c.Level.padded(c.Out)*c.Taps*c.In &&
		has(c.Bias, ggml.F32, period) && c.Out%period == 0, "conv: weights", c.Weight, c.Bias)
	ggml.Check(has(x, input, c.In*rows) && x.Dim(0) == c.In, "conv: input", x)
	ggml.Check((c.Past() == 0) == !past.Valid() && (!past.Valid() || has(past, input, c.In*c.Past())), "conv: past", past)
	ggml.Check(!then.Add.Valid() || has(then.Add, ggml.F32, c.Out*rows), "conv: sum", then.Add)
	ggml.Check(then.Alpha.Valid() == then.InvBeta.Valid() &&
		(!then.Alpha.Valid() || has(then.Alpha, ggml.F32, period) && has(then.InvBeta, ggml.F32, period)), "conv: snake", then.Alpha, then.InvBeta)
}

func has(t ggml.Tensor, typ ggml.Type, elements int) bool {
	return t.Type() == typ && t.Elements() == elements
}

// Round rounds x F32 [In, T] to BF16, for a convolution that is Rounded.
func Round(b *ggml.Builder, l Level, x ggml.Tensor) ggml.Tensor {
	ggml.Check(l.available() && l.Rounds() && x.Type() == ggml.F32, "round", x)
	return b.Custom(ggml.Kernel{Name: "round", Func: roundAddress(), Params: []int64{int64(l), int64(x.Elements())}}, gguf.BF16, x.Shape(), x)
}

// Carry makes past [C, P] the last P rows of past and x [C, T] strung together, after `after` has been computed.
func Carry(b *ggml.Builder, past, x, after ggml.Tensor) {
	rows, keep, channels := x.Dim(1), past.Dim(1), x.Dim(0)
	ggml.Check(x.Type() == past.Type() && x.Elements() == rows*channels && past.Elements() == keep*channels, "carry", past, x)
	b.Expand(after)
	b.Expand(b.Custom(ggml.Kernel{Name: "carry", Func: carryAddress(), Params: []int64{int64(past.RowBytes()), int64(rows), int64(keep)}},
		ggml.F32, []int{1}, past, x, after))
}
