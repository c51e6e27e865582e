package kernels

import (
	"encoding/binary"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Panels are weights [K, M] in the order in which a product with one column reads them, for those that are read many
// times a frame: 16 rows at a time, in a copy in large pages. They take as many bytes as in the file.
type Panels struct {
	Data    ggml.Tensor // I8 [bytes of a panel, panels]
	In, Out int
}

// PanelShape is the shape of Panels.Data; ok tells whether weights of a type and shape can be packed for this backend.
func PanelShape(be *ggml.Backend, t gguf.Type, in, out int) (shape []int, ok bool) {
	if t != gguf.Q8_0 || in%q8Block != 0 || out%q8Panel != 0 || !be.HasKernels() || !hasQ8() {
		return nil, false
	}
	return []int{in / q8Block * q8Bytes * q8Panel, out / q8Panel}, true
}

// Valid tells whether there are weights.
func (p Panels) Valid() bool { return p.Data.Valid() }

// MatMul is MatMul for packed weights, with the same results to the last bit.
func (p Panels) MatMul(x ggml.Tensor) ggml.Tensor {
	ggml.Check(x.Type() == ggml.F32 && x.Dim(0) == p.In && x.Dim(3) == 1 && x.Dense(), "q8_panels", x, p.Data)
	return multiply(x, roundColumns(x), p.Data, "q8_panels", q8PanelsAddress(), p.In, p.Out)
}

// PackPanels packs rows of Q8_0 blocks: for each block of 16 rows their scales, then four successive weights of each
// row in turn, made unsigned.
func PackPanels(dst, src []byte, in int) {
	row := in / q8Block * q8Bytes
	for len(src) > 0 {
		for b := 0; b < row; b += q8Bytes {
			packBlocks(dst, src[b:], row)
			dst = dst[q8Bytes*q8Panel:]
		}
		src = src[q8Panel*row:]
	}
}

// packBlocks packs the first block of each of 16 rows.
func packBlocks(dst, src []byte, row int) {
	const scales, step = 2 * q8Panel, 4 * q8Panel
	quants := dst[scales : q8Bytes*q8Panel]
	for r := range q8Panel {
		block := src[r*row:][:q8Bytes]
		copy(dst[2*r:], block[:2])
		for i := range q8Block / 4 {
			w := binary.LittleEndian.Uint32(block[2+4*i:])
			binary.LittleEndian.PutUint32(quants[i*step+4*r:], w^0x80808080)
		}
	}
}
