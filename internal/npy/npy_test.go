package npy

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	big := make([]float32, 3*chunkBytes/valueBytes+5) // several chunks and a tail
	for i := range big {
		big[i] = float32(i) - 0.5
	}
	for name, a := range map[string]*Array{
		"scalar":  {Shape: []int{}, F32: []float32{1.5}},
		"vector":  {Shape: []int{3}, F32: []float32{1, float32(math.Inf(-1)), -0.25}},
		"matrix":  {Shape: []int{2, 3}, I32: []int32{0, 1, -1, math.MaxInt32, math.MinInt32, 7}},
		"empty":   {Shape: []int{0, 16}, I32: []int32{}},
		"emptyF":  {Shape: []int{4, 0}, F32: []float32{}},
		"chunked": {Shape: []int{len(big)}, F32: big},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".npy")
			if a.F32 != nil {
				require.NoError(t, Write(path, a.Shape, a.F32))
			} else {
				require.NoError(t, WriteInt32(path, a.Shape, a.I32))
			}
			got, err := Read(path)
			require.NoError(t, err)
			assert.Equal(t, a, got)
		})
	}
}

// TestBytes pins the bytes that numpy.save writes for np.array([[1, 2, 3]], '<f4').
func TestBytes(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Encode(&b, &Array{Shape: []int{1, 3}, F32: []float32{1, 2, 3}}))
	dict := "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }"
	want := "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 0x76-1-len(dict)) + "\n" +
		"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40"
	assert.Equal(t, want, b.String())
	assert.Equal(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }",
		strings.TrimRight(string(header("<i4", []int{5})[10:]), " \n"))
}

func TestVersion2(t *testing.T) {
	raw := "\x93NUMPY\x02\x00\x3b\x00\x00\x00" + "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }  \n" + "\x09\x00\x00\x00"
	raw = strings.Replace(raw, "\x3b", string(rune(len(raw)-12-4)), 1)
	a, err := Decode(strings.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	assert.Equal(t, &Array{Shape: []int{1}, I32: []int32{9}}, a)
}

func TestRefusals(t *testing.T) {
	file := func(dict, data string) string {
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(dict)), byte(len(dict) >> 8)}) + dict + data
	}
	ok := "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
	for name, c := range map[string]struct{ raw, want string }{
		"empty":       {"", "magic"},
		"foreign":     {"GGUF\x03\x00\x00\x00\x00\x00", "magic"},
		"version":     {"\x93NUMPY\x09\x00\x00\x00", "version 9"},
		"header cut":  {file(ok, "")[:20], "header of"},
		"header huge": {"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of 4294967295"},
		"no keys":     {file("{}", ""), "lacks"},
		"dtype":       {file(strings.Replace(ok, "<f4", "<f8", 1), "1234"), `descr "<f8"`},
		"big-endian":  {file(strings.Replace(ok, "<f4", ">f4", 1), "1234"), `descr ">f4"`},
		"fortran":     {file(strings.Replace(ok, "False", "True", 1), "1234"), "C order"},
		"data cut":    {file(ok, "12"), "more than 0 values"},
		"data more":   {file(ok, "12345678"), "wants 4 bytes"},
		"overflow":    {file(strings.Replace(ok, "1,", "4294967296, 4294967296", 1), "1234"), "more than"},
		"too wide":    {file(strings.Replace(ok, "1,", "99999999999999999999", 1), "1234"), "shape"},
		"dimensions":  {file(strings.Replace(ok, "1,", strings.Repeat("1,", 33), 1), "1234"), "33 dimensions"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(c.raw), int64(len(c.raw)))
			assert.ErrorContains(t, err, c.want)
		})
	}

	path := filepath.Join(t.TempDir(), "x.npy")
	assert.ErrorContains(t, Write(path, []int{2, 2}, []float32{1}), "holds 4 values, not 1")
	assert.ErrorContains(t, Write(path, []int{-1}, []float32{1}), "negative")
	_, err := Read(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzDecode(f *testing.F) {
	for _, a := range []*Array{{Shape: []int{2}, F32: []float32{1, 2}}, {Shape: []int{1, 1}, I32: []int32{3}}} {
		var b bytes.Buffer
		require.NoError(f, Encode(&b, a))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := Decode(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, Encode(&b, a))
		again, err := Decode(&b, int64(b.Len()))
		require.NoError(t, err)
		assert.Equal(t, a.Shape, again.Shape)
		assert.Len(t, again.F32, len(a.F32))
	})
}
