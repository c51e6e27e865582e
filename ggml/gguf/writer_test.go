package gguf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files lists a directory's file names.
func files(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func newWriter(t *testing.T) (w *Writer, path string) {
	path = filepath.Join(t.TempDir(), "out.gguf")
	w, err := NewWriter(path)
	require.NoError(t, err)
	return w, path
}

func TestWriterBytes(t *testing.T) {
	w, path := newWriter(t)
	require.NoError(t, w.Add("k", uint32(7)))
	require.NoError(t, w.Declare(TensorInfo{Name: "a", Type: I8, Shape: []int64{3, 2}}))
	require.NoError(t, w.Declare(TensorInfo{Name: "b", Type: I8, Shape: []int64{1}}))
	require.NoError(t, w.Write("a", []byte("abcdef")))
	require.NoError(t, w.Write("b", []byte("x")))
	require.NoError(t, w.Close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	want := header(2, 1).key("k", Uint32).u32(7).tensor("a", I8, 0, 3, 2).tensor("b", I8, 32, 1).pad(32).
		with([]byte("abcdef")...).pad(32).with('x').pad(32)
	assert.Equal(t, []byte(want), got)
}

func TestWriterReplacesAtomically(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.gguf")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
	w, err := NewWriter(path)
	require.NoError(t, err)
	require.NoError(t, w.Add("k", true))
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(old), "not before Close")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	w.Abort()
	f, err := Open(path)
	require.NoError(t, err)
	assert.True(t, f.Has("k"))
	require.NoError(t, f.Close())
	assert.Equal(t, []string{"out.gguf"}, files(t, filepath.Dir(path)))
}

func TestWriterPieces(t *testing.T) {
	w, path := newWriter(t)
	long := bytes.Repeat([]byte("0123456789"), 1<<18)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, w.Declare(TensorInfo{Name: name, Type: I8, Shape: []int64{int64(len(long))}}))
	}
	require.NoError(t, w.WriteFrom("a", bytes.NewReader(long)))
	require.NoError(t, w.WriteFunc("b", func(dst io.Writer) error {
		for i := 0; i < len(long); i += 1000 {
			if _, err := dst.Write(long[i:min(i+1000, len(long))]); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, w.Close())
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, long, f.Data(f.Tensor("a")))
	assert.Equal(t, long, f.Data(f.Tensor("b")))
}

func TestWriterAlignment(t *testing.T) {
	w, path := newWriter(t)
	require.NoError(t, w.Add("general.alignment", uint32(256)))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, w.Declare(TensorInfo{Name: name, Type: I8, Shape: []int64{3}}))
	}
	require.NoError(t, w.Write("a", []byte("abc")))
	require.NoError(t, w.Write("b", []byte("def")))
	require.NoError(t, w.Close())
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, 256, f.Alignment())
	assert.EqualValues(t, 256, f.Tensor("b").Offset)
	assert.Equal(t, "def", string(f.Data(f.Tensor("b"))))
}

// Metadata of a file can be copied into another as it is.
func TestWriterCopiesValues(t *testing.T) {
	f := openSample(t)
	w, path := newWriter(t)
	for _, key := range f.Keys() {
		v, ok := f.Value(key)
		require.True(t, ok)
		require.NoError(t, w.Add(key, v))
	}
	require.NoError(t, w.Close())
	g, err := Open(path)
	require.NoError(t, err)
	defer g.Close()
	require.Equal(t, f.Keys(), g.Keys())
	for _, key := range f.Keys() {
		want, _ := f.Value(key)
		got, _ := g.Value(key)
		assert.Equal(t, want, got)
	}
}

func TestWriterRefusals(t *testing.T) {
	ok := TensorInfo{Name: "w", Type: I8, Shape: []int64{4}}
	for want, use := range map[string]func(w *Writer) error{
		"metadata k: added twice":   func(w *Writer) error { _ = w.Add("k", true); return w.Add("k", true) },
		"metadata k: int has no":    func(w *Writer) error { return w.Add("k", 7) },
		"metadata k: no value":      func(w *Writer) error { return w.Add("k", nil) },
		"metadata k: [][]int32 has": func(w *Writer) error { return w.Add("k", [][]int32{{1}}) },
		"metadata key of 0 bytes":   func(w *Writer) error { return w.Add("", true) },
		"metadata general.alignment: must be": func(w *Writer) error {
			return w.Add("general.alignment", uint32(33))
		},
		"metadata k: added after": func(w *Writer) error {
			_ = w.Declare(ok)
			_ = w.Write("w", []byte("1234"))
			return w.Add("k", true)
		},
		"w: declared twice":   func(w *Writer) error { _ = w.Declare(ok); return w.Declare(ok) },
		"w: row length 31":    func(w *Writer) error { return w.Declare(TensorInfo{Name: "w", Type: Q8_0, Shape: []int64{31}}) },
		"w: shape [4 x 0]":    func(w *Writer) error { return w.Declare(TensorInfo{Name: "w", Type: F32, Shape: []int64{4, 0}}) },
		"w: 5 dimensions":     func(w *Writer) error { return w.Declare(TensorInfo{Name: "w", Shape: make([]int64, 5)}) },
		"tensor name of 0":    func(w *Writer) error { return w.Declare(TensorInfo{Type: F32, Shape: []int64{1}}) },
		"w: unknown tensor":   func(w *Writer) error { return w.Declare(TensorInfo{Name: "w", Type: 99, Shape: []int64{1}}) },
		"v: data out of":      func(w *Writer) error { _ = w.Declare(ok); return w.Write("v", nil) },
		"v: data of a tensor": func(w *Writer) error { return w.Write("v", nil) },
		"w: data ends 1 bytes short of 4": func(w *Writer) error {
			_ = w.Declare(ok)
			return w.Write("w", []byte("123"))
		},
		"w: data goes on past": func(w *Writer) error { _ = w.Declare(ok); return w.WriteFrom("w", strings.NewReader("12345")) },
		"w: data missing":      func(w *Writer) error { _ = w.Declare(ok); return w.Close() },
		"w: source broke": func(w *Writer) error {
			_ = w.Declare(ok)
			return w.WriteFunc("w", func(io.Writer) error { return errors.New("source broke") })
		},
	} {
		t.Run(want, func(t *testing.T) {
			w, path := newWriter(t)
			err := use(w)
			require.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, path)
			assert.Equal(t, err, w.Add("later", true), "the first failure sticks")
			assert.Equal(t, err, w.Close())
			assert.Empty(t, files(t, filepath.Dir(path)), "nothing is left behind")
		})
	}
}

func TestWriterAbort(t *testing.T) {
	w, path := newWriter(t)
	require.NoError(t, w.Add("k", true))
	w.Abort()
	assert.Error(t, w.Close())
	assert.Empty(t, files(t, filepath.Dir(path)))
}

func TestNewWriterFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "out.gguf")
	_, err := NewWriter(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, path+":")
	_, err = NewWriter(t.TempDir())
	assert.ErrorContains(t, err, "not a regular file")
	_, err = NewWriter(os.DevNull)
	assert.ErrorContains(t, err, "not a regular file")
	_, err = NewWriter("")
	assert.ErrorContains(t, err, "the name of the file to write is empty")
}

// TestWriterTakesLongNames: any name that the file system allows.
func TestWriterTakesLongNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("声", 83)+".gguf")
	w, err := NewWriter(path)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	assert.Equal(t, []string{filepath.Base(path)}, files(t, filepath.Dir(path)))
}
