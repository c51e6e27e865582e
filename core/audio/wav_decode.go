package audio

import (
	"encoding/binary"
	"math"
)

// encoding is a way of storing samples, little-endian.
type encoding struct {
	name   string
	width  int     // bytes of a sample
	full   float32 // the largest value
	decode func(dst []float32, src []byte)
}

// encodingOf returns the encoding of a fmt chunk's tag whose samples have that many bytes.
func encodingOf(tag, width int) (encoding, bool) {
	for _, e := range encodings {
		if e.tag == tag && e.width == width {
			return e.encoding, true
		}
	}
	return encoding{}, false
}

var encodings = []struct {
	tag int
	encoding
}{
	{tagPCM, encoding{"8-bit unsigned integers", 1, 127.0 / 128, decodeU8}},
	{tagPCM, encoding{"16-bit integers", 2, 1 - 0x1p-15, decodeS16}},
	{tagPCM, encoding{"24-bit integers", 3, 1 - 0x1p-23, decodeS24}},
	{tagPCM, encoding{"32-bit integers", 4, 1, decodeS32}}, // float32 cannot tell 1-2^-31 from 1
	{tagFloat, encoding{"32-bit floats", 4, 1, decodeF32}},
	{tagFloat, encoding{"64-bit floats", 8, 1, decodeF64}},
	{tagALaw, encoding{"A-law", 1, 32256.0 / 32768, decodeALaw}},
	{tagMuLaw, encoding{"µ-law", 1, 32124.0 / 32768, decodeMuLaw}},
}

func decodeU8(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int(src[i])-128) / (1 << 7)
	}
}

func decodeS16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:]))) / (1 << 15)
	}
}

func decodeS24(dst []float32, src []byte) {
	for i := range dst {
		s := src[3*i : 3*i+3]
		v := int32(uint32(s[0])<<8|uint32(s[1])<<16|uint32(s[2])<<24) >> 8
		dst[i] = float32(v) / (1 << 23)
	}
}

func decodeS32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int32(binary.LittleEndian.Uint32(src[4*i:]))) / (1 << 31)
	}
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF64(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func decodeALaw(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(alaw(src[i])) / (1 << 15)
	}
}

func decodeMuLaw(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(mulaw(src[i])) / (1 << 15)
	}
}

// alaw expands a byte of ITU-T G.711 A-law to 16 bits. Every second bit is inverted; then come a sign (1 is positive),
// a segment s of 3 bits and a step m of 4. In units of 8 the magnitude is 2m+1 if s is 0, else (2m+33)·2^(s-1).
func alaw(b byte) int {
	b ^= 0x55
	s, m := b>>4&7, int(b&15)
	v := 2*m + 1
	if s > 0 {
		v = (2*m + 33) << (s - 1)
	}
	if b&0x80 == 0 {
		v = -v
	}
	return 8 * v
}

// mulaw expands a byte of ITU-T G.711 µ-law to 16 bits. All bits are inverted; then come a sign (1 is negative), a
// segment s of 3 bits and a step m of 4. In units of 4 the magnitude is (2m+33)·2^s - 33.
func mulaw(b byte) int {
	b = ^b
	v := (2*int(b&15)+33)<<(b>>4&7) - 33
	if b&0x80 != 0 {
		v = -v
	}
	return 4 * v
}
