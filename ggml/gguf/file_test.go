package gguf

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openSample(t *testing.T) *File {
	path := filepath.Join(t.TempDir(), "sample.gguf")
	sample(t, path)
	f, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

func TestTensors(t *testing.T) {
	f := openSample(t)
	require.Len(t, f.Tensors(), len(sampleTensors))
	for i, s := range sampleTensors {
		info := f.Tensor(s.name)
		require.NotNil(t, info)
		assert.Same(t, &f.Tensors()[i], info)
		assert.Equal(t, s.typ, info.Type)
		assert.Equal(t, s.shape, info.Shape)
		data := f.Data(info)
		assert.Equal(t, s.data(), data)
		assert.Equal(t, len(data), cap(data))
		mapping, at, ok := f.Place(info)
		assert.True(t, ok)
		assert.Same(t, &data[0], &f.Mappings()[mapping][at])
		assert.Zero(t, uintptr(unsafe.Pointer(&data[0]))%32, "%s: aligned in memory", s.name)
	}
	assert.EqualValues(t, 35, f.Tensor("matrix").Elements())
	assert.EqualValues(t, 1, f.Tensor("scalar").Elements())
	assert.Nil(t, f.Tensor("none"))
	assert.Equal(t, 32, f.Alignment())
	assert.NoError(t, f.Close())
}

func TestGetters(t *testing.T) {
	f := openSample(t)
	for key, want := range map[string]int{"u8": 200, "i8": -100, "u16": 60000, "i16": -30000, "u32": 4e9, "i32": -2e9, "i64": -1 << 62} {
		got, err := f.Int(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	u, err := f.Uint32("u32")
	require.NoError(t, err)
	assert.Equal(t, uint32(4e9), u)
	for key, want := range map[string]float32{"f32": 0.5, "f64": 0.25, "u8": 200, "i8": -100} {
		got, err := f.Float32(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for key, want := range map[string]bool{"true": true, "false": false} {
		got, err := f.Bool(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for key, want := range map[string]string{"text": "Grüße, 世界", "empty": "", "general.architecture": "test"} {
		got, err := f.String(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for key, want := range map[string][]int{"u8s": {1, 2}, "i8s": {-1, 2}, "u16s": {1, 2}, "i16s": {-1, 2}, "u32s": {1, 4e9},
		"i32s": {-1, 2}, "u64s": {1, 2}, "i64s": {-1, 2}, "no ints": {}, "none": {}} {
		got, err := f.Ints(key)
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string][]string{"strings": {"a", "", "bcd"}, "none": {}} {
		got, err := f.Strings(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	floats, err := f.Float32s("f32s")
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 0.5}, floats)
	bools, err := f.Bools("bools")
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false}, bools)
	require.Len(t, f.Keys(), len(sampleMetadata))
	for i, m := range sampleMetadata {
		assert.Equal(t, m.key, f.Keys()[i])
		assert.True(t, f.Has(m.key))
	}
	assert.False(t, f.Has("missing"))
}

func TestGetterErrors(t *testing.T) {
	data := header(0, 3).key("nan", Float32).u32(math.Float32bits(float32(math.NaN()))).
		key("big", Float64).u64(math.Float64bits(1e300)).key("bytes", String).str("\xff\xfe")
	odd, err := Parse(data)
	require.NoError(t, err)
	f := openSample(t)
	for _, c := range []struct {
		get  func() error
		kind error
		want string
	}{
		{func() error { _, err := f.Int("none here"); return err }, ErrMissing, "metadata none here: missing"},
		{func() error { _, err := f.Strings("x"); return err }, ErrMissing, "metadata x: missing"},
		{func() error { _, err := f.Int("text"); return err }, ErrType, "metadata text: an integer expected, but it is string"},
		{func() error { _, err := f.Int("f32"); return err }, ErrType, "metadata f32: an integer expected, but it is float32"},
		{func() error { _, err := f.Int("i32s"); return err }, ErrType, "metadata i32s: an integer expected, but it is an array of 2 int32"},
		{func() error { _, err := f.Int("u64"); return err }, ErrType, "metadata u64: 9223372036854775808 is out of range"},
		{func() error { _, err := f.Uint32("i8"); return err }, ErrType, "metadata i8: -100 is out of range"},
		{func() error { _, err := f.Uint32("i64"); return err }, ErrType, "is out of range"},
		{func() error { _, err := f.Bool("u8"); return err }, ErrType, "metadata u8: a bool expected, but it is uint8"},
		{func() error { _, err := f.Float32("true"); return err }, ErrType, "metadata true: a number expected, but it is bool"},
		{func() error { _, err := f.String("u8"); return err }, ErrType, "metadata u8: a string expected, but it is uint8"},
		{func() error { _, err := f.Strings("text"); return err }, ErrType, "metadata text: an array of strings expected, but it is string"},
		{func() error { _, err := f.Strings("i32s"); return err }, ErrType, "metadata i32s: an array of strings expected, but it is an array of 2 int32"},
		{func() error { _, err := f.Ints("strings"); return err }, ErrType, "metadata strings: an array of integers expected"},
		{func() error { _, err := f.Ints("f32s"); return err }, ErrType, "metadata f32s: an array of integers expected"},
		{func() error { _, err := f.Float32s("bools"); return err }, ErrType, "metadata bools: an array of numbers expected"},
		{func() error { _, err := f.Bools("u8s"); return err }, ErrType, "metadata u8s: an array of bools expected"},
		{func() error { _, err := odd.Float32("nan"); return err }, ErrType, "metadata nan: NaN is not a finite float32"},
		{func() error { _, err := odd.Float32("big"); return err }, ErrType, "metadata big: 1e+300 is not a finite float32"},
		{func() error { _, err := odd.String("bytes"); return err }, ErrType, `metadata bytes: "\xff\xfe" is not UTF-8`},
	} {
		err := c.get()
		assert.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.want)
	}
}

func TestOr(t *testing.T) {
	f := openSample(t)
	n, err := Or(7)(f.Int("none here"))
	require.NoError(t, err)
	assert.Equal(t, 7, n)
	n, err = Or(7)(f.Int("u8"))
	require.NoError(t, err)
	assert.Equal(t, 200, n)
	_, err = Or(7)(f.Int("text"))
	assert.ErrorIs(t, err, ErrType)
}

// Strings must survive the mapping.
func TestStringsOutliveClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.gguf")
	sample(t, path)
	f, err := Open(path)
	require.NoError(t, err)
	text, err := f.String("text")
	require.NoError(t, err)
	list, err := f.Strings("strings")
	require.NoError(t, err)
	name := f.Tensors()[0].Name
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	assert.Equal(t, "Grüße, 世界 [a  bcd] vector", fmt.Sprint(text, " ", list, " ", name))
}
