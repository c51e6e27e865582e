package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	maxAlignment     = 1 << 20
	maxDims          = 4         // ggml's GGML_MAX_DIMS
	maxName          = 1<<16 - 1 // bytes of a key or a tensor's name
	maxHint          = 1 << 12   // entries to allocate on a count's word alone
)

// Parse reads a GGUF file from memory. The File refers to data, which must not change while it is in use.
func Parse(data []byte) (*File, error) {
	p := parser{data: data}
	f := &File{data: data, alignment: defaultAlignment}
	tensors, values := p.header()
	p.metadata(f, values)
	p.tensors(f, tensors)
	if p.err != nil {
		return nil, p.err
	}
	return f, nil
}

// parser walks the file. It keeps the first error; after one, every read returns zero and the position stays.
type parser struct {
	data []byte
	pos  int
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid(format, args...)
	}
}

func (p *parser) left() int { return len(p.data) - p.pos }

// bytes returns the next n bytes.
func (p *parser) bytes(n uint64, what string) []byte {
	if p.err != nil {
		return nil
	}
	if n > uint64(p.left()) {
		p.fail("%s: %d bytes at byte %d, but the file ends at byte %d: truncated or damaged", what, n, p.pos, len(p.data))
		return nil
	}
	b := p.data[p.pos : p.pos+int(n) : p.pos+int(n)]
	p.pos += int(n)
	return b
}

