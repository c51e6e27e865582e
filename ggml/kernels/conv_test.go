package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
	"github.com/libqwen/libqwen/internal/half"
	"github.com/libqwen/libqwen/internal/testenv"
)

// levels are those that this processor has kernels for.
func levels(t *testing.T) []kernels.Level {
	t.Helper()
	l := kernels.Levels()[1:]
	if len(l) == 0 {
		t.Skip("built without cgo: no kernels")
	}
	return l
}

// problem is a convolution of random data and what follows it.
type problem struct {
	in, out, taps, dilation, rows, period int
	typ                                   ggml.Type
	w                                     []float32 // [out][in][taps], values that typ holds
	bias, alpha, invBeta                  []float32 // [period]
	past, x, add                          []float32
	residual, snake, sum                  bool
	rounded                               bool // w, past and x hold BF16 values
}

func (p *problem) String() string {
	typ := p.typ.String()
	if p.rounded {
		typ = "rounded"
	}
	return fmt.Sprintf("%s, %d to %d channels, K %d, d %d, T %d", typ, p.in, p.out, p.taps, p.dilation, p.rows)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func newProblem(r *rand.Rand, level kernels.Level, rows int) *problem {
	p := &problem{
		in: pick(r, 1, 2, 5, 16, 31, 96, 300), out: pick(r, 1, 3, 4, 5, 8, 12, 13, 16, 17, 24, 25, 32, 47, 48, 49, 96, 100),
		taps: pick(r, 1, 2, 3, 7, 17), dilation: pick(r, 1, 2, 3, 9), rows: rows, typ: pick(r, gguf.F32, gguf.F16, gguf.BF16),
		residual: r.IntN(2) == 0, snake: r.IntN(2) == 0, sum: r.IntN(2) == 0,
	}
	p.period = p.out
	for _, n := range []int{2, 3, 4} { // what a transposed convolution of this stride has
		if p.out%n == 0 && r.IntN(2) == 0 {
			p.period = p.out / n
			break
		}
	}
	if !level.Packs(p.typ) {
		p.typ = gguf.F32
	}
	p.w = random(r, p.out*p.in*p.taps)
	switch p.typ {
	case gguf.F16:
		half.DecodeF16(p.w, p.raw())
	case gguf.BF16:
		half.DecodeBF16(p.w, p.raw())
	}
	p.bias, p.alpha, p.invBeta = random(r, p.period), random(r, p.period), random(r, p.period)
	p.past, p.x, p.add = random(r, (p.taps-1)*p.dilation*p.in), random(r, rows*p.in), random(r, rows*p.out)
	if p.rounded = level.Rounds() && p.in%2 == 0 && r.IntN(2) == 0; p.rounded {
		for _, v := range [][]float32{p.w, p.past, p.x} {
			for i := range v {
				v[i] = half.FromBF16(half.BF16(v[i]))
			}
		}
	}
	return p
}

// raw are the weights in their type.
func (p *problem) raw() []byte {
	encode, size := half.EncodeF32, 4
	switch p.typ {
	case gguf.F16:
		encode, size = half.EncodeF16, 2
	case gguf.BF16:
		encode, size = half.EncodeBF16, 2
	}
	b := make([]byte, size*len(p.w))
	encode(b, p.w)
	return b
}

// result of a run; what was not asked for is nil.
type result struct{ sum, activated []float32 }

// run computes the problem in a graph of its own.
func (p *problem) run(t *testing.T, level kernels.Level, be *ggml.Backend) result {
	t.Helper()
	conv := kernels.Conv{Level: level, In: p.in, Out: p.out, Taps: p.taps, Dilation: p.dilation, Rounded: p.rounded}
	weights := p.pack(t, be, &conv)
	defer weights.Free()

	var set []func()
	var sum, activated ggml.Tensor
	g, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
		input := func(v []float32, ne ...int) ggml.Tensor {
			x := b.Input("", ggml.F32, ne...)
			set = append(set, func() { x.SetF32(v) })
			return x
		}
		conv.Bias = input(p.bias, p.period)
		var past ggml.Tensor
		var then kernels.Then
		if conv.Past() > 0 {
			past = input(p.past, p.in, conv.Past())
		}
		if p.residual {
			then.Add = input(p.add, p.out, p.rows)
		}
		if p.snake {
			then.Alpha, then.InvBeta, then.Sum = input(p.alpha, p.period), input(p.invBeta, p.period), p.sum
		}
		x := input(p.x, p.in, p.rows)
		if p.rounded {
			x = kernels.Round(b, level, x)
			if past.Valid() {
				past = kernels.Round(b, level, past)
			}
		}
		sum, activated = conv.Forward(b, past, x, then)
		if sum.Valid() {
			sum = b.Output("sum", sum)
		}
		if activated.Valid() {
			activated = b.Output("activated", activated)
		}
	})
	require.NoError(t, err)
	defer g.Free()
	for _, f := range set {
		f()
	}
	require.NoError(t, g.Compute())
	return result{read(sum), read(activated)}
}

