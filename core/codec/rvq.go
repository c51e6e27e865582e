package codec

import (
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// Quantizer is the decoding half of a residual vector quantiser: the sum of one entry of each codebook, projected.
type Quantizer struct {
	Codebooks []ggml.Tensor `gguf:"%d.codebook" shape:"book,entries" as:"f32"`
	Out       Projection    `gguf:"output_proj" shape:"1,book,rvq"`
}

// Forward maps codes I32 [T, K], of which first is the quantiser's first, to the sum of the entries [C, T] and its
// projection [C', T].
func (q *Quantizer) Forward(codes ggml.Tensor, first int) (sum, out ggml.Tensor) {
	for i, book := range q.Codebooks {
		entry := codes.Slice(1, first+i, 1).GetRows(book)
		if i == 0 {
			sum = entry
			continue
		}
		sum = sum.Add(entry)
	}
	return sum, product(q.Out.weight, sum)
}

// Projection is a convolution with one tap and no bias.
type Projection struct{ weight ggml.Tensor } // F32 [C in, C out]

// LoadFrom implements nn.Custom for a kernel [1, C in, C out].
func (p *Projection) LoadFrom(l *nn.Loader, name string, shape []int) error {
	t, err := l.Find(name+".weight", shape...)
	if err == nil {
		p.weight = l.Put(t, func() ([]float32, error) { return l.Floats(t) }, shape[1], shape[2])
	}
	return err
}
