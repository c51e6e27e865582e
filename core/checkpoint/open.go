package checkpoint

import (
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// TokenizerDir is the folder of the speech tokenizer within that of a talker.
const TokenizerDir = "speech_tokenizer"

// Is tells whether a path is a directory that holds a checkpoint's configuration.
func Is(path string) bool {
	info, err := os.Stat(filepath.Join(path, "config.json"))
	return err == nil && info.Mode().IsRegular()
}

// Open opens a checkpoint directory, of a talker or of a speech tokenizer, as the GGUF file that it would become: with the
// same metadata and tensors, but for general.file_type. The tensors lie in the mapped weight files, in their types, except
// for codebooks, which are computed when they are asked for. Errors that lie in the checkpoint are ErrInput.
func Open(dir string) (*gguf.File, error) {
	c, err := openCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	f, err := c.assemble()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return f, nil
}

func (c *checkpoint) assemble() (*gguf.File, error) {
	m, err := load(c)
	if err != nil {
		return nil, err
	}
	parts := gguf.Parts{Metadata: m.metadata, Close: c.Close, Check: c.check}
	for _, f := range c.files {
		parts.Mappings = append(parts.Mappings, f.mapping.Data)
	}
	for _, w := range m.weights {
		p, err := c.piece(w)
		if err != nil {
			return nil, err
		}
		parts.Tensors = append(parts.Tensors, p)
	}
	f, err := gguf.Assemble(parts)
	if err != nil {
		return nil, inputf("%w", err)
	}
	return f, nil
}

// load reads all but the weights, and checks the weights' names and shapes.
func load(c *checkpoint) (*model, error) {
	m, err := describe(c.config)
	if err != nil {
		return nil, err
	}
	if err := m.match(c.shapes()); err != nil {
		return nil, err
	}
	if m.textVocab == 0 {
		return m, nil
	}
	if err := sampling(m, c.dir); err != nil {
		return nil, err
	}
	v, err := readVocabulary(c.dir, m.textVocab)
	if err != nil {
		return nil, err
	}
	for _, t := range m.textIDs {
		if t.id >= len(v.tokens) || v.types[t.id] == tokenUnused {
			return nil, inputf("config.json: %s: the tokenizer has no token %d", t.field, t.id)
		}
	}
	v.metadata(m)
	return m, nil
}

// types are those that weights may have.
var types = map[string]gguf.Type{"F32": gguf.F32, "F16": gguf.F16, "BF16": gguf.BF16}

// piece is a tensor as it will be in the file.
func (c *checkpoint) piece(w weight) (gguf.Piece, error) {
	src := c.tensors[w.src]
	typ, ok := types[src.dtype]
	if !ok {
		return gguf.Piece{}, inputf("%s: dtype %s is not supported, only F32, F16 and BF16", w.src, src.dtype)
	}
	p := gguf.Piece{TensorInfo: gguf.TensorInfo{Name: w.name, Type: typ, Shape: slices.Clone(w.shape), Offset: src.at}, Mapping: src.file}
	slices.Reverse(p.Shape) // to ggml's order
	if w.usage == "" {
		return p, nil
	}
	usage, err := c.floats(w.usage)
	if err != nil {
		return gguf.Piece{}, err
	}
	for i, n := range usage {
		if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
			return gguf.Piece{}, inputf("%s: element %d is %g", w.usage, i, n)
		}
	}
	p.Type, p.Make = gguf.F32, func() []byte {
		sums, _ := c.floats(w.src) // whose type is known to be one of types
		divide(sums, usage)
		data := make([]byte, 4*len(sums))
		half.EncodeF32(data, sums)
		return data
	}
	return p, nil
}

// leastUsage keeps entries that were never used finite, as the reference does.
const leastUsage = 1e-5

// divide turns sums into means: a row of sums by how many vectors went into it.
func divide(sums, usage []float32) {
	dim := len(sums) / len(usage)
	for i := range sums {
		sums[i] /= max(usage[i/dim], leastUsage)
	}
}

// floats reads a whole tensor.
func (c *checkpoint) floats(name string) ([]float32, error) {
	src := c.tensors[name]
	data := c.files[src.file].mapping.Data[src.at : src.at+src.size]
	switch src.dtype {
	case "F32":
		x := make([]float32, len(data)/4)
		half.DecodeF32(x, data)
		return x, nil
	case "F16":
		x := make([]float32, len(data)/2)
		half.DecodeF16(x, data)
		return x, nil
	case "BF16":
		x := make([]float32, len(data)/2)
		half.DecodeBF16(x, data)
		return x, nil
	}
	return nil, inputf("%s: dtype %s is not supported, only F32, F16 and BF16", name, src.dtype)
}