// pack lays the weights out in an arena of their own.
func (p *problem) pack(t *testing.T, be *ggml.Backend, c *kernels.Conv) *ggml.Arena {
	t.Helper()
	layout := kernels.ConvLayout(p.taps, p.in, p.out)
	typ := p.typ
	if p.rounded {
		typ = gguf.BF16
	}
	weights := be.NewArena(1)
	c.Weight = weights.New(typ, c.Level.PackedShape(layout)...)
	require.NoError(t, weights.Alloc())
	switch {
	case p.rounded:
		c.Level.PackRounded(c.Weight.Host(), p.w, layout)
	case p.typ == gguf.F32:
		c.Level.PackF32(c.Weight.Host(), p.w, layout)
	default:
		c.Level.Pack(c.Weight.Host(), p.raw(), p.typ, layout)
	}
	return weights
}

func read(t ggml.Tensor) []float32 {
	if !t.Valid() {
		return nil
	}
	v := make([]float32, t.Elements())
	t.GetF32(v)
	return v
}

// want is sum o of row t in double precision, and the sum of its terms' magnitudes.
func (p *problem) want(t, o int) (y, scale float64) {
	term := func(v float64) { y, scale = y+v, scale+math.Abs(v) }
	term(float64(p.bias[o%p.period]))
	if p.residual {
		term(float64(p.add[t*p.out+o]))
	}
	for k := range p.taps {
		row := p.past
		at := t - (p.taps-1-k)*p.dilation
		if at >= 0 {
			row = p.x
		} else {
			at += (p.taps - 1) * p.dilation
		}
		for i := range p.in {
			term(float64(p.w[(o*p.in+i)*p.taps+k]) * float64(row[at*p.in+i]))
		}
	}
	return y, scale
}

func snake(y, a, invB float64) float64 {
	s := math.Sin(a * y)
	return y + s*s*invB
}

// near is require.InDelta, for many numbers.
func near(t *testing.T, want float64, got float32, bound float64, format string, args ...any) {
	t.Helper()
	if !(math.Abs(want-float64(got)) <= bound) {
		t.Fatalf("%g, want %g ± %g: %s", got, want, bound, fmt.Sprintf(format, args...))
	}
}

const epsilon = 1.0 / (1 << 24) // of one rounding

func (p *problem) check(t *testing.T, got result) {
	t.Helper()
	assert.Equal(t, !p.snake || p.sum, got.sum != nil)
	assert.Equal(t, p.snake, got.activated != nil)
	roundings := float64(2*p.taps*p.in + 4)
	for row := range p.rows {
		for o := range p.out {
			y, scale := p.want(row, o)
			bound := roundings * epsilon * scale
			if got.sum != nil {
				near(t, y, got.sum[row*p.out+o], bound, "row %d, output %d", row, o)
			}
			if got.activated != nil {
				a, b := float64(p.alpha[o%p.period]), float64(p.invBeta[o%p.period])
				near(t, snake(y, a, b), got.activated[row*p.out+o], bound*(1+math.Abs(a*b))+1e-6*(scale+math.Abs(b)),
					"row %d, output %d, activated", row, o)
			}
		}
	}
}

func TestConv(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, level := range levels(t) {
		t.Run(level.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			rows := []int{63, 64, 65, 130}
			for n := 1; n <= 17; n++ {
				rows = append(rows, n, n, n)
			}
			for _, n := range rows {
				p := newProblem(r, level, n)
				t.Log(p)
				p.check(t, p.run(t, level, be))
			}
		})
	}
}

