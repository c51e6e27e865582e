package convert

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// WriteOptions say where a plan is carried out.
type WriteOptions struct {
	Dst     string // appears only once it is complete; an existing file is replaced
	Threads int    // 0 is 1
	GGMLDir string // where ggml's shared libraries are; "" searches (see ggml.Load)
	// Progress, if not nil, is called before each tensor with the bytes of tensor data written so far, of all, and the
	// tensor's name, and once at the end with done == total and no name.
	Progress func(done, total int64, name string)
}

// Write makes the planned file, one tensor after the other, until ctx ends. The same plan gives the same bytes on any
// number of threads.
func (p *Plan) Write(ctx context.Context, o WriteOptions) error {
	if err := p.load(o.GGMLDir); err != nil {
		return err
	}
	w, err := gguf.NewWriter(o.Dst)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := p.writeMetadata(w); err != nil {
		return err
	}
	for _, s := range p.Steps {
		if err := w.Declare(gguf.TensorInfo{Name: s.Name, Type: s.To, Shape: s.Shape}); err != nil {
			return err
		}
	}
	if err := p.writeTensors(ctx, w, o); err != nil {
		return err
	}
	return w.Close()
}

// load binds ggml's libraries if they are needed.
func (p *Plan) load(dir string) error {
	if p.needsGGML() {
		if err := ggml.Load(dir); err != nil {
			return &kindError{ErrBackend, err}
		}
	}
	return nil
}

// needsGGML tells whether there is a tensor that only ggml can encode or decode.
func (p *Plan) needsGGML() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.From != s.To && (s.From.BlockSize() > 1 || s.To.BlockSize() > 1 && s.To != gguf.Q8_0)
	})
}

// writeMetadata copies what the file says, but for what it says of its types and its layout.
func (p *Plan) writeMetadata(w *gguf.Writer) error {
	for _, key := range p.file.Keys() {
		if slices.Contains(ownKeys, key) {
			continue
		}
		v, _ := p.file.Value(key)
		if err := w.Add(key, v); err != nil {
			return err
		}
	}
	if err := w.Add("general.file_type", p.recipe.fileType); err != nil {
		return err
	}
	for _, s := range p.Steps {
		if s.To.BlockSize() > 1 {
			return w.Add("general.quantization_version", uint32(quantizationVersion))
		}
	}
	return nil
}

// quantizationVersion is that of ggml's block formats, GGML_QNT_VERSION.
const quantizationVersion = 2

func (p *Plan) writeTensors(ctx context.Context, w *gguf.Writer, o WriteOptions) error {
	report := o.Progress
	if report == nil {
		report = func(int64, int64, string) {}
	}
	_, total := p.Bytes()
	q := newQuantizer(max(o.Threads, 1), p.file.ReleasePart)
	done := int64(0)
	for i := range p.Steps {
		s := &p.Steps[i]
		report(done, total, s.Name)
		t := p.file.Tensor(s.Name)
		err := w.WriteFunc(s.Name, func(dst io.Writer) error { return q.encode(ctx, dst, p.file.Data(t), s) })
		if err != nil {
			return err
		}
		done += s.After
	}
	report(done, total, "")
	return nil
}

// quantizer encodes tensors in pieces of whole rows, a piece for each thread at a time.
type quantizer struct {
	pieces  []piece
	release func(data []byte) // what has been read
}

// piece is some rows of a tensor on their way from one type to another.
type piece struct {
	floats []float32
	out    []byte
	err    error
}

// pieceSize is about how many elements a piece has.
const pieceSize = 1 << 18

func newQuantizer(threads int, release func([]byte)) *quantizer {
	return &quantizer{make([]piece, threads), release}
}

// encode writes a tensor's data as the type that the step wants.
func (q *quantizer) encode(ctx context.Context, dst io.Writer, data []byte, s *Step) error {
	if s.From == s.To {
		if i := s.From.FirstNonFinite(data); i >= 0 {
			return inputf("element %d or its scale is not finite", i*s.From.BlockSize())
		}
		return q.write(ctx, dst, data)
	}
	row := int(s.Shape[0])
	in, out := rowBytes(s.From, row), rowBytes(s.To, row)
	rows, most := len(data)/in, max(pieceSize/row, 1)
	for at := 0; at < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var wg sync.WaitGroup
		n, from := 0, at // pieces under way, and where they start
		for ; n < len(q.pieces) && at < rows; n++ {
			p, first, count := &q.pieces[n], at, min(most, rows-at)
			wg.Go(func() { p.err = p.convert(s, row, first, data[first*in:(first+count)*in], count*out) })
			at += count
		}
		wg.Wait()
		for _, p := range q.pieces[:n] {
			if p.err != nil {
				return p.err
			}
			if _, err := dst.Write(p.out); err != nil {
				return err
			}
		}
		q.release(data[from*in : at*in])
	}
	return nil
}

// write copies data in pieces, so that it can be stopped.
func (q *quantizer) write(ctx context.Context, dst io.Writer, data []byte) error {
	for len(data) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(data), 4*pieceSize)
		if _, err := dst.Write(data[:n]); err != nil {
			return err
		}
		q.release(data[:n])
		data = data[n:]
	}
	return nil
}

// rowBytes is the size of a row, which is known to consist of whole blocks.
func rowBytes(t gguf.Type, row int) int { return row / t.BlockSize() * t.BlockBytes() }

// convert fills out with size bytes made of the rows in data, the first of which is number first. A panic is an error: it
// runs on a goroutine of its own.
func (p *piece) convert(s *Step, row, first int, data []byte, size int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	n := len(data) / rowBytes(s.From, row) * row
	if cap(p.floats) < n {
		p.floats = make([]float32, n)
	}
	if cap(p.out) < size {
		p.out = make([]byte, size)
	}
	p.out = p.out[:size]
	x := p.floats[:n]
	if err := ggml.Dequantize(s.From, x, data); err != nil {
		return err
	}
	if i := firstUnfit(x, s.To); i >= 0 {
		return inputf("element %d is %g, which %v cannot hold", first*row+i, x[i], s.To)
	}
	if err := narrow(p.out, x, s.To, row); err != nil {
		return err
	}
	if i := s.To.FirstNonFinite(p.out); i >= 0 {
		return inputf("the values from element %d on are too large for %v", first*row+i*s.To.BlockSize(), s.To)
	}
	return nil
}

// narrow encodes rows as any type that is writable.
func narrow(dst []byte, x []float32, t gguf.Type, row int) error {
	switch t {
	case gguf.F32:
		half.EncodeF32(dst, x)
	case gguf.F16:
		half.EncodeF16(dst, x)
	case gguf.BF16:
		half.EncodeBF16(dst, x)
	case gguf.Q8_0:
		quantizeQ8(dst, x)
	default:
		return ggml.Quantize(t, dst, x, row)
	}
	return nil
}

// firstUnfit returns the index of the first element that type t cannot hold: infinite, NaN, or beyond its range.
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
