package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libqwen/libqwen/internal/mmap"
)

// File is an open GGUF file. It may be used by several goroutines at once; Close must come last.
type File struct {
	data      []byte
	unmap     func() error
	check     func() (modified bool, err error) // nil for one that was parsed from memory
	keys      []string
	values    map[string]Value
	tensors   []TensorInfo
	byName    map[string]int
	alignment int
	dataStart int
	foreign   *foreign // of an assembled file; nil otherwise
}

// TensorInfo describes one tensor.
type TensorInfo struct {
	Name   string
	Type   Type
	Shape  []int64 // ggml order: Shape[0] is the length of a row
	Offset int64   // of the data, in bytes from the start of the file's data section
	Size   int64   // of the data, in bytes
}

// Elements is the number of elements.
func (t *TensorInfo) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Open maps a file and checks it. The file must not be changed while it is open: a mapping of a file that shrinks
// faults when it is read. Check tells whether it was.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	return f, nil
}

func open(path string) (*File, error) {
	// Look before opening: opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		kind := "not a regular file"
		if info.IsDir() {
			kind = "a directory, not a GGUF file"
		}
		return nil, invalid("%s: is %s", path, kind)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if info, err = r.Stat(); err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, invalid("%s: the file is empty", path)
	}
	if info.Size() > math.MaxInt {
		return nil, invalid("%s: %d bytes are too many for this machine", path, info.Size())
	}
	mapping, err := mmap.Map(r, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: map: %w", path, err)
	}
	f, err := Parse(mapping.Data)
	if err != nil {
		_ = mapping.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.unmap, f.check = mapping.Close, mapping.Check
	return f, nil
}

// Close releases the mapping. Slices from [File.Data] and [Value]s are invalid afterwards; strings and slices from
// the getters stay valid. Closing twice is harmless.
func (f *File) Close() error {
	unmap := f.unmap
	f.unmap, f.check, f.data = nil, nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}

// Check looks whether what was opened still is as it was: an error if a file has become shorter, so that its data must not
// be read any more; modified if it has been written to. A file that was replaced by another of its name is neither.
func (f *File) Check() (modified bool, err error) {
	if f.check == nil {
		return false, nil
	}
	return f.check()
}

// Alignment is general.alignment: the tensors' data are aligned to it within the file, and thus in a mapping.
func (f *File) Alignment() int { return f.alignment }

// Size is the size of the file in bytes, of an assembled file that of its tensors.
func (f *File) Size() int {
	if f.foreign == nil {
		return len(f.data)
	}
	n := int64(0)
	for _, t := range f.tensors {
		n += t.Size
	}
	return int(n)
}

// Tensors lists the tensors in the order of the file. The slice and what it points to belong to the file.
func (f *File) Tensors() []TensorInfo { return f.tensors }

// Tensor finds a tensor by name. It returns nil if there is none.
func (f *File) Tensor(name string) *TensorInfo {
	if i, ok := f.byName[name]; ok {
		return &f.tensors[i]
	}
	return nil
}

// Data returns a tensor's bytes, without a copy unless they are computed. They must not be written to, and not be read after Close.
func (f *File) Data(t *TensorInfo) []byte {
	if f.foreign != nil {
		return f.foreign.data(f.byName[t.Name])
	}
	start := f.dataStart + int(t.Offset)
	end := start + int(t.Size)
	return f.data[start:end:end]
}

// Keys lists the metadata keys in the order of the file.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// Has reports whether the metadata has the key.
func (f *File) Has(key string) bool { _, ok := f.values[key]; return ok }

// Value returns a metadata value as it is, for copying it into another file with [Writer.Add].
func (f *File) Value(key string) (Value, bool) { v, ok := f.values[key]; return v, ok }

// get returns the value of key if it has type t, or is an array with elements of type t.
func (f *File) get(key string, array bool, want string, ok func(ValueType) bool) (Value, error) {
	v, found := f.values[key]
	if !found {
		return v, &kindError{ErrMissing, "metadata " + key + ": missing"}
	}
	t := v.Type
	if array {
		t = v.Elem
	}
	if array != (v.Type == Array) || !ok(t) {
		// An empty array has no elements to be wrong.
		if array && v.Type == Array && v.Count == 0 {
			return v, nil
		}
		return v, &kindError{ErrType, fmt.Sprintf("metadata %s: %s expected, but it is %s", key, want, v.describe())}
	}
	return v, nil
}

func isNumber(t ValueType) bool {
	return t.known() && t != Bool && t != String && t != Array
}

