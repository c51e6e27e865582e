// Package half converts between float32 and the two 16-bit floating formats of model files.
//
//	F16   IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits; largest finite value 65504
//	BF16  the upper half of a float32: 1 sign, 8 exponent, 7 fraction bits
//
// Widening is exact. Narrowing rounds to nearest, ties to even, and overflows to infinity, as the hardware
// instructions do (VCVTPS2PH, FCVT, VCVTNEPS2BF16); a NaN stays a NaN of the same sign, made quiet.
package half

import "math"

const (
	signBit = 1 << 31
	absMask = signBit - 1
	expMask = 0xff << 23 // also the bits of +Inf
)

// F16 returns x rounded to binary16.
func F16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	abs := bits & absMask
	switch {
	case abs > expMask: // NaN: keep the upper payload bits, set the quiet bit
		return sign | 0x7e00 | uint16(abs>>13)&0x3ff
	case abs >= 0x47800000: // 2^16 and beyond; 65520..2^16 reaches infinity by the rounding carry below
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14: subnormal, a multiple of 2^-24
		// 2^-24 is the last place of 0.5 in float32, so this addition rounds exactly where binary16 must.
		sum := math.Float32frombits(abs) + 0.5
		return sign | uint16(math.Float32bits(sum)-0x3f000000)
	}
	abs -= (127 - 15) << 23
	abs += 0xfff + abs>>13&1 // half a last place, less one bit unless the kept fraction is odd
	return sign | uint16(abs>>13)
}

// FromF16 returns the value of a binary16.
func FromF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // zero and subnormals: frac * 2^-24
		const tiny = 1.0 / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*tiny))
	case 0x1f: // infinity and NaN
		return math.Float32frombits(sign | expMask | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// BF16 returns x rounded to bfloat16.
func BF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&absMask > expMask {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FromBF16 returns the value of a bfloat16.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
