package gguf

import (
	"encoding/binary"
	"math"

	"github.com/libqwen/libqwen/internal/half"
)

// lanes describes a floating format for tests on 64 bits at once: abs has all bits but the signs, exp the exponents,
// and one the lowest exponent bits. An exponent is all ones, which is to say the value is infinite or NaN, exactly if
// adding one to it carries into its sign bit; lanes cannot disturb each other, as the sign bits are masked out first.
type lanes struct{ abs, exp, one uint64 }

var (
	lanesF32  = lanes{0x7fffffff7fffffff, 0x7f8000007f800000, 0x0080000000800000}
	lanesF16  = lanes{0x7fff7fff7fff7fff, 0x7c007c007c007c00, 0x0400040004000400}
	lanesBF16 = lanes{0x7fff7fff7fff7fff, 0x7f807f807f807f80, 0x0080008000800080}
)

// plain returns the lanes of a plain floating type.
func (t Type) plain() (l lanes, ok bool) {
	switch t {
	case F32:
		return lanesF32, true
	case F16:
		return lanesF16, true
	case BF16:
		return lanesBF16, true
	}
	return lanes{}, false
}

// CheckFinite returns an error that names the tensor if an element, or a quantised block's scale, is infinite or NaN.
// It reads all the data. Types without floating parts that it knows (integers and a few exotic quantisations) pass.
func (f *File) CheckFinite(t *TensorInfo) error {
	what := "element"
	if t.Type.BlockSize() > 1 {
		what = "scale of block"
	}
	if i := t.Type.FirstNonFinite(f.Data(t)); i >= 0 {
		return invalid("%s: %s %d is not finite", t.Name, what, i)
	}
	return nil
}

// FirstNonFinite returns the index of the first block of data (of a plain type, the first element) that is infinite or
// NaN, or -1 if there is none. Of quantised blocks it looks at the scales; types without any that it knows pass.
func (t Type) FirstNonFinite(data []byte) int {
	if l, ok := t.plain(); ok {
		return l.firstNonFinite(data, t)
	}
	if layout := layouts[t]; layout.scales != nil {
		return layout.firstNonFinite(data)
	}
	return -1
}

// firstNonFinite returns the index of the first infinite or NaN element, or -1.
func (l lanes) firstNonFinite(data []byte, t Type) int {
	const chunk = 4096
	for at := 0; at < len(data); at += chunk {
		block := data[at:min(at+chunk, len(data))]
		if l.finite(block) {
			continue
		}
		width := t.BlockBytes()
		for i := 0; i < len(block); i += width {
			if x := elementAt(t, block[i:]); math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return (at + i) / width
			}
		}
	}
	return -1
}

func (l lanes) finite(block []byte) bool {
	carry := uint64(0)
	for ; len(block) >= 8; block = block[8:] {
		carry |= binary.LittleEndian.Uint64(block)&l.exp + l.one
	}
	carry |= tail(block)&l.exp + l.one
	return carry&^l.abs == 0
}

// tail is the word of fewer than eight bytes, with zeros for the rest.
func tail(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

func elementAt(t Type, b []byte) float32 {
	switch t {
	case F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case F16:
		return half.FromF16(binary.LittleEndian.Uint16(b))
	}
	return half.FromBF16(binary.LittleEndian.Uint16(b))
}

// firstNonFinite returns the index of the first block with an infinite or NaN scale, or -1.
func (l layout) firstNonFinite(data []byte) int {
	const some = 64 // blocks
	data = data[:len(data)/l.bytes*l.bytes]
	for at := 0; at < len(data); at += some * l.bytes {
		if blocks := data[at:min(at+some*l.bytes, len(data))]; !l.finite(blocks) {
			for i := 0; ; i += l.bytes {
				if !l.finite(blocks[i:][:l.bytes]) {
					return (at + i) / l.bytes
				}
			}
		}
	}
	return -1
}

// finite reports whether all scales of some blocks are, with the carry that lanes tells of.
func (l layout) finite(blocks []byte) bool {
	carry := uint32(0)
	for _, at := range l.scales {
		for i := at; i < len(blocks)-1; i += l.bytes {
			carry |= uint32(binary.LittleEndian.Uint16(blocks[i:]))&0x7c00 + 0x400
		}
	}
	return carry&0x8000 == 0
}

// AllZero reports whether every element is zero, as in a tensor that was never filled in. It stops at the first
// element that is not, so it costs nothing for a sound tensor. A quantised block is zero if its scales are.
func (f *File) AllZero(t *TensorInfo) bool {
	data := f.Data(t)
	layout := layouts[t.Type]
	if layout.scales == nil {
		mask := uint64(math.MaxUint64)
		if l, ok := t.Type.plain(); ok {
			mask = l.abs // -0 is zero
		}
		for ; len(data) >= 8; data = data[8:] {
			if binary.LittleEndian.Uint64(data)&mask != 0 {
				return false
			}
		}
		return tail(data)&mask == 0
	}
	for ; len(data) >= layout.bytes; data = data[layout.bytes:] {
		if !layout.zero(data, t.Type) {
			return false
		}
	}
	return true
}

// zero reports whether the first block of data is zero.
func (l layout) zero(data []byte, t Type) bool {
	scale := uint16(0)
	for _, at := range l.scales {
		scale |= binary.LittleEndian.Uint16(data[at:]) & 0x7fff
	}
	if scale == 0 {
		return true
	}
	if t != Q8_0 {
		return false
	}
	for _, q := range data[2:l.bytes] {
		if q != 0 {
			return false
		}
	}
	return true
}
