// Package audio reads, judges, resamples and writes recordings.
//
// Samples are float32 in [-1, 1], mono unless said otherwise. Load reads a file, (*Clip).Mono24k makes of it what the
// encoders want, (*Clip).Report says what it is worth; Writer writes WAV files.
package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Format is how samples are stored.
type Format int

const (
	WAV16 Format = iota // signed 16-bit integers
	WAV24               // signed 24-bit integers, packed
	WAV32               // IEEE 754 single precision
)

var formatNames = [...]string{WAV16: "wav16", WAV24: "wav24", WAV32: "wav32"}

// ParseFormat returns the format of a name: wav16, wav24 or wav32.
func ParseFormat(name string) (Format, error) {
	for f, n := range formatNames {
		if n == name {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("audio format %q: not one of wav16, wav24, wav32", name)
}

func (f Format) valid() bool { return f >= 0 && int(f) < len(formatNames) }

func (f Format) String() string {
	if !f.valid() {
		return fmt.Sprintf("Format(%d)", int(f))
	}
	return formatNames[f]
}

// Bytes is the size of one sample.
func (f Format) Bytes() int { return [...]int{WAV16: 2, WAV24: 3, WAV32: 4}[f] }

// tag is the format's code in a fmt chunk.
func (f Format) tag() int {
	if f == WAV32 {
		return tagFloat
	}
	return tagPCM
}

// Append appends the samples to dst as the format stores them, little-endian, and returns how many were NaN.
//
// NaN becomes 0 and what lies outside [-1, 1] saturates, in every format. Integers are x·2^15 (or 2^23) rounded to
// the nearest, ties to even: -1 becomes the smallest integer and 1 the largest, which is one step short of 1.
func (f Format) Append(dst []byte, samples []float32) (out []byte, nans int) {
	for _, x := range samples {
		x, nan := clean(x)
		if nan {
			nans++
		}
		switch f {
		case WAV16:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(quantize(x, 16)))
		case WAV24:
			v := quantize(x, 24)
			dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
		case WAV32:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	return dst, nans
}

// clean returns a sample in [-1, 1], and whether it was NaN.
func clean(x float32) (float32, bool) {
	if x != x {
		return 0, true
	}
	return min(max(x, -1), 1), false
}

// quantize returns the integer of that many bits next to a sample in [-1, 1].
func quantize(x float32, bits int) int32 {
	scale := float64(int64(1) << (bits - 1))
	return int32(min(math.RoundToEven(float64(x)*scale), scale-1))
}
