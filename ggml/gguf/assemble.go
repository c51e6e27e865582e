package gguf

import (
	"fmt"
	"slices"
	"sync"
)

// Entry is a metadata key with its value, of a type that [Writer.Add] takes.
type Entry struct {
	Key   string
	Value any
}

// Piece is a tensor of an assembled file, and where its data come from.
type Piece struct {
	TensorInfo               // Offset is where the data begin in the mapping; Size is computed
	Mapping    int           // number of the mapping that the data lie in
	Make       func() []byte // or what computes them; it is called again after they were released
}

// Parts is what [Assemble] makes a File of.
type Parts struct {
	Metadata []Entry
	Tensors  []Piece
	Mappings [][]byte                          // whole mapped files
	Close    func() error                      // unmaps them
	Check    func() (modified bool, err error) // of them, see File.Check
}

// foreign is where the data of an assembled file's tensors come from.
type foreign struct {
	mappings [][]byte
	pieces   []Piece
	mu       sync.Mutex
	made     map[int][]byte // computed data, by the tensor's number
}

// Assemble makes a File of parts that do not lie in one GGUF file, such as those of a checkpoint of another format, or
// of a model that is spread over several files. Its getters, and whatever reads files, see no difference. If it fails,
// it leaves the parts to the caller; else Close of the file closes them.
func Assemble(p Parts) (*File, error) {
	f := &File{
		unmap: p.Close, check: p.Check, values: make(map[string]Value, len(p.Metadata)), byName: make(map[string]int, len(p.Tensors)), alignment: 1,
		foreign: &foreign{mappings: p.Mappings, pieces: slices.Clone(p.Tensors), made: map[int][]byte{}},
	}
	for _, e := range p.Metadata {
		if f.Has(e.Key) {
			return nil, invalid("metadata key %s occurs twice", e.Key)
		}
		v, err := valueOf(e.Value)
		if err != nil {
			return nil, fmt.Errorf("gguf: metadata %s: %w", e.Key, err)
		}
		f.keys = append(f.keys, e.Key)
		f.values[e.Key] = v
	}
	for i := range f.foreign.pieces {
		if err := f.addPiece(i, &f.foreign.pieces[i]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *File) addPiece(i int, t *Piece) error {
	if len(t.Shape) == 0 || len(t.Shape) > maxDims || slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 1 }) {
		return invalid("%s: shape %s is not one to %d dimensions", t.Name, FormatShape(t.Shape), maxDims)
	}
	size, err := tensorSize(t.Type, t.Shape)
	if err != nil {
		return invalid("%s: %v", t.Name, err)
	}
	t.Size = size
	if _, ok := f.byName[t.Name]; ok {
		return invalid("%s: tensor occurs twice", t.Name)
	}
	if t.Make == nil {
		room := int64(len(f.foreign.mappings[t.Mapping]))
		if t.Offset < 0 || t.Offset > room || size > room-t.Offset {
			return invalid("%s: %d bytes of data at byte %d of %d", t.Name, size, t.Offset, room)
		}
	}
	f.byName[t.Name] = i
	f.tensors = append(f.tensors, t.TensorInfo)
	return nil
}

// data returns the bytes of tensor number i.
func (p *foreign) data(i int) []byte {
	t := &p.pieces[i]
	if t.Make == nil {
		return p.mappings[t.Mapping][t.Offset : t.Offset+t.Size : t.Offset+t.Size]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	data, ok := p.made[i]
	if !ok {
		data = t.Make()
		p.made[i] = data
	}
	return data
}

// forget drops the data of tensor number i if they are computed, and tells whether they are.
func (p *foreign) forget(i int) bool {
	if p.pieces[i].Make == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.made, i)
	return true
}