func isInteger(t ValueType) bool { return isNumber(t) && t != Float32 && t != Float64 }

func wrongValue(key string, err error) error {
	return &kindError{ErrType, fmt.Sprintf("metadata %s: %v", key, err)}
}

// The getters below return an error that is [ErrMissing] if the metadata lacks the key, and one that is [ErrType] if
// its value has another type or is out of range. Integers of any width are accepted where they fit, and integers as
// floats.

// String returns a string.
func (f *File) String(key string) (string, error) {
	v, err := f.get(key, false, "a string", func(t ValueType) bool { return t == String })
	if err != nil {
		return "", err
	}
	if !utf8.Valid(v.raw) {
		return "", wrongValue(key, fmt.Errorf("%.40q is not UTF-8", v.raw))
	}
	return string(v.raw), nil
}

// Bool returns a bool.
func (f *File) Bool(key string) (bool, error) {
	v, err := f.get(key, false, "a bool", func(t ValueType) bool { return t == Bool })
	if err != nil {
		return false, err
	}
	return v.raw[0] == 1, nil
}

// Int returns an integer.
func (f *File) Int(key string) (int, error) {
	n, err := f.integer(key, math.MinInt, math.MaxInt)
	return int(n), err
}

// Uint32 returns an integer that fits uint32.
func (f *File) Uint32(key string) (uint32, error) {
	n, err := f.integer(key, 0, math.MaxUint32)
	return uint32(n), err
}

func (f *File) integer(key string, low, high int64) (int64, error) {
	v, err := f.get(key, false, "an integer", isInteger)
	if err != nil {
		return 0, err
	}
	n := numberAt(v.Type, v.raw)
	i, err := n.in(low, high)
	if err != nil {
		return 0, wrongValue(key, err)
	}
	return i, nil
}

// Float32 returns a finite number.
func (f *File) Float32(key string) (float32, error) {
	v, err := f.get(key, false, "a number", isNumber)
	if err != nil {
		return 0, err
	}
	n := numberAt(v.Type, v.raw)
	return finite(key, n)
}

func finite(key string, n number) (float32, error) {
	x := float32(n.float)
	if math.IsNaN(n.float) || math.IsInf(float64(x), 0) {
		return 0, wrongValue(key, fmt.Errorf("%g is not a finite float32", n.float))
	}
	return x, nil
}

// Strings returns an array of strings. Invalid UTF-8 is returned as it is: vocabularies may hold any bytes.
func (f *File) Strings(key string) ([]string, error) {
	v, err := f.get(key, true, "an array of strings", func(t ValueType) bool { return t == String })
	if err != nil {
		return nil, err
	}
	// One copy for all the strings, which may be hundreds of thousands.
	all := string(v.raw)
	list := make([]string, v.Count)
	for i, at := 0, 0; i < v.Count; i++ {
		n := int(binary.LittleEndian.Uint64(v.raw[at:]))
		list[i] = all[at+8 : at+8+n]
		at += 8 + n
	}
	return list, nil
}

// Ints returns an array of integers.
func (f *File) Ints(key string) ([]int, error) {
	v, err := f.get(key, true, "an array of integers", isInteger)
	if err != nil {
		return nil, err
	}
	list := make([]int, v.Count)
	for i := range list {
		n := numberAt(v.Elem, v.raw[i*kinds[v.Elem].size:])
		x, err := n.in(math.MinInt, math.MaxInt)
		if err != nil {
			return nil, wrongValue(fmt.Sprintf("%s[%d]", key, i), err)
		}
		list[i] = int(x)
	}
	return list, nil
}

// Float32s returns an array of finite numbers.
func (f *File) Float32s(key string) ([]float32, error) {
	v, err := f.get(key, true, "an array of numbers", isNumber)
	if err != nil {
		return nil, err
	}
	list := make([]float32, v.Count)
	for i := range list {
		n := numberAt(v.Elem, v.raw[i*kinds[v.Elem].size:])
		if list[i], err = finite(fmt.Sprintf("%s[%d]", key, i), n); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Bools returns an array of bools.
func (f *File) Bools(key string) ([]bool, error) {
	v, err := f.get(key, true, "an array of bools", func(t ValueType) bool { return t == Bool })
	if err != nil {
		return nil, err
	}
	list := make([]bool, v.Count)
	for i := range list {
		list[i] = v.raw[i] == 1
	}
	return list, nil
}

// FormatShape writes a shape as errors show it: "[2048 x 512]".
func FormatShape(shape []int64) string {
	return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", " x ") + "]"
}