func (p *parser) u32(what string) uint32 {
	if b := p.bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *parser) u64(what string) uint64 {
	if b := p.bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// name reads a key or a tensor's name.
func (p *parser) name(what string) string {
	n := p.u64(what)
	if n > maxName {
		p.fail("%s: length %d at byte %d is beyond %d: damaged", what, n, p.pos-8, maxName)
	}
	b := p.bytes(n, what)
	switch {
	case p.err != nil:
	case len(b) == 0:
		p.fail("%s: empty name", what)
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		p.fail("%s: name %q is not text", what, b)
	}
	return string(b)
}

// header reads the magic, the version and the two counts.
func (p *parser) header() (tensors, values uint64) {
	switch {
	case len(p.data) == 0:
		p.fail("the file is empty")
	case !bytes.HasPrefix(p.data, []byte(magic)):
		if what := recognise(p.data); what != "" {
			p.fail("not a GGUF file but %s", what)
		} else {
			p.fail("not a GGUF file: it starts with %q", p.data[:min(len(p.data), 4)])
		}
	}
	p.bytes(uint64(len(magic)), "magic")
	switch version := p.u32("version"); {
	case p.err != nil:
	case version == 1:
		p.fail("GGUF version 1 is not supported, only 2 and 3: convert the model again")
	case version&0xffff == 0:
		p.fail("big-endian GGUF is not supported: convert the model for little-endian machines")
	case version != 2 && version != 3:
		p.fail("GGUF version %d is not supported, only 2 and 3", version)
	}
	tensors = p.u64("tensor count")
	values = p.u64("metadata count")
	// A key takes at least a length, a byte, a type and a value; a tensor a length, a byte, counts, a type, an offset.
	if p.err == nil && values > uint64(p.left())/(8+1+4+1) {
		p.fail("metadata count %d is more than the file can hold: damaged", values)
	}
	if p.err == nil && tensors > uint64(p.left())/(8+1+4+4+8) {
		p.fail("tensor count %d is more than the file can hold: damaged", tensors)
	}
	return tensors, values
}

// metadata reads count keys and their values.
func (p *parser) metadata(f *File, count uint64) {
	if p.err != nil {
		return
	}
	f.keys = make([]string, 0, min(count, maxHint))
	f.values = make(map[string]Value, min(count, maxHint))
	for range count {
		key := p.name("metadata key")
		v := p.value(key)
		if p.err != nil {
			return
		}
		if _, ok := f.values[key]; ok {
			p.fail("metadata key %s occurs twice", key)
			return
		}
		f.keys = append(f.keys, key)
		f.values[key] = v
	}
	p.alignment(f)
}

func (p *parser) alignment(f *File) {
	v, ok := f.values["general.alignment"]
	if !ok {
		return
	}
	if v.Type != Uint32 {
		p.fail("general.alignment: uint32 expected, but it is %s", v.describe())
		return
	}
	n := binary.LittleEndian.Uint32(v.raw)
	if n == 0 || n > maxAlignment || n&(n-1) != 0 {
		p.fail("general.alignment: %d is not a power of two up to %d", n, maxAlignment)
		return
	}
	f.alignment = int(n)
}

// value reads the type and the value of key.
func (p *parser) value(key string) Value {
	v := Value{Type: ValueType(p.u32(key)), Count: 1}
	switch {
	case p.err != nil:
	case !v.Type.known():
		p.fail("%s: unknown %v", key, v.Type)
	case v.Type == String:
		v.raw = p.bytes(p.u64(key), key)
	case v.Type == Array:
		p.array(key, &v)
	default:
		v.raw = p.bytes(uint64(kinds[v.Type].size), key)
		p.checkBools(key, v.Type, v.raw)
	}
	return v
}

func (p *parser) array(key string, v *Value) {
	v.Elem = ValueType(p.u32(key))
	count := p.u64(key)
	switch {
	case p.err != nil:
		return
	case !v.Elem.known():
		p.fail("%s: array of unknown %v", key, v.Elem)
		return
	case v.Elem == Array:
		p.fail("%s: arrays of arrays are not supported", key)
		return
	case count > uint64(p.left()/kinds[v.Elem].size):
		p.fail("%s: %d elements of %v are more than the file can hold: damaged", key, count, v.Elem)
		return
	}
	v.Count = int(count)
	if v.Elem != String {
		v.raw = p.bytes(count*uint64(kinds[v.Elem].size), key)
		p.checkBools(key, v.Elem, v.raw)
		return
	}
	start := p.pos
	for range count {
		p.bytes(p.u64(key), key)
		if p.err != nil {
			return
		}
	}
	v.raw = p.data[start:p.pos:p.pos]
}

func (p *parser) checkBools(key string, t ValueType, raw []byte) {
	if t != Bool {
		return
	}
	for _, b := range raw {
		if b > 1 {
			p.fail("%s: %d is not a bool", key, b)
			return
		}
	}
}

// tensors reads count tensor descriptions and checks that their data lies in the file, apart from each other.
func (p *parser) tensors(f *File, count uint64) {
	if p.err != nil {
		return
	}
	f.tensors = make([]TensorInfo, 0, min(count, maxHint))
	f.byName = make(map[string]int, min(count, maxHint))
	for range count {
		t := p.tensor()
		if p.err != nil {
			return
		}
		if _, ok := f.byName[t.Name]; ok {
			p.fail("%s: tensor occurs twice", t.Name)
			return
		}
		f.byName[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	f.dataStart = min(align(p.pos, f.alignment), len(p.data)) // a file without tensors may end before the padding
	p.extents(f)
}

func (p *parser) tensor() TensorInfo {
	t := TensorInfo{Name: p.name("tensor name")}
	dims := p.u32(t.Name)
	if dims > maxDims {
		p.fail("%s: %d dimensions, at most %d are supported", t.Name, dims, maxDims)
	}
	for i := range dims {
		n := p.u64(t.Name)
		if p.err != nil {
			return t
		}
		if n == 0 || n > math.MaxInt64 {
			p.fail("%s: dimension %d is %d", t.Name, i, n)
		}
		t.Shape = append(t.Shape, int64(n))
	}
	t.Type = Type(p.u32(t.Name))
	offset := p.u64(t.Name)
	if p.err != nil {
		return t
	}
	size, err := tensorSize(t.Type, t.Shape)
	if err != nil {
		p.fail("%s: %v", t.Name, err)
	}
	if offset > math.MaxInt64 {
		p.fail("%s: offset %d is out of range", t.Name, offset)
	}
	t.Size, t.Offset = size, int64(offset)
	return t
}

// extents checks where the tensors' data lies.
func (p *parser) extents(f *File) {
	if p.err != nil {
		return
	}
	room := int64(len(f.data) - f.dataStart)
	order := make([]*TensorInfo, len(f.tensors))
	for i := range f.tensors {
		t := &f.tensors[i]
		order[i] = t
		if t.Offset%int64(f.alignment) != 0 {
			p.fail("%s: offset %d is not a multiple of the alignment %d", t.Name, t.Offset, f.alignment)
			return
		}
		if t.Offset > room || t.Size > room-t.Offset {
			p.fail("%s: %d bytes of data at byte %d, but the file ends at byte %d: truncated download?",
				t.Name, t.Size, uint64(f.dataStart)+uint64(t.Offset), len(f.data))
			return
		}
	}
	slices.SortFunc(order, func(a, b *TensorInfo) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.Offset+a.Size > b.Offset {
			p.fail("%s and %s: their data overlap", a.Name, b.Name)
			return
		}
	}
}

// tensorSize is the number of bytes of a tensor. It also refuses element counts beyond int64.
func tensorSize(t Type, shape []int64) (int64, error) {
	row := int64(1)
	rows := uint64(1)
	for i, n := range shape {
		if i == 0 {
			row = n
			continue
		}
		hi, lo := bits.Mul64(rows, uint64(n))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, invalid("shape %v overflows", shape)
		}
		rows = lo
	}
	size, err := t.RowBytes(row)
	if err != nil {
		return 0, err
	}
	hi, total := bits.Mul64(rows, uint64(size))
	if hiElems, elems := bits.Mul64(rows, uint64(row)); hi|hiElems != 0 || total > math.MaxInt64 || elems > math.MaxInt64 {
		return 0, invalid("shape %v overflows", shape)
	}
	return int64(total), nil
}

// align rounds n up to a multiple of a, a power of two.
func align(n, a int) int { return (n + a - 1) &^ (a - 1) }
