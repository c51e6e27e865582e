package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/half"
)

// readConfig reads a configuration of testdata, changed as asked: paths such as "talker_config.hidden_size" to values,
// nil to remove a field.
func readConfig(t testing.TB, file string, changes map[string]any) object {
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(data, &tree))
	for path, value := range changes {
		change(tree, path, value)
	}
	data, err = json.Marshal(tree)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), data, 0o666))
	o, err := readObject(dir, "config.json")
	require.NoError(t, err)
	return o
}

func change(tree map[string]any, path string, value any) {
	for i, c := range path {
		if c == '.' {
			change(tree[path[:i]].(map[string]any), path[i+1:], value)
			return
		}
	}
	if value == nil {
		delete(tree, path)
	} else {
		tree[path] = value
	}
}

// tensor is one for the safetensors files that tests write.
type tensor struct {
	name, dtype string
	shape       []int64
	data        []byte
}

func f32(name string, values []float32, shape ...int64) tensor {
	data := make([]byte, 4*len(values))
	half.EncodeF32(data, values)
	return tensor{name, "F32", shape, data}
}

// pack builds a safetensors file.
func pack(t testing.TB, tensors ...tensor) []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for _, x := range tensors {
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int{len(data), len(data) + len(x.data)}}
		data = append(data, x.data...)
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	return append(frame(string(text)), data...)
}

// frame puts the length before a header.
func frame(header string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}
