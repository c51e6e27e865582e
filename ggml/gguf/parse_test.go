package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusals(t *testing.T) {
	valid := header(1, 0).tensor("w", F32, 0, 8).pad(32).zeros(32)
	_, err := Parse(valid)
	require.NoError(t, err, "the base of what follows")
	huge := uint64(1) << 62

	for _, c := range []struct {
		name string
		data image
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"only magic", image("GGUF"), "version: 4 bytes at byte 4, but the file ends at byte 4"},
		{"version 1", image("GGUF").u32(1).u32(0).u32(0), "GGUF version 1 is not supported"},
		{"version 4", image("GGUF").u32(4).u64(0).u64(0), "GGUF version 4 is not supported"},
		{"big-endian", image("GGUF\x00\x00\x00\x03").zeros(16), "big-endian"},
		{"tensor count", image("GGUF").u32(3).u64(huge).u64(0).zeros(64), "tensor count 4611686018427387904 is more than"},
		{"metadata count", image("GGUF").u32(3).u64(0).u64(math.MaxUint64).zeros(64), "metadata count 18446744073709551615"},
		{"key length", header(0, 1).u64(huge).zeros(64), "metadata key: length 4611686018427387904"},
		{"key past the end", header(0, 1).u64(100).zeros(20), "truncated or damaged"},
		{"empty key", header(0, 1).u64(0).zeros(20), "metadata key: empty name"},
		{"key not text", header(0, 1).str("a\xff").zeros(20), `metadata key: name "a\xff" is not text`},
		{"key with NUL", header(0, 1).str("a\x00").zeros(20), "is not text"},
		{"value type", header(0, 1).key("k", 13).zeros(20), "k: unknown value type 13"},
		{"string length", header(0, 1).key("k", String).u64(huge).zeros(20), "k: 4611686018427387904 bytes at byte"},
		{"bool", header(0, 1).key("k", Bool).zeros(0)[:37:37].with(2).zeros(9), "k: 2 is not a bool"},
		{"element type", header(0, 1).key("k", Array).u32(99).u64(1).zeros(20), "k: array of unknown value type 99"},
		{"nested array", header(0, 1).key("k", Array).u32(uint32(Array)).u64(1).zeros(20), "k: arrays of arrays"},
		{"array count", header(0, 1).key("k", Array).u32(uint32(Uint64)).u64(huge).zeros(20), "k: 4611686018427387904 elements of uint64"},
		{"array one too long", header(0, 1).key("k", Array).u32(uint32(Uint64)).u64(3).zeros(20), "k: 3 elements of uint64"},
		{"strings count", header(0, 1).key("k", Array).u32(uint32(String)).u64(1 << 61).zeros(20), "k: 2305843009213693952 elements"},
		{"string in array", header(0, 1).key("k", Array).u32(uint32(String)).u64(2).u64(huge).zeros(20), "k: 4611686018427387904 bytes"},
		{"bools", header(0, 1).key("k", Array).u32(uint32(Bool)).u64(2).u32(0x0300), "k: 3 is not a bool"},
		{"duplicate key", header(0, 2).key("k", Uint8).with(1).key("k", Uint8).with(1).zeros(20), "metadata key k occurs twice"},
		{"alignment type", header(0, 1).key("general.alignment", Uint64).u64(32), "general.alignment: uint32 expected, but it is uint64"},
		{"alignment zero", header(0, 1).key("general.alignment", Uint32).u32(0), "general.alignment: 0 is not a power of two"},
		{"alignment odd", header(0, 1).key("general.alignment", Uint32).u32(48), "general.alignment: 48 is not a power of two"},
		{"alignment huge", header(0, 1).key("general.alignment", Uint32).u32(1 << 31), "general.alignment: 2147483648 is not"},
		{"no tensors", header(1, 0), "tensor count 1 is more than the file can hold"},
		{"dimensions", header(1, 0).str("w").u32(5).zeros(99), "w: 5 dimensions"},
		{"dimension zero", header(1, 0).tensor("w", F32, 0, 8, 0).zeros(99), "w: dimension 1 is 0"},
		{"dimension negative", header(1, 0).tensor("w", F32, 0, math.MaxUint64).zeros(99), "w: dimension 0 is 18446744073709551615"},
		{"elements overflow", header(1, 0).tensor("w", F32, 0, 1<<32, 1<<32).zeros(99), "w: shape [4294967296 4294967296] overflows"},
		{"bytes overflow", header(1, 0).tensor("w", F64, 0, 1<<31, 1<<31).zeros(99), "overflows"},
		{"rows overflow", header(1, 0).tensor("w", F32, 0, 1, 1<<40, 1<<40, 1<<40).zeros(99), "overflows"},
		{"wraps to zero", header(1, 0).tensor("w", I8, 0, 1, 1<<32, 1<<32, 1).zeros(99), "overflows"},
		{"tensor type", header(1, 0).tensor("w", 4, 0, 32).zeros(99), "w: unknown tensor type 4"},
		{"tensor type huge", header(1, 0).tensor("w", math.MaxUint32, 0, 32).zeros(99), "w: unknown tensor type 4294967295"},
		{"block", header(1, 0).tensor("w", Q4_K, 0, 128).zeros(999), "w: row length 128 is not a multiple of Q4_K's block of 256"},
		{"offset unaligned", header(1, 0).tensor("w", F32, 16, 8).pad(32).zeros(99), "w: offset 16 is not a multiple of the alignment 32"},
		{"offset past end", header(1, 0).tensor("w", F32, 1<<20, 8).pad(32).zeros(99), "w: 32 bytes of data at byte 1048640, but the file ends"},
		{"offset huge", header(1, 0).tensor("w", F32, math.MaxUint64-31, 8).pad(32).zeros(99), "w: offset 18446744073709551584 is out of range"},
		{"offset wraps", header(1, 0).tensor("w", F32, math.MaxInt64-31, 8).pad(32).zeros(99), "truncated"},
		{"truncated", valid[:len(valid)-1], "w: 32 bytes of data at byte 64, but the file ends at byte 95"},
		{"truncated before the padding", header(1, 0).tensor("w", F32, 0, 8), "w: 32 bytes of data"},
		{"duplicate tensor", header(2, 0).tensor("w", F32, 0, 8).tensor("w", F32, 32, 8).pad(32).zeros(64), "w: tensor occurs twice"},
		{"overlap", header(2, 0).tensor("a", F32, 32, 8).tensor("b", F32, 0, 9).pad(32).zeros(99), "b and a: their data overlap"},
		{"overlap by a byte", header(2, 1).key("general.alignment", Uint32).u32(1).tensor("a", I8, 0, 2).tensor("b", I8, 1, 1).zeros(9), "a and b: their data overlap"},
		{"same data", header(2, 0).tensor("a", F32, 0, 8).tensor("b", F32, 0, 8).pad(32).zeros(99), "overlap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse(c.data)
			require.Error(t, err)
			assert.Nil(t, f)
			assert.ErrorIs(t, err, ErrFormat)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// with appends raw bytes.
func (b image) with(x ...byte) image { return append(b, x...) }

// Cutting a file anywhere gives an error, never a panic; adding to it does no harm.
func TestTruncation(t *testing.T) {
	data := sampleBytes(t)
	last := sampleTensors[len(sampleTensors)-1]
	end := len(data) - align(len(last.data()), 32) + len(last.data()) // without the last padding
	for n := range end {
		_, err := Parse(data[:n:n])
		require.ErrorIs(t, err, ErrFormat, "%d bytes", n)
	}
	for n := end; n <= len(data); n++ {
		_, err := Parse(data[:n:n])
		require.NoError(t, err, "%d bytes", n)
	}
	_, err := Parse(append(data, 1, 2, 3))
	require.NoError(t, err)
}

func TestVersion2(t *testing.T) {
	data := sampleBytes(t)
	binary.LittleEndian.PutUint32(data[4:], 2)
	f, err := Parse(data)
	require.NoError(t, err)
	assert.Len(t, f.Tensors(), len(sampleTensors))
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for want, content := range map[string]string{
		"the file is empty":       "",
		"a safetensors file":      string(image(nil).u64(2)) + "{}   ",
		"a zip archive":           "PK\x03\x04....",
		"an HTML page":            "\n <!DOCTYPE html><html>",
		"a Git LFS pointer":       "version https://git-lfs.github.com/spec/v1\noid sha256:abc\n",
		"a JSON document":         `{"architectures": ["Qwen3TTSForConditionalGeneration"]}`,
		"an XML document":         `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`,
		"zeros":                   strings.Repeat("\x00", 4096),
		"a RIFF file":             "RIFF\x24\x00\x00\x00WAVEfmt ",
		"an ONNX model":           "\x08\x07\x12\x07pytorch",
		"before GGUF":             "tjgg\x03\x00\x00\x00",
		"a gzip archive":          "\x1f\x8b\x08\x00",
		`it starts with "hell"`:   "hello, world",
		`it starts with "\x01"`:   "\x01",
		`it starts with "GGUX"`:   "GGUX\x03\x00\x00\x00",
		"GGUF version 1717986918": "GGUFffff",
	} {
		path := filepath.Join(dir, "model.gguf")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		_, err := Open(path)
		assert.ErrorIs(t, err, ErrFormat)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
	}
}

func TestOpenFails(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none.gguf"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NotErrorIs(t, err, ErrFormat)
	_, err = Open(t.TempDir())
	assert.ErrorIs(t, err, ErrFormat)
	assert.ErrorContains(t, err, "is a directory")
	_, err = Open(os.DevNull)
	assert.ErrorContains(t, err, "is not a regular file")
}

// Counts that the file could hold, but does not, must not cost memory.
func TestCountsDoNotAllocate(t *testing.T) {
	data := header(1<<20, 1<<20).zeros(64 << 20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse(data)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "metadata key: empty name")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}

func ExampleOpen_wrongFile() {
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "not-a-model.gguf")
	_ = os.WriteFile(path, []byte("<!doctype html><title>404</title>"), 0o666)
	_, err := Open(path)
	fmt.Println(strings.TrimPrefix(err.Error(), "gguf: "+path+": "))
	// Output: not a GGUF file but an HTML page, as left by a failed download
}
