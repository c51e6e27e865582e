package half

import (
	"encoding/binary"
	"math"
)

// The functions below convert whole slices from and to the little-endian bytes of a file. The byte slice must hold
// exactly one element per float; they panic when it is shorter.

// DecodeF16 widens the binary16 values in src into dst.
func DecodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = FromF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// DecodeBF16 widens the bfloat16 values in src into dst.
func DecodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = FromBF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// DecodeF32 copies the float32 values in src into dst.
func DecodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// EncodeF16 writes src into dst as binary16.
func EncodeF16(dst []byte, src []float32) {
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], F16(x))
	}
}

// EncodeBF16 writes src into dst as bfloat16.
func EncodeBF16(dst []byte, src []float32) {
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], BF16(x))
	}
}

// EncodeF32 writes src into dst as float32.
func EncodeF32(dst []byte, src []float32) {
	for i, x := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}
