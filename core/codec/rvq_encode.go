package codec

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// EncoderQuantizer is the encoding half of a residual vector quantiser: each codebook's nearest entry to what the ones
// before have left of the projected latent.
type EncoderQuantizer struct {
	In        Projection `gguf:"input_proj" shape:"1,embd,book"`
	Out       Unused     `gguf:"output_proj.weight" shape:"1,book,embd" if:"outputs"`
	Codebooks []Codebook `gguf:"%d.codebook" shape:"book,entries"`
}

// Forward maps latents [C, T] to [D, T].
func (q *EncoderQuantizer) Forward(x ggml.Tensor) ggml.Tensor { return product(q.In.weight, x) }

// quantize appends the codes of each frame's residual, which is used up.
func (q *EncoderQuantizer) quantize(be *ggml.Backend, residuals [][]float32, codes [][]int32) error {
	for i := range q.Codebooks {
		if err := q.Codebooks[i].quantize(be, residuals, codes); err != nil {
			return fmt.Errorf("codebook %d: %w", i, err)
		}
	}
	return nil
}

// Unused is a tensor that files may have and encoding does not need: it is checked, not loaded.
type Unused struct{}

// LoadFrom implements nn.Custom.
func (Unused) LoadFrom(l *nn.Loader, name string, shape []int) error {
	_, err := l.Find(name, shape...)
	return err
}

// Codebook holds the entries among which the nearest one is found.
type Codebook struct {
	entries ggml.Tensor // F32 [D, N]
	squares []float64   // of the entries' norms
	longest float64     // norm
}

// LoadFrom implements nn.Custom for entries [D, N].
func (c *Codebook) LoadFrom(l *nn.Loader, name string, shape []int) error {
	t, err := l.Find(name, shape...)
	if err != nil {
		return err
	}
	values, err := l.Floats(t)
	if err != nil {
		return err
	}
	for entry := range slices.Chunk(values, shape[0]) {
		n := norm(entry)
		c.squares = append(c.squares, n*n)
		c.longest = max(c.longest, n)
	}
	c.entries, err = asF32(l, name, shape[0], shape[1])
	return err
}

// quantize appends to each frame's codes the nearest entry and takes that away from the residual. The device tells which
// few come into question; the choice among them does not depend on how it rounds.
func (c *Codebook) quantize(be *ggml.Backend, residuals [][]float32, codes [][]int32) error {
	dots, err := c.dots(be, residuals)
	if err != nil {
		return err
	}
	entry := make([]float32, c.entries.Dim(0))
	for t, r := range residuals {
		id := c.nearest(r, dots[t*len(c.squares):][:len(c.squares)], entry)
		if id < 0 {
			return errors.New("distances are not finite")
		}
		codes[t] = append(codes[t], int32(id))
		c.entry(id, entry)
		for i := range r {
			r[i] -= entry[i]
		}
	}
	return nil
}

// dots are the products of all entries with each of the residuals, [T, N] row-major.
func (c *Codebook) dots(be *ggml.Backend, residuals [][]float32) ([]float32, error) {
	var in, out ggml.Tensor
	g, err := ggml.Build(be, 16, false, func(b *ggml.Builder) {
		in = b.Input("residuals", ggml.F32, c.entries.Dim(0), len(residuals))
		out = b.Output("dots", product(c.entries, in))
	})
	if err != nil {
		return nil, err
	}
	defer g.Free()
	for t, r := range residuals {
		in.SetF32At(t*len(r), r)
	}
	if err := g.Compute(); err != nil {
		return nil, err
	}
	dots := make([]float32, out.Elements())
	out.GetF32(dots)
	return dots, nil
}

// rounding of the factors of a product, relative, is at worst that of TF32, which keeps 10 bits. CPUs round far less, and
// allowing for this much costs nothing.
const rounding = 0x1p-11

// nearest is the entry with the smallest distance from r, the first of several; -1 if none is finite. dots are its
// products with all entries, as the device rounds them; entry is room for one.
func (c *Codebook) nearest(r, dots, entry []float32) int {
	// Less r's own square, the squared distance is |e|² - 2·r·e, off by at most 2·(2·rounding)·|r|·|e|.
	distance := func(i int) float64 { return c.squares[i] - 2*float64(dots[i]) }
	limit := math.Inf(1)
	for i := range dots {
		limit = min(limit, distance(i))
	}
	limit += 2 * 4 * rounding * norm(r) * c.longest
	best, least := -1, math.Inf(1)
	for i := range dots {
		if distance(i) <= limit {
			c.entry(i, entry)
			if d := squaredDistance(r, entry); d < least {
				best, least = i, d
			}
		}
	}
	return best
}

// entry reads one.
func (c *Codebook) entry(i int, dst []float32) { c.entries.GetF32At(i*len(dst), dst) }

func squaredDistance(a, b []float32) (sum float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return sum
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// asF32 loads a matrix as F32, in place where that can be.
func asF32(l *nn.Loader, name string, in, out int) (ggml.Tensor, error) {
	var t struct {
		Matrix ggml.Tensor `gguf:"" shape:"in,out" as:"f32"`
	}
	err := l.Load(&t, name, nn.Dims{"in": in, "out": out})
	return t.Matrix, err
}
