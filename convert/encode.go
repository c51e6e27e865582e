package convert

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// chunk is the number of elements converted at a time, a multiple of every block size.
const chunk = 1 << 16

// encoder converts tensors piece by piece; its buffers serve one tensor after the other.
type encoder struct {
	raw    []byte
	floats []float32
	out    []byte
}

func newEncoder() *encoder {
	return &encoder{raw: make([]byte, 8*chunk), floats: make([]float32, chunk), out: make([]byte, 4*chunk)}
}

// encode writes a tensor as type t to dst.
func (e *encoder) encode(ctx context.Context, dst io.Writer, c *checkpoint, w weight, t gguf.Type) error {
	src := c.tensors[w.src]
	var usage []float32
	if w.usage != "" {
		var err error
		if usage, err = e.usage(c, w); err != nil {
			return err
		}
	}
	total := 1
	for _, n := range src.shape {
		total *= int(n)
	}
	for at := 0; at < total; at += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := e.floats[:min(chunk, total-at)]
		if err := e.read(x, src, at); err != nil {
			return fmt.Errorf("%s: %w", w.src, err)
		}
		if usage != nil {
			divide(x, at, usage, int(w.shape[1]))
		}
		if i := firstUnfit(x, t); i >= 0 {
			return inputf("%s: element %d is %g, which %v cannot hold", w.src, at+i, x[i], t)
		}
		if _, err := dst.Write(e.pack(x, t)); err != nil {
			return err
		}
	}
	return nil
}

// read reads the elements from at on as float32.
func (e *encoder) read(x []float32, src sourceTensor, at int) error {
	width := int(dtypes[src.dtype])
	raw := e.raw[:width*len(x)]
	if _, err := src.data.ReadAt(raw, int64(at)*int64(width)); err != nil {
		return err
	}
	switch src.dtype {
	case "F32":
		half.DecodeF32(x, raw)
	case "F16":
		half.DecodeF16(x, raw)
	case "BF16":
		half.DecodeBF16(x, raw)
	default:
		return inputf("dtype %s is not supported, only F32, F16 and BF16", src.dtype)
	}
	return nil
}

// usage reads how many vectors went into each entry of a codebook.
func (e *encoder) usage(c *checkpoint, w weight) ([]float32, error) {
	usage := make([]float32, w.shape[0])
	for at := 0; at < len(usage); at += chunk {
		if err := e.read(usage[at:min(at+chunk, len(usage))], c.tensors[w.usage], at); err != nil {
			return nil, fmt.Errorf("%s: %w", w.usage, err)
		}
	}
	if i := firstUnfit(usage, gguf.F32); i >= 0 {
		return nil, inputf("%s: element %d is %g", w.usage, i, usage[i])
	}
	return usage, nil
}

// leastUsage keeps entries that were never used finite, as the reference does.
const leastUsage = 1e-5

// divide turns sums into means. x are elements of the rows of dim from element at on.
func divide(x []float32, at int, usage []float32, dim int) {
	for i := range x {
		x[i] /= max(usage[(at+i)/dim], leastUsage)
	}
}

// firstUnfit returns the index of the first element that type t cannot hold: infinite, NaN, or beyond F16's range.
// It returns -1 if there is none.
func firstUnfit(x []float32, t gguf.Type) int {
	limit := float32(math.MaxFloat32)
	switch t {
	case gguf.F16:
		limit = math.Nextafter32(65520, 0) // what rounds to 65504 or less
	case gguf.BF16:
		limit = math.Float32frombits(0x7f7f7fff)
	case gguf.Q8_0:
		limit = 127 * 65504 // the scale, a 127th of the largest, is F16
	}
	for i, v := range x {
		if !(v >= -limit && v <= limit) { // so that NaN is unfit too
			return i
		}
	}
	return -1
}

// pack returns the bytes of x as type t, valid until the next call.
func (e *encoder) pack(x []float32, t gguf.Type) []byte {
	out := e.out[:len(x)/t.BlockSize()*t.BlockBytes()]
	switch t {
	case gguf.F16:
		half.EncodeF16(out, x)
	case gguf.BF16:
		half.EncodeBF16(out, x)
	case gguf.Q8_0:
		quantizeQ8(out, x)
	default: // F32, the last of the types that storage picks
		half.EncodeF32(out, x)
	}
	return out
}
