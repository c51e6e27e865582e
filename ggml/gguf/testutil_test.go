package gguf

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// image builds the bytes of a GGUF file piece by piece, right or wrong, without the Writer.
type image []byte

func (b image) u32(x uint32) image { return binary.LittleEndian.AppendUint32(b, x) }
func (b image) u64(x uint64) image { return binary.LittleEndian.AppendUint64(b, x) }
func (b image) str(s string) image { return append(b.u64(uint64(len(s))), s...) }
func (b image) pad(n int) image    { return append(b, make([]byte, align(len(b), n)-len(b))...) }
func (b image) zeros(n int) image  { return append(b, make([]byte, n)...) }
func header(tensors, keys int) image {
	return image("GGUF").u32(3).u64(uint64(tensors)).u64(uint64(keys))
}

// key starts a metadata entry.
func (b image) key(name string, t ValueType) image { return b.str(name).u32(uint32(t)) }

// tensor adds a tensor's description.
func (b image) tensor(name string, t Type, offset uint64, shape ...uint64) image {
	b = b.str(name).u32(uint32(len(shape)))
	for _, n := range shape {
		b = b.u64(n)
	}
	return b.u32(uint32(t)).u64(offset)
}

// sample is a file with metadata of every type and a few tensors, made by the Writer.
func sample(t testing.TB, path string) {
	w, err := NewWriter(path)
	require.NoError(t, err)
	defer w.Abort()
	for _, m := range sampleMetadata {
		require.NoError(t, w.Add(m.key, m.value), m.key)
	}
	for _, s := range sampleTensors {
		require.NoError(t, w.Declare(TensorInfo{Name: s.name, Type: s.typ, Shape: s.shape}), s.name)
	}
	for _, s := range sampleTensors {
		require.NoError(t, w.Write(s.name, s.data()), s.name)
	}
	require.NoError(t, w.Close())
}

var sampleMetadata = []struct {
	key   string
	value any
}{
	{"general.architecture", "test"},
	{"u8", uint8(200)}, {"i8", int8(-100)}, {"u16", uint16(60000)}, {"i16", int16(-30000)},
	{"u32", uint32(4e9)}, {"i32", int32(-2e9)}, {"u64", uint64(1 << 63)}, {"i64", int64(-1 << 62)},
	{"f32", float32(0.5)}, {"f64", 0.25}, {"true", true}, {"false", false}, {"empty", ""}, {"text", "Grüße, 世界"},
	{"u8s", []uint8{1, 2}}, {"i8s", []int8{-1, 2}}, {"u16s", []uint16{1, 2}}, {"i16s", []int16{-1, 2}},
	{"u32s", []uint32{1, 4e9}}, {"i32s", []int32{-1, 2}}, {"u64s", []uint64{1, 2}}, {"i64s", []int64{-1, 2}},
	{"f32s", []float32{1, 0.5}}, {"f64s", []float64{1, 2}}, {"bools", []bool{true, false}},
	{"strings", []string{"a", "", "bcd"}}, {"none", []string{}}, {"no ints", []int32{}},
}

type sampleTensor struct {
	name  string
	typ   Type
	shape []int64
}

var sampleTensors = []sampleTensor{
	{"vector", F32, []int64{3}},
	{"matrix", F16, []int64{5, 7}},
	{"quantised", Q8_0, []int64{64, 3}},
	{"kernel", BF16, []int64{3, 2, 5, 2}},
	{"scalar", I32, nil},
}

// data are bytes that tell where they belong.
func (s sampleTensor) data() []byte {
	size, err := tensorSize(s.typ, s.shape)
	if err != nil {
		panic(err)
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i) ^ s.name[0]
	}
	return b
}

// sampleBytes is the sample file in memory.
func sampleBytes(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "sample.gguf")
	sample(t, path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