// TestThreadsDoNotMatter: not to the last bit, nor does what else is computed.
func TestThreadsDoNotMatter(t *testing.T) {
	one, many := testenv.CPU(t, 1), []*ggml.Backend{testenv.CPU(t, 2), testenv.CPU(t, 3)}
	for _, level := range levels(t) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 8 {
			p := newProblem(r, level, pick(r, 1, 5, 70, 200))
			p.snake, p.sum = true, true
			want := p.run(t, level, one)
			for _, be := range many {
				require.Equal(t, want, p.run(t, level, be), "%v: %v, %d threads", level, p, be.Threads())
			}
			p.sum = false
			require.Equal(t, want.activated, p.run(t, level, one).activated)
			p.snake = false
			require.Equal(t, want.sum, p.run(t, level, one).sum)
		}
	}
}

// TestLevelsAgree: with fused multiply-adds in one order, a result does not depend on the width of the vectors.
func TestLevelsAgree(t *testing.T) {
	be := testenv.CPU(t, 1)
	fused := slices.DeleteFunc(levels(t), func(l kernels.Level) bool { return l == kernels.Portable })
	r := rand.New(rand.NewPCG(11, 12))
	for range 20 {
		p := newProblem(r, kernels.AVX512, pick(r, 1, 5, 70))
		p.snake, p.sum = true, true
		for _, level := range fused {
			require.Equal(t, p.run(t, fused[0], be), p.run(t, level, be), "%v and %v: %v", fused[0], level, p)
		}
	}
}

// TestChunksDoNotMatter: a signal in pieces, each a run of a graph that carries its past, has the bits of the whole.
func TestChunksDoNotMatter(t *testing.T) {
	be := testenv.CPU(t, 2)
	for _, level := range levels(t) {
		r := rand.New(rand.NewPCG(5, 6))
		for range 20 {
			p := newProblem(r, level, 60)
			if p.taps == 1 {
				continue
			}
			p.residual, p.snake, p.past = false, false, make([]float32, len(p.past))
			want := p.run(t, level, be).sum
			var got []float32
			for x := p.x; len(x) > 0; {
				n := min(pick(r, 1, 2, 3, 8, 30), len(x)/p.in)
				got = append(got, p.piece(t, level, be, x[:n*p.in])...)
				x = x[n*p.in:]
			}
			require.Equal(t, want, got, "%v: %v", level, p)
		}
	}
}

// piece runs the convolution of some rows and leaves in p.past what the next piece sees.
func (p *problem) piece(t *testing.T, level kernels.Level, be *ggml.Backend, rows []float32) []float32 {
	t.Helper()
	conv := kernels.Conv{Level: level, In: p.in, Out: p.out, Taps: p.taps, Dilation: p.dilation, Rounded: p.rounded}
	weights := p.pack(t, be, &conv)
	defer weights.Free()
	memory, typ, encode := be.NewArena(1), ggml.F32, half.EncodeF32
	defer memory.Free()
	if p.rounded {
		typ, encode = gguf.BF16, half.EncodeBF16
	}
	past := memory.New(typ, p.in, conv.Past())
	require.NoError(t, memory.Alloc())
	encode(past.Host(), p.past)
	var x, y ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		x, conv.Bias = b.Input("x", ggml.F32, p.in, len(rows)/p.in), b.Input("bias", ggml.F32, p.period)
		z := x
		if p.rounded {
			z = kernels.Round(b, level, x)
		}
		y, _ = conv.Forward(b, b.Use(past), z, kernels.Then{})
		y = b.Output("y", y)
		kernels.Carry(b, b.Use(past), z, y)
	})
	require.NoError(t, err)
	defer g.Free()
	x.SetF32(rows)
	conv.Bias.SetF32(p.bias)
	require.NoError(t, g.Compute())
	if p.rounded {
		half.DecodeBF16(p.past, past.Host())
	} else {
		half.DecodeF32(p.past, past.Host())
	}
	return read(y)
}

