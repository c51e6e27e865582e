package audio

import (
	"encoding/binary"
	"math"
)

// sampleType is how a file stores samples as they are.
type sampleType int

const (
	int16s sampleType = iota
	int24s
	float32s
)

// bytes is the size of one sample.
func (t sampleType) bytes() int { return [...]int{int16s: 2, int24s: 3, float32s: 4}[t] }

// tag is the type's code in a fmt chunk.
func (t sampleType) tag() int {
	if t == float32s {
		return tagFloat
	}
	return tagPCM
}

// append appends samples in [-1, 1] to dst as the type stores them, little-endian.
//
// Integers are x·2^15 (or 2^23) rounded to the nearest, ties to even, without dither: -1 becomes the smallest integer
// and 1 the largest, which is one step short of 1.
func (t sampleType) append(dst []byte, samples []float32) []byte {
	for _, x := range samples {
		switch t {
		case int16s:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(quantize(x, 16)))
		case int24s:
			v := quantize(x, 24)
			dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
		case float32s:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	return dst
}

// clean returns a sample in [-1, 1]: NaN is 0, and what lies beyond saturates.
func clean(x float32) float32 {
	if x != x {
		return 0
	}
	return min(max(x, -1), 1)
}

// quantize returns the integer of that many bits next to a sample in [-1, 1].
func quantize(x float32, bits int) int32 {
	scale := float64(int64(1) << (bits - 1))
	return int32(min(math.RoundToEven(float64(x)*scale), scale-1))
}
