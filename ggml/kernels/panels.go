package kernels

import (
	"encoding/binary"
	"math"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Panels are weights [K, M] in the order in which products read them: 16 rows at a time, in a copy in large pages. They
// take about as many bytes as in the file. It is worth the copy for weights that are read many times a frame, and for
// those that ggml takes long to multiply.
type Panels struct {
	Data    ggml.Tensor // I8 [bytes of a panel, panels]
	Type    gguf.Type   // of the weights
	In, Out int
}

// panel is how weights of a type are packed; panels.h has the same numbers.
type panel struct {
	values int // of a row that are packed together
	bytes  int // of them in 16 rows
	block  int // bytes of them in a row of the file
	name   string
	kernel func() uintptr
	pack   func(dst, src []byte, row int)
}

func panelOf(t gguf.Type) (p panel, ok bool) {
	switch t {
	case gguf.Q8_0:
		return panel{q8Block, q8Panel * q8Bytes, q8Bytes, "q8_panels", q8PanelsAddress, packQ8}, true
	case gguf.Q4_K:
		return panel{superBlock, 2368, 144, "q4_panels", q4PanelsAddress, packQ4}, true
	case gguf.Q6_K:
		return panel{superBlock, 3360, 210, "q6_panels", q6PanelsAddress, packQ6}, true
	}
	return panel{}, false
}

// PanelShape is the shape of Panels.Data; ok tells whether weights of a type and shape can be packed for this backend, or
// with nil for the CPU.
func PanelShape(be *ggml.Backend, t gguf.Type, in, out int) (shape []int, ok bool) {
	p, ok := panelOf(t)
	if !ok || in%p.values != 0 || out%q8Panel != 0 || !hasQ8() || be != nil && !be.HasKernels() {
		return nil, false
	}
	return []int{in / p.values * p.bytes, out / q8Panel}, true
}

// Valid tells whether there are weights.
func (p Panels) Valid() bool { return p.Data.Valid() }

// MatMul is w·x, x [K, N, P] -> [M, N, P]. A column's result does not depend on the others; for Q8_0 it is MatMul's, to
// the last bit.
func (p Panels) MatMul(x ggml.Tensor) ggml.Tensor {
	k, ok := panelOf(p.Type)
	ggml.Check(ok && x.Type() == ggml.F32 && x.Dim(0) == p.In && x.Dim(3) == 1 && x.Dense(), "panels", x, p.Data)
	return multiply(x, roundColumns(x), p.Data, k.name, k.kernel(), p.In, p.Out)
}

// PackPanels packs rows of a file's blocks, of `in` values each, into dst, which is zeroed.
func PackPanels(t gguf.Type, dst, src []byte, in int) {
	p, _ := panelOf(t)
	row := in / p.values * p.block
	for len(src) > 0 {
		for b := 0; b < row; b += p.block {
			p.pack(dst, src[b:], row)
			dst = dst[p.bytes:]
		}
		src = src[q8Panel*row:]
	}
}

// word is the size of four successive values of a row, line that of those of 16 rows.
const (
	word = 4
	line = word * q8Panel
)

// packQ8 packs the first block of each of 16 rows: their scales, then four successive weights of each in turn, made
// unsigned. Two words of two rows are turned at a time.
func packQ8(dst, src []byte, row int) {
	const unsigned = 0x8080808080808080
	quants := dst[2*q8Panel : q8Bytes*q8Panel]
	for r := 0; r < q8Panel; r += 2 {
		a, b := src[r*row:][:q8Bytes], src[(r+1)*row:][:q8Bytes]
		copy(dst[2*r:], a[:2])
		copy(dst[2*r+2:], b[:2])
		for i := 0; i < q8Block/word; i += 2 {
			x := binary.LittleEndian.Uint64(a[2+word*i:]) ^ unsigned
			y := binary.LittleEndian.Uint64(b[2+word*i:]) ^ unsigned
			at := i*line + word*r
			binary.LittleEndian.PutUint64(quants[at:], x&math.MaxUint32|y<<32)
			binary.LittleEndian.PutUint64(quants[at+line:], x>>32|y&^math.MaxUint32)
		}
	}
}

// superBlock is the number of values of a block of K-quants.
const superBlock = 256

// Masks for the bytes of a word.
const (
	low4 = 0x0f0f0f0f
	low2 = 0x03030303
)

// packQ4 packs the first Q4_K block of each of 16 rows: d, dmin, scales, mins, then for each 32 values their halves.
// In the file each 32 bytes hold 64 values, the first 32 of them in the low halves.
func packQ4(dst, src []byte, row int) {
	const dmin, scales, mins, quants, step = 2 * q8Panel, 4 * q8Panel, 12 * q8Panel, 20 * q8Panel, 4 * line
	for r := range q8Panel {
		block := src[r*row:][:144]
		copy(dst[2*r:], block[:2])
		copy(dst[dmin+2*r:], block[2:4])
		for j := range 8 {
			dst[scales+j*q8Panel+r], dst[mins+j*q8Panel+r] = scaleMin(block[4:16], j)
		}
		for j := range 4 {
			w := words(block[16+32*j:])
			even, odd := dst[quants+2*j*step+word*r:], dst[quants+(2*j+1)*step+word*r:]
			for i := range 4 {
				binary.LittleEndian.PutUint32(even[i*line:], w[i]&low4|w[i+4]&low4<<4)
				binary.LittleEndian.PutUint32(odd[i*line:], w[i]>>4&low4|w[i+4]&^uint32(low4))
			}
		}
	}
}

// scaleMin unpacks the six bits each of scale and min number j of a Q4_K block: of the first four they are in bytes of
// their own, whose high two bits belong to the others.
func scaleMin(p []byte, j int) (scale, least byte) {
	if j < 4 {
		return p[j] & 63, p[j+4] & 63
	}
	return p[j+4]&15 | p[j-4]>>6<<4, p[j+4]>>4 | p[j]>>6<<4
}

// words are eight words of four values.
func words(p []byte) (w [8]uint32) {
	p = p[:32]
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(p[word*i:])
	}
	return w
}

// packQ6 packs the first Q6_K block of each of 16 rows: d, scales, then for each 32 values the low four bits and the
// high two. In the file each half of a block has 64 bytes of low bits, in whose low halves are values 0-63, in the high
// ones 64-127, and 32 bytes of high bits of the values 0-31, 32-63 and so on, from the lowest two.
func packQ6(dst, src []byte, row int) {
	const scales, quants, high, step = 2 * q8Panel, 18 * q8Panel, 4 * line, 6 * line
	for r := range q8Panel {
		block := src[r*row:][:210]
		copy(dst[2*r:], block[208:])
		for j := range 16 {
			dst[scales+j*q8Panel+r] = block[192+j]
		}
		for j := range 8 { // 32 values
			half, quarter := j/4, j%4
			low, bits := words(block[64*half+32*(quarter%2):]), words(block[128+32*half:])
			p := dst[quants+j*step+word*r:]
			for i := range 4 {
				a, b := low[i]>>(quarter/2*4)&low4, low[i+4]>>(quarter/2*4)&low4
				binary.LittleEndian.PutUint32(p[i*line:], a|b<<4)
			}
			for i := range 2 {
				var h uint32
				for k := range 4 {
					h |= bits[4*i+k] >> (2 * quarter) & low2 << (2 * k)
				}
				binary.LittleEndian.PutUint32(p[high+i*line:], h)
			}
		}
	}
}
