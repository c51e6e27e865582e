package voicefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ParseXVector decodes the content of a .spk file. Every value must be finite.
func ParseXVector(data []byte) ([]float32, error) {
	if len(data) == 0 {
		return nil, errors.New("x-vector: the file is empty")
	}
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("x-vector: %d bytes are no whole number of float32 values", len(data))
	}
	x := make([]float32, len(data)/4)
	for i := range x {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("x-vector: value %d is %v", i, v)
		}
		x[i] = v
	}
	return x, nil
}

// FormatXVector encodes an x-vector as the content of a .spk file.
func FormatXVector(x []float32) []byte {
	data := make([]byte, 0, 4*len(x))
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}
