// Package npy reads and writes NumPy's .npy array files, as far as dumps and golden data need them:
// little-endian float32 or int32, C (row-major) order.
//
// The format is described in NumPy's documentation, numpy.lib.format: the magic "\x93NUMPY", two version bytes,
// a little-endian header length (16 bits in version 1, 32 bits in versions 2 and 3), a Python dict literal with the
// keys descr, fortran_order and shape, then the raw values.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	magic      = "\x93NUMPY"
	align      = 64      // NumPy aligns the first value to this many bytes
	maxHeader  = 1 << 16 // bytes; a real header takes about a hundred
	maxDims    = 32      // NumPy's own limit
	valueBytes = 4       // both float32 and int32
	chunkBytes = 1 << 16 // bytes encoded or decoded at a time
)

// Array is one array: exactly one of F32 and I32 is non-nil.
type Array struct {
	Shape []int // outermost (slowest) dimension first; empty for a scalar
	F32   []float32
	I32   []int32
}

// Write writes data, in C order, as the float32 array of that shape to a new file at path.
func Write(path string, shape []int, data []float32) error {
	return writeFile(path, &Array{Shape: shape, F32: data})
}

// WriteInt32 writes data, in C order, as the int32 array of that shape to a new file at path.
func WriteInt32(path string, shape []int, data []int32) error {
	return writeFile(path, &Array{Shape: shape, I32: data})
}

func writeFile(path string, a *Array) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if err := Encode(f, a); err != nil {
		return errors.Join(fmt.Errorf("npy: %s: %w", path, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

// Encode writes the array in .npy format, version 1.0. The shape must hold exactly the values given.
func Encode(w io.Writer, a *Array) error {
	descr, n, at := "<f4", len(a.F32), func(i int) uint32 { return math.Float32bits(a.F32[i]) }
	if a.F32 == nil && a.I32 != nil {
		descr, n, at = "<i4", len(a.I32), func(i int) uint32 { return uint32(a.I32[i]) }
	}
	if want, err := elements(a.Shape, math.MaxInt64/valueBytes); err != nil {
		return err
	} else if want != n {
		return fmt.Errorf("shape %v holds %d values, not %d", a.Shape, want, n)
	}
	if _, err := w.Write(header(descr, a.Shape)); err != nil {
		return err
	}
	buf := make([]byte, 0, chunkBytes)
	for i := range n {
		buf = binary.LittleEndian.AppendUint32(buf, at(i))
		if len(buf) == chunkBytes || i == n-1 {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}

// header returns everything that stands before the first value.
func header(descr string, shape []int) []byte {
	var dims strings.Builder
	for i, d := range shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		fmt.Fprintf(&dims, "%d,", d)
	}
	tuple := dims.String()
	if len(shape) > 1 { // Python writes (2, 3) but (2,)
		tuple = strings.TrimSuffix(tuple, ",")
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	const lead = len(magic) + 4
	pad := align - (lead+len(dict)+1)%align
	dict += strings.Repeat(" ", pad%align) + "\n"
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	return append(b, dict...)
}

// Read reads the array in the file at path.
func Read(path string) (*Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	a, err := Decode(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	return a, nil
}

// Decode reads one array from r, which holds size bytes in all. Nothing larger than size is allocated,
// whatever the header claims.
func Decode(r io.Reader, size int64) (*Array, error) {
	dict, used, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	descr, shape, err := parseHeader(dict)
	if err != nil {
		return nil, err
	}
	n, err := elements(shape, (size-used)/valueBytes)
	if err != nil {
		return nil, err
	}
	if rest := size - used; rest != int64(n)*valueBytes {
		return nil, fmt.Errorf("shape %v wants %d bytes of data, the file has %d", shape, int64(n)*valueBytes, rest)
	}
	a := &Array{Shape: shape}
	set := func(i int, v uint32) { a.F32[i] = math.Float32frombits(v) }
	switch descr {
	case "<f4":
		a.F32 = make([]float32, n)
	case "<i4":
		a.I32 = make([]int32, n)
		set = func(i int, v uint32) { a.I32[i] = int32(v) }
	default:
		return nil, fmt.Errorf("descr %q: only <f4 and <i4 are read", descr)
	}
	return a, readValues(r, n, set)
}

func readValues(r io.Reader, n int, set func(int, uint32)) error {
	buf := make([]byte, min(chunkBytes, n*valueBytes))
	for i := 0; i < n; {
		b := buf[:min(len(buf), (n-i)*valueBytes)]
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("data cut short at value %d of %d: %w", i, n, err)
		}
		for ; len(b) > 0; b = b[valueBytes:] {
			set(i, binary.LittleEndian.Uint32(b))
			i++
		}
	}
	return nil
}

// readHeader returns the dict literal and how many bytes stand before the first value.
func readHeader(r io.Reader, size int64) (dict string, used int64, err error) {
	var lead [len(magic) + 6]byte
	n := len(magic) + 4 // magic, version, 16-bit length
	if _, err := io.ReadFull(r, lead[:n]); err != nil || string(lead[:len(magic)]) != magic {
		return "", 0, errors.New("not a .npy file (magic missing)")
	}
	length := int64(binary.LittleEndian.Uint16(lead[len(magic)+2:]))
	switch major := lead[len(magic)]; major {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, lead[n:n+2]); err != nil {
			return "", 0, fmt.Errorf("header cut short: %w", err)
		}
		n += 2
		length = int64(binary.LittleEndian.Uint32(lead[len(magic)+2:]))
	default:
		return "", 0, fmt.Errorf("format version %d: only 1, 2 and 3 are read", major)
	}
	used = int64(n) + length
	if length > maxHeader || used > size {
		return "", 0, fmt.Errorf("header of %d bytes in a file of %d", length, size)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", 0, fmt.Errorf("header cut short: %w", err)
	}
	return string(b), used, nil
}

var (
	descrRE   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	fortranRE = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeRE   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9, ]*)\)`)
)

func parseHeader(dict string) (descr string, shape []int, err error) {
	d, f, s := descrRE.FindStringSubmatch(dict), fortranRE.FindStringSubmatch(dict), shapeRE.FindStringSubmatch(dict)
	if d == nil || f == nil || s == nil {
		return "", nil, errors.New("header lacks descr, fortran_order or shape")
	}
	if f[1] == "True" {
		return "", nil, errors.New("fortran_order: only C order is read")
	}
	shape = []int{}
	for _, field := range strings.Split(s[1], ",") {
		field = strings.TrimSpace(field)
		if field == "" {
			continue
		}
		v, err := strconv.Atoi(field)
		if err != nil {
			return "", nil, fmt.Errorf("shape: %w", err)
		}
		shape = append(shape, v)
	}
	return d[1], shape, nil
}

// elements returns the number of values of a shape, at most limit.
func elements(shape []int, limit int64) (int, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("shape has %d dimensions, at most %d are allowed", len(shape), maxDims)
	}
	if len(shape) > 0 && slices.Min(shape) < 0 {
		return 0, fmt.Errorf("shape %v has a negative dimension", shape)
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	n := int64(1)
	for _, d := range shape {
		if n > limit/int64(d) {
			return 0, fmt.Errorf("shape %v holds more than %d values", shape, limit)
		}
		n *= int64(d)
	}
	return int(n), nil
}
