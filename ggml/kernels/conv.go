package kernels

import (
	"github.com/libqwen/libqwen/ggml"
)

// Conv is a causal convolution y[t] = b + Σk W[k]·x[t - (K-1-k)·d] of rows of channels.
type Conv struct {
	Level          Level
	In, Out        int         // channels
	Taps, Dilation int         // K and d
	Weight         ggml.Tensor // what Pack made
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

// Forward convolves x [In, T], which past [In, Past] precedes (none if Past is 0). It returns the sums [Out, T], if
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
		int64(c.Level), packedTypes[c.Weight.Type()], int64(c.In), int64(c.Out), int64(c.Taps), int64(c.Dilation), int64(rows),
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

// check panics with a ggml.ShapeError unless the operands fit.
func (c *Conv) check(past, x ggml.Tensor, then Then) {
	rows := x.Dim(1)
	period := c.Bias.Elements()
	ggml.Check(c.Level.available() && c.Level.Packs(c.Weight.Type()) && c.Weight.Elements() == c.Level.padded(c.Out)*c.Taps*c.In && isF32(c.Bias, period) && c.Out%period == 0,
		"conv: weights", c.Weight, c.Bias)
	ggml.Check(isF32(x, c.In*rows) && x.Dim(0) == c.In, "conv: input", x)
	ggml.Check((c.Past() == 0) == !past.Valid() && (!past.Valid() || isF32(past, c.In*c.Past())), "conv: past", past)
	ggml.Check(!then.Add.Valid() || isF32(then.Add, c.Out*rows), "conv: sum", then.Add)
	ggml.Check(then.Alpha.Valid() == then.InvBeta.Valid() && (!then.Alpha.Valid() || isF32(then.Alpha, period) && isF32(then.InvBeta, period)),
		"conv: snake", then.Alpha, then.InvBeta)
}

func isF32(t ggml.Tensor, elements int) bool { return t.Type() == ggml.F32 && t.Elements() == elements }

// Carry makes past [C, P] the last P rows of past and x [C, T] strung together, after `after` has been computed.
func Carry(b *ggml.Builder, past, x, after ggml.Tensor) {
	rows, keep, channels := x.Dim(1), past.Dim(1), x.Dim(0)
	ggml.Check(isF32(x, rows*channels) && isF32(past, keep*channels), "carry", past, x)
	b.Expand(after)
	b.Expand(b.Custom(ggml.Kernel{Name: "carry", Func: carryAddress(), Params: []int64{int64(channels), int64(rows), int64(keep)}},
		ggml.F32, []int{1}, past, x, after))
}
