package gguf

import (
	"fmt"
	"math"
	"strings"
)

// Type is a ggml tensor element type, numbered as in ggml's enum ggml_type.
type Type uint32

// The element types. The numbers that are missing belonged to types that ggml has removed.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q8_1    Type = 9
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
)

// layout is how a type stores a row: blocks of elems elements in bytes bytes.
// scales are the offsets, within a block, of its binary16 scales and minimums.
type layout struct {
	name         string
	elems, bytes int
	scales       []int
}

var layouts = [...]layout{
	F32:     {"F32", 1, 4, nil},
	F16:     {"F16", 1, 2, nil},
	Q4_0:    {"Q4_0", 32, 18, []int{0}},
	Q4_1:    {"Q4_1", 32, 20, []int{0, 2}},
	Q5_0:    {"Q5_0", 32, 22, []int{0}},
	Q5_1:    {"Q5_1", 32, 24, []int{0, 2}},
	Q8_0:    {"Q8_0", 32, 34, []int{0}},
	Q8_1:    {"Q8_1", 32, 36, []int{0}},
	Q2_K:    {"Q2_K", 256, 84, []int{80, 82}},
	Q3_K:    {"Q3_K", 256, 110, []int{108}},
	Q4_K:    {"Q4_K", 256, 144, []int{0, 2}},
	Q5_K:    {"Q5_K", 256, 176, []int{0, 2}},
	Q6_K:    {"Q6_K", 256, 210, []int{208}},
	Q8_K:    {"Q8_K", 256, 292, nil}, // a float32 scale; only ever an intermediate inside ggml
	IQ2_XXS: {"IQ2_XXS", 256, 66, []int{0}},
	IQ2_XS:  {"IQ2_XS", 256, 74, []int{0}},
	IQ3_XXS: {"IQ3_XXS", 256, 98, []int{0}},
	IQ1_S:   {"IQ1_S", 256, 50, []int{0}},
	IQ4_NL:  {"IQ4_NL", 32, 18, []int{0}},
	IQ3_S:   {"IQ3_S", 256, 110, []int{0}},
	IQ2_S:   {"IQ2_S", 256, 82, []int{0}},
	IQ4_XS:  {"IQ4_XS", 256, 136, []int{0}},
	I8:      {"I8", 1, 1, nil},
	I16:     {"I16", 1, 2, nil},
	I32:     {"I32", 1, 4, nil},
	I64:     {"I64", 1, 8, nil},
	F64:     {"F64", 1, 8, nil},
	IQ1_M:   {"IQ1_M", 256, 56, nil}, // the scale is spread over four words
	BF16:    {"BF16", 1, 2, nil},
	TQ1_0:   {"TQ1_0", 256, 54, []int{52}},
	TQ2_0:   {"TQ2_0", 256, 66, []int{64}},
	MXFP4:   {"MXFP4", 32, 17, nil},
	NVFP4:   {"NVFP4", 64, 36, nil},
}

// Known reports whether t is a type of this package's table, which is to say whether its sizes are known.
func (t Type) Known() bool { return uint64(t) < uint64(len(layouts)) && layouts[t].elems > 0 }

// String is ggml's name of the type in capitals, such as "Q8_0".
func (t Type) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return layouts[t].name
}

// BlockSize is the number of elements that are stored together: 1 for plain types, 32 or 256 for quantised ones.
func (t Type) BlockSize() int { return layouts[t].elems }

// BlockBytes is the number of bytes of one block.
func (t Type) BlockBytes() int { return layouts[t].bytes }

// RowBytes is the size of a row of n elements. It fails when n is negative, not a multiple of the block size, or so
// large that the size overflows.
func (t Type) RowBytes(n int64) (int64, error) {
	if !t.Known() {
		return 0, fmt.Errorf("unknown tensor %v", t)
	}
	elems, bytes := int64(t.BlockSize()), int64(t.BlockBytes())
	switch {
	case n < 0:
		return 0, fmt.Errorf("row length %d is negative", n)
	case n%elems != 0:
		return 0, fmt.Errorf("row length %d is not a multiple of %v's block of %d", n, t, elems)
	case n/elems > math.MaxInt64/bytes:
		return 0, fmt.Errorf("row length %d overflows", n)
	}
	return n / elems * bytes, nil
}

// ParseType returns the type of a name such as "F16" or "q8_0".
func ParseType(name string) (Type, error) {
	for t := range Type(len(layouts)) {
		if t.Known() && strings.EqualFold(layouts[t].name, name) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("%q is not a tensor type", name)
}
