package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// ValueType is the type of a metadata value or of an array's elements.
type ValueType uint32

// The metadata types, numbered as in the file.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

// kinds are the metadata types' names and sizes in bytes; for strings and arrays, the least size of an encoding.
var kinds = [...]struct {
	name string
	size int
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2}, Uint32: {"uint32", 4},
	Int32: {"int32", 4}, Float32: {"float32", 4}, Bool: {"bool", 1}, String: {"string", 8}, Array: {"array", 12},
	Uint64: {"uint64", 8}, Int64: {"int64", 8}, Float64: {"float64", 8},
}

func (t ValueType) known() bool { return uint64(t) < uint64(len(kinds)) }

// String is the type's name, such as "uint32".
func (t ValueType) String() string {
	if !t.known() {
		return fmt.Sprintf("value type %d", uint32(t))
	}
	return kinds[t].name
}

// Value is one metadata value, as it lies in the file.
// A Value of a mapped file is invalid after the file's Close.
type Value struct {
	Type  ValueType
	Elem  ValueType // the type of an array's elements
	Count int       // the number of an array's elements, else 1
	raw   []byte    // without an array's header, without a string's length; an array's strings have their lengths
}

// Equal tells whether two values have the same type and content.
func (v Value) Equal(w Value) bool {
	return v.Type == w.Type && v.Elem == w.Elem && v.Count == w.Count && bytes.Equal(v.raw, w.raw)
}

// describe says what the value is, for errors.
func (v Value) describe() string {
	if v.Type == Array {
		return fmt.Sprintf("an array of %d %v", v.Count, v.Elem)
	}
	return v.Type.String()
}

// number is an integer or float of any width; a float64 cannot hold all of them, so integers stay integers.
type number struct {
	float    float64
	int      int64
	uint     uint64
	integral bool
}

// numberAt decodes the number of type t, which must be that of a number, at the start of raw.
func numberAt(t ValueType, raw []byte) number {
	le := binary.LittleEndian
	switch t {
	case Uint8:
		return unsigned(uint64(raw[0]))
	case Int8:
		return signed(int64(int8(raw[0])))
	case Uint16:
		return unsigned(uint64(le.Uint16(raw)))
	case Int16:
		return signed(int64(int16(le.Uint16(raw))))
	case Uint32:
		return unsigned(uint64(le.Uint32(raw)))
	case Int32:
		return signed(int64(int32(le.Uint32(raw))))
	case Uint64:
		return unsigned(le.Uint64(raw))
	case Int64:
		return signed(int64(le.Uint64(raw)))
	case Float32:
		return number{float: float64(math.Float32frombits(le.Uint32(raw)))}
	case Float64:
		return number{float: math.Float64frombits(le.Uint64(raw))}
	}
	panic("gguf: " + t.String() + " is not a number")
}

func unsigned(u uint64) number {
	n := number{float: float64(u), uint: u, integral: true}
	if u <= math.MaxInt64 {
		n.int = int64(u)
	}
	return n
}

func signed(i int64) number {
	n := number{float: float64(i), int: i, integral: true}
	if i >= 0 {
		n.uint = uint64(i)
	}
	return n
}

// in returns the integer if it lies in low..high.
func (n number) in(low, high int64) (int64, error) {
	if !n.integral {
		return 0, fmt.Errorf("%g is not an integer", n.float)
	}
	if n.int == 0 && n.uint != 0 || n.int < low || n.int > high {
		if n.int >= 0 {
			return 0, fmt.Errorf("%d is out of range", n.uint)
		}
		return 0, fmt.Errorf("%d is out of range", n.int)
	}
	return n.int, nil
}
