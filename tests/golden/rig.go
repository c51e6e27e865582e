package golden

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// Rig says how a copy of a GGUF file differs from the original, for tests of what loaders refuse.
type Rig struct {
	Set    map[string]any                                    // metadata to add or replace; nil drops the key
	Tensor func(t *gguf.TensorInfo, data []byte) (keep bool) // may change name, shape and data
	Add    map[string][]int64                                // F32 tensors of ones to add, by name
}

// Rigged writes a changed copy of a GGUF file for the duration of the test.
func Rigged(tb testing.TB, src string, r Rig) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "rigged.gguf")
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	f, err := gguf.Open(src)
	must(err)
	defer f.Close()
	w, err := gguf.NewWriter(path)
	must(err)
	defer w.Abort()
	for _, key := range f.Keys() {
		if _, ok := r.Set[key]; !ok {
			v, _ := f.Value(key)
			must(w.Add(key, v))
		}
	}
	for key, v := range r.Set {
		if v != nil {
			must(w.Add(key, v))
		}
	}
	var tensors []gguf.TensorInfo
	var data [][]byte
	for _, t := range f.Tensors() {
		d := slices.Clone(f.Data(&t))
		t.Shape = slices.Clone(t.Shape)
		if r.Tensor == nil || r.Tensor(&t, d) {
			tensors, data = append(tensors, t), append(data, d)
		}
	}
	for name, shape := range r.Add {
		t := gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: shape}
		tensors, data = append(tensors, t), append(data, ones(t.Elements()))
	}
	for _, t := range tensors {
		must(w.Declare(t))
	}
	for i, t := range tensors {
		must(w.Write(t.Name, data[i]))
	}
	must(w.Close())
	return path
}

// ones are n F32 ones.
func ones(n int64) []byte {
	b := make([]byte, 4*n)
	for i := 2; i < len(b); i += 4 {
		b[i], b[i+1] = 0x80, 0x3f
	}
	return b
}