// TestTransposed: the weights of a transposed convolution, laid out as those of an ordinary one.
func TestTransposed(t *testing.T) {
	be := testenv.CPU(t, 1)
	const in, out, stride, rows = 5, 7, 3, 4
	r := rand.New(rand.NewPCG(7, 8))
	w, x, bias := random(r, in*out*2*stride), random(r, in*(rows+1)), random(r, out)
	for _, level := range levels(t) {
		layout := kernels.TransConvLayout(2, stride, in, out)
		conv := kernels.Conv{Level: level, In: in, Out: stride * out, Taps: 2, Dilation: 1}
		weights := be.NewArena(1)
		defer weights.Free()
		conv.Weight = weights.New(ggml.F32, level.PackedShape(layout)...)
		require.NoError(t, weights.Alloc())
		level.Pack(conv.Weight.Host(), (&problem{w: w, typ: gguf.F32}).raw(), gguf.F32, layout)
		var past, input, y ggml.Tensor
		g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
			past, input, conv.Bias = b.Input("past", ggml.F32, in, 1), b.Input("x", ggml.F32, in, rows), b.Input("bias", ggml.F32, out)
			y, _ = conv.Forward(b, past, input, kernels.Then{})
			y = b.Output("y", y)
		})
		require.NoError(t, err)
		defer g.Free()
		past.SetF32(x[:in])
		input.SetF32(x[in:])
		conv.Bias.SetF32(bias)
		require.NoError(t, g.Compute())
		got := read(y)
		for at := range rows * stride {
			for o := range out {
				want := float64(bias[o])
				for from := range rows + 1 { // row `from` adds its kernel from stride·(from-1) on
					if k := at - stride*(from-1); k >= 0 && k < 2*stride {
						for i := range in {
							want += float64(x[from*in+i]) * float64(w[(i*out+o)*2*stride+k])
						}
					}
				}
				near(t, want, got[at*out+o], 1e-5, "%v, row %d, output %d", level, at, o)
			}
		}
	}
}

// TestChain: intermediate results, which share memory where they can, do not get in each other's way; a residual may
// be the input itself.
func TestChain(t *testing.T) {
	be := testenv.CPU(t, 3)
	const channels, rows, depth = 20, 150, 6
	r := rand.New(rand.NewPCG(9, 10))
	for _, level := range levels(t) {
		p := newProblem(r, level, rows)
		p.in, p.out, p.taps, p.dilation, p.period, p.typ, p.rounded = channels, channels, 1, 1, channels, gguf.F32, false
		p.w = random(r, channels*channels)
		for i := range p.w {
			p.w[i] /= channels
		}
		p.bias, p.alpha, p.invBeta, p.x = random(r, channels), random(r, channels), random(r, channels), random(r, channels*rows)
		p.residual, p.snake, p.sum, p.past = true, true, true, nil
		conv := kernels.Conv{Level: level, In: channels, Out: channels, Taps: 1, Dilation: 1}
		weights := p.pack(t, be, &conv)
		defer weights.Free()
		var x, bias, alpha, invBeta, out ggml.Tensor
		g, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
			x, bias = b.Input("x", ggml.F32, channels, rows), b.Input("bias", ggml.F32, channels)
			alpha, invBeta = b.Input("alpha", ggml.F32, channels), b.Input("invBeta", ggml.F32, channels)
			conv.Bias = bias
			y, z := x, x
			for range depth {
				y, z = conv.Forward(b, ggml.Tensor{}, z, kernels.Then{Add: y, Alpha: alpha, InvBeta: invBeta, Sum: true})
			}
			out = b.Output("out", y.Add(z))
		})
		require.NoError(t, err)
		defer g.Free()
		for _, v := range []struct {
			t ggml.Tensor
			v []float32
		}{{x, p.x}, {bias, p.bias}, {alpha, p.alpha}, {invBeta, p.invBeta}} {
			v.t.SetF32(v.v)
		}
		require.NoError(t, g.Compute())
		p.add = p.x
		want := result{}
		for range depth {
			want = p.run(t, level, be)
			p.add, p.x = want.sum, want.activated
		}
		for i, v := range read(out) {
			near(t, float64(want.sum[i]+want.activated[i]), v, 0, "%v, element %d", level, i)
		}
	}
}

