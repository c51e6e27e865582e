package convert

import (
	"encoding/binary"
	"math"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// quantizeQ8 writes src into dst as blocks of Q8_0: a binary16 scale d and 32 int8 values q with x = d*q.
// len(src) must be a multiple of 32. The bits are those of ggml's quantize_row_q8_0_ref:
//
//	d = max|x| / 127   q = round(x * (1/d)), halves away from zero, in float32
func quantizeQ8(dst []byte, src []float32) {
	block, bytes := gguf.Q8_0.BlockSize(), gguf.Q8_0.BlockBytes()
	for len(src) > 0 {
		x, out := src[:block], dst[:bytes]
		src, dst = src[block:], dst[bytes:]

		top := float32(0)
		for _, v := range x {
			top = max(top, float32(math.Abs(float64(v))))
		}
		d := top / 127
		inverse := 1 / d
		if math.IsInf(float64(inverse), 0) { // d is zero, or so small that it is zero as binary16
			inverse = 0
		}
		binary.LittleEndian.PutUint16(out, half.F16(d))
		for i, v := range x {
			out[2+i] = byte(int8(math.Round(float64(v * inverse))))
		}
	}
}
