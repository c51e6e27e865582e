package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadSafetensors(t *testing.T) {
	data := pack(t,
		f32("a", []float32{1, 2, 3, 4, 5, 6}, 2, 3),
		tensor{"b", "BF16", []int64{2}, []byte{1, 2, 3, 4}},
		tensor{"flag", "BOOL", []int64{1}, []byte{1}},
		tensor{"scalar", "I64", []int64{}, make([]byte, 8)},
		tensor{"nothing", "F32", []int64{0, 7}, nil})
	got, err := readSafetensors(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Len(t, got, 5)
	assert.Equal(t, []int64{2, 3}, got["a"].shape)
	assert.Equal(t, "BF16", got["b"].dtype)
	assert.Equal(t, []byte{1, 2, 3, 4}, data[got["b"].at:][:got["b"].size])
}

func TestSafetensorsRefusals(t *testing.T) {
	entry := func(s string) []byte { return append(frame(`{"w":`+s+`}`), make([]byte, 64)...) }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "only 0 bytes"},
		{"short", []byte("1234567"), "only 7 bytes"},
		{"lfs", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), "a Git LFS pointer"},
		{"header length", []byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "header of 18446744073709551615 bytes"},
		{"header past the end", append(frame("{}")[:8:8], "{"...), "header of 2 bytes in a file of 9: truncated?"},
		{"not JSON", frame("xx"), "header: invalid character 'x'"},
		{"twice", frame(`{"w": 1, "w": 2}`), "header: w occurs twice"},
		{"not an object", entry(`7`), "header: w: json:"},
		{"fields", entry(`{"dtype": "F32", "shape": [2]}`), "header: w: dtype, shape and two data_offsets expected"},
		{"offsets", entry(`{"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 9]}`), "two data_offsets expected"},
		{"dtype", entry(`{"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}`), `header: w: unknown dtype "F99"`},
		{"negative", entry(`{"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}`), "header: w: shape [-2]"},
		{"overflow", entry(`{"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}`), "overflows"},
		{"overflow of bytes", entry(`{"dtype": "F64", "shape": [1152921504606846976], "data_offsets": [0, 0]}`), "overflows"},
		{"not int64", entry(`{"dtype": "F32", "shape": [18446744073709551616], "data_offsets": [0, 0]}`), "header: w: json:"},
		{"dimensions", entry(`{"dtype": "U8", "shape": [1,1,1,1,1,1,1,1,1], "data_offsets": [0, 1]}`), "9 dimensions"},
		{"size", entry(`{"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}`), "data_offsets [0, 9], but F32 [2] takes 8 bytes"},
		{"backwards", entry(`{"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}`), "data_offsets [8, 0]"},
		{"before the start", entry(`{"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}`), "data_offsets [-8, 0]"},
		{"truncated", entry(`{"dtype": "F32", "shape": [17], "data_offsets": [0, 68]}`), "w: data up to byte 68 of 64: truncated"},
		{"overlap", append(frame(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`), make([]byte, 12)...), "a and b: their data overlap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readSafetensors(bytes.NewReader(c.data), int64(len(c.data)))
			require.ErrorIs(t, err, ErrInput)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// checkpointOf writes files into a directory with an empty configuration and opens it.
func checkpointOf(t *testing.T, files map[string][]byte) (*checkpoint, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o666))
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	c, err := openCheckpoint(dir)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return c, err
}

func TestShards(t *testing.T) {
	one, two := pack(t, f32("a", []float32{1}, 1), f32("b", []float32{2}, 1)), pack(t, f32("c", []float32{3}, 1))
	index := func(s string) []byte { return []byte(`{"metadata": {"total_size": 12}, "weight_map": {` + s + `}}`) }
	good := index(`"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"`)

	c, err := checkpointOf(t, map[string][]byte{"1.safetensors": one, "2.safetensors": two, indexFile: good})
	require.NoError(t, err)
	assert.Equal(t, map[string][]int64{"a": {1}, "b": {1}, "c": {1}}, c.shapes())

	for want, index := range map[string][]byte{
		"3.safetensors: missing in":                                   index(`"a": "1.safetensors", "b": "1.safetensors", "c": "3.safetensors"`),
		"1.safetensors: b: the index does not place it there":         index(`"a": "1.safetensors", "c": "2.safetensors"`),
		"1.safetensors: d: missing, though the index places it there": index(`"a": "1.safetensors", "b": "1.safetensors", "d": "1.safetensors"`),
		"the index does not place it there":                           index(`"a": "2.safetensors", "b": "1.safetensors", "c": "2.safetensors"`),
		`weight_map.a: "../1.safetensors" is not a file name`:         index(`"a": "../1.safetensors"`),
		`weight_map.a: "/etc/passwd" is not a file name`:              index(`"a": "/etc/passwd"`),
		`weight_map.a: "..\\x" is not a file name`:                    index(`"a": "..\\x"`),
		`weight_map.a: ".." is not a file name`:                       index(`"a": ".."`),
		"weight_map.a: 7 is not a file name":                          index(`"a": 7`),
		indexFile + ": weight_map: missing":                           []byte(`{}`),
		indexFile + ": weight_map: not a JSON object":                 []byte(`{"weight_map": []}`),
		indexFile + ": weight_map: the JSON text is cut off":          []byte(`{"weight_map": {`),
	} {
		_, err := checkpointOf(t, map[string][]byte{"1.safetensors": one, "2.safetensors": two, indexFile: index})
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, want)
	}
}

func TestCheckpointRefusals(t *testing.T) {
	_, err := checkpointOf(t, nil)
	assert.ErrorContains(t, err, weightsFile+": missing in ")
	_, err = checkpointOf(t, map[string][]byte{"pytorch_model.bin": nil})
	assert.ErrorContains(t, err, "pytorch_model.bin is not read")
	_, err = checkpointOf(t, map[string][]byte{weightsFile: []byte("garbage, garbage")})
	assert.ErrorContains(t, err, weightsFile+": not a safetensors file")
	_, err = openCheckpoint(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, ErrInput)
	assert.ErrorContains(t, err, "no such directory")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err = openCheckpoint(file)
	assert.ErrorContains(t, err, "directory expected, but it is a file")
}

// FuzzSafetensors feeds any bytes to the reader: what it accepts must be readable to the last byte.
func FuzzSafetensors(f *testing.F) {
	valid := pack(f, f32("a", []float32{1, 2}, 2), tensor{"b", "BOOL", []int64{1}, []byte{1}})
	f.Add(valid)
	for i := 0; i < len(valid); i += 7 {
		f.Add(valid[:i])
		f.Add([]byte(strings.Replace(string(valid), string(valid[i]), "9", 1)))
	}
	f.Add(frame(`{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := readSafetensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if !errors.Is(err, ErrInput) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		for name, x := range tensors {
			size, err := sizeOf(x.dtype, x.shape)
			if err != nil || x.size != size || x.at < 8 || x.at > int64(len(data)) || size > int64(len(data))-x.at {
				t.Fatalf("%s: %d bytes of %d at %d: %v", name, x.size, size, x.at, err)
			}
		}
	})
}
