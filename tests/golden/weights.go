package golden

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// manifest says how the weights of one checkpoint are made (model.weights.json). The order of its tensors is the
// order of their data in the file.
type manifest struct {
	Seed    string     `json:"seed"`
	Tensors tensorList `json:"tensors"`
}

// tensorSpec makes one tensor: uniform values in mean ± amp, row-major, with some rows scaled or set.
type tensorSpec struct {
	Name      string     `json:"-"`
	Shape     []int      `json:"shape"`
	DType     string     `json:"dtype"` // BF16 or F32
	Mean      float64    `json:"mean"`
	Amp       float64    `json:"amp"`
	Overrides []override `json:"overrides"`
}

// override changes whole rows (indices of the first dimension): value, if given, else scale.
type override struct {
	Rows  []int    `json:"rows"`
	Scale float64  `json:"scale"`
	Value *float64 `json:"value"`
}

// tensorList is a JSON object whose order matters.
type tensorList []tensorSpec

func (l *tensorList) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil { // {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var t tensorSpec
		if err := dec.Decode(&t); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		t.Name, _ = key.(string)
		*l = append(*l, t)
	}
	return nil
}

func (t *tensorSpec) elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func (t *tensorSpec) bytes() int {
	if t.DType == "BF16" {
		return 2 * t.elements()
	}
	return 4 * t.elements()
}

// fnv1a64 is the 64-bit FNV-1a hash (Fowler, Noll, Vo).
func fnv1a64(s string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 0x100000001B3
	}
	return h
}

// splitmix64 is the output function of SplitMix64 (Steele, Lea, Flood 2014).
func splitmix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// values returns the tensor's weights: element i is mean + amp*(2u-1), where u in [0,1) are the upper 53 bits of
// splitmix64(fnv1a64(seed/name) + (i+1)*0x9E3779B97F4A7C15). The conversions to float64 forbid fused multiply-adds,
// so every platform makes the same bits.
func (t *tensorSpec) values(seed string) []float32 {
	n := t.elements()
	rows := make(map[int]override)
	for _, o := range t.Overrides {
		for _, r := range o.Rows {
			rows[r] = o
		}
	}
	width := n // elements of a row
	if len(t.Shape) > 0 {
		width = n / t.Shape[0]
	}
	base := fnv1a64(seed + "/" + t.Name)
	out := make([]float32, n)
	for i := range out {
		u := float64(splitmix64(base+uint64(i+1)*0x9E3779B97F4A7C15)>>11) * 0x1p-53
		w := t.Mean + float64(t.Amp*float64(2*u-1))
		if o, ok := rows[i/width]; ok {
			if o.Value != nil {
				w = *o.Value
			} else {
				w = float64(w * o.Scale)
			}
		}
		out[i] = float32(w)
	}
	return out
}

// bf16 rounds a finite float32 to the nearest bfloat16, ties to even.
func bf16(f float32) uint16 {
	b := math.Float32bits(f)
	return uint16((b + 0x7FFF + b>>16&1) >> 16)
}

// writeSafetensors writes the checkpoint in safetensors format: header length, JSON header padded to 8 bytes, data.
func (m *manifest) writeSafetensors(dst io.Writer) error {
	head, err := m.header()
	if err != nil {
		return err
	}
	if _, err := dst.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))); err != nil {
		return err
	}
	if _, err := dst.Write(head); err != nil {
		return err
	}
	var data []byte
	for i := range m.Tensors {
		data = m.Tensors[i].appendData(data[:0], m.Seed)
		if _, err := dst.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// appendData appends the tensor's values, little-endian.
func (t *tensorSpec) appendData(dst []byte, seed string) []byte {
	for _, v := range t.values(seed) {
		if t.DType == "BF16" {
			dst = binary.LittleEndian.AppendUint16(dst, bf16(v))
		} else {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	}
	return dst
}

func (m *manifest) header() ([]byte, error) {
	var h bytes.Buffer
	h.WriteString(`{"__metadata__":{"format":"pt"}`)
	at := 0
	for i := range m.Tensors {
		t := &m.Tensors[i]
		entry, err := json.Marshal(struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.DType, t.Shape, [2]int{at, at + t.bytes()}})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&h, ",%q:%s", t.Name, entry)
		at += t.bytes()
	}
	h.WriteByte('}')
	for h.Len()%8 != 0 {
		h.WriteByte(' ')
	}
	return h.Bytes(), nil
}