func TestShapesAreChecked(t *testing.T) {
	be := testenv.CPU(t, 1)
	for _, c := range []struct {
		want  string
		spoil func(c *kernels.Conv, b *ggml.Builder, past, x *ggml.Tensor, then *kernels.Then)
	}{
		{"conv: weights", func(c *kernels.Conv, _ *ggml.Builder, _, _ *ggml.Tensor, _ *kernels.Then) { c.Out++ }},
		{"conv: weights", func(c *kernels.Conv, _ *ggml.Builder, _, _ *ggml.Tensor, _ *kernels.Then) { c.Level = kernels.None }},
		{"conv: weights", func(c *kernels.Conv, b *ggml.Builder, _, _ *ggml.Tensor, _ *kernels.Then) {
			c.Bias = b.Input("", ggml.F32, 5)
		}},
		{"conv: weights", func(c *kernels.Conv, b *ggml.Builder, _, _ *ggml.Tensor, _ *kernels.Then) {
			c.Weight = b.Input("", ggml.I32, c.Weight.Shape()...)
		}},
		{"conv: input", func(_ *kernels.Conv, b *ggml.Builder, _, x *ggml.Tensor, _ *kernels.Then) {
			*x = b.Input("", ggml.F32, 3, 9)
		}},
		{"conv: past", func(_ *kernels.Conv, b *ggml.Builder, past, _ *ggml.Tensor, _ *kernels.Then) {
			*past = b.Input("", ggml.F32, 4, 3)
		}},
		{"conv: past", func(_ *kernels.Conv, _ *ggml.Builder, past, _ *ggml.Tensor, _ *kernels.Then) { *past = ggml.Tensor{} }},
		{"conv: sum", func(_ *kernels.Conv, b *ggml.Builder, _, _ *ggml.Tensor, then *kernels.Then) {
			then.Add = b.Input("", ggml.F32, 6, 8)
		}},
		{"conv: snake", func(_ *kernels.Conv, b *ggml.Builder, _, _ *ggml.Tensor, then *kernels.Then) {
			then.Alpha = b.Input("", ggml.F32, 6)
		}},
		{"conv: operands", func(_ *kernels.Conv, b *ggml.Builder, _, x *ggml.Tensor, _ *kernels.Then) {
			*x = b.Input("", ggml.F32, 5, 4).Transpose()
		}},
	} {
		_, err := ggml.Build(be, 64, false, func(b *ggml.Builder) {
			level := levels(t)[0]
			conv := kernels.Conv{Level: level, In: 4, Out: 6, Taps: 3, Dilation: 2}
			conv.Weight = b.Input("w", ggml.F32, level.PackedShape(kernels.ConvLayout(3, 4, 6))...)
			conv.Bias = b.Input("b", ggml.F32, 6)
			past, x, then := b.Input("past", ggml.F32, 4, 4), b.Input("x", ggml.F32, 4, 9), kernels.Then{}
			c.spoil(&conv, b, &past, &x, &then)
			y, _ := conv.Forward(b, past, x, then)
			b.Output("y", y)
		})
		var shape *ggml.ShapeError
		require.ErrorAs(t, err, &shape)
		assert.Contains(t, err.Error(), c.want)
	}
}

// TestRound: to the nearest, ties to even, whatever the number of threads.
func TestRound(t *testing.T) {
	be := testenv.CPU(t, 3)
	level := kernels.Best()
	if !level.Rounds() {
		t.Skip("this processor has no products of BF16")
	}
	inf := float32(math.Inf(1))
	values := append([]float32{0, 1, 1 + 1.0/256, 1 + 3.0/256, -1 - 1.0/256, math.MaxFloat32, inf, -inf, float32(math.NaN())},
		random(rand.New(rand.NewPCG(13, 14)), 100)...)
	var x, y ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		x = b.Input("x", ggml.F32, len(values))
		y = b.Output("y", kernels.Round(b, level, x))
	})
	require.NoError(t, err)
	defer g.Free()
	x.SetF32(values)
	require.NoError(t, g.Compute())
	raw, got := make([]byte, 2*len(values)), make([]float32, len(values))
	y.GetBytes(raw)
	half.DecodeBF16(got, raw)
	for i, v := range values {
		want := half.FromBF16(half.BF16(v))
		assert.True(t, got[i] == want || v != v && got[i] != got[i], "%g becomes %g, want %g", v, got[i], want)
	}
}

// TestNoKernels: without cgo, and at level None, nothing crashes.
func TestNoKernels(t *testing.T) {
	assert.Equal(t, kernels.None, kernels.Levels()[0])
	assert.Contains(t, kernels.Levels(), kernels.Best())
	assert.Equal(t, "none AVX-512 level 9", fmt.Sprint(kernels.None, kernels.AVX512, kernels.Level(9)))
	be := testenv.CPU(t, 1)
	_, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		x := b.Input("x", ggml.F32, 4)
		b.Output("y", b.Custom(ggml.Kernel{Name: "nothing"}, ggml.F32, []int{4}, x))
	})
	require.EqualError(t, err, "ggml: nothing: operands do not fit: F32[4]")
}
