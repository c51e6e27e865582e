package gguf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/libqwen/libqwen/internal/atomicfile"
)

// Writer writes a GGUF file front to back: first all metadata and the descriptions of all tensors, then the tensors'
// data in the same order. The file appears under its name only once it is complete.
//
//	w, err := gguf.NewWriter(path)
//	if err != nil { ... }
//	defer w.Abort()
//	err = w.Add("general.architecture", "qwen3-tts")
//	err = w.Declare(gguf.TensorInfo{Name: "talker.output_norm.weight", Type: gguf.F32, Shape: []int64{2048}})
//	err = w.Write("talker.output_norm.weight", data)
//	err = w.Close()
//
// The first failure sticks: every later call, up to Close, returns it again.
type Writer struct {
	path string
	file *atomicfile.File
	buf  *bufio.Writer
	err  error

	metadata  bytes.Buffer
	keys      map[string]bool
	tensors   []TensorInfo
	names     map[string]bool
	alignment int
	end       int64 // of the data declared so far, from the start of the data section
	written   int   // tensors whose data is complete
	started   bool  // the header is written
}

// NewWriter starts a file. It is written under a temporary name in the same directory, which Close changes to path;
// what a killed process has left of it goes.
func NewWriter(path string) (*Writer, error) {
	if path == "" {
		return nil, errors.New("gguf: the name of the file to write is empty")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("gguf: %s: exists and is not a regular file", path)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	return &Writer{
		path: path, file: file, buf: bufio.NewWriterSize(file.Writer(), 1<<20),
		keys: map[string]bool{}, names: map[string]bool{}, alignment: defaultAlignment,
	}, nil
}

func (w *Writer) fail(format string, args ...any) error {
	if w.err == nil {
		w.err = fmt.Errorf("gguf: %s: "+format, append([]any{w.path}, args...)...)
	}
	return w.err
}

// Add adds a metadata value: a bool, a string, an integer or float of a fixed width, a slice of one of these, or a
// [Value] of another file.
func (w *Writer) Add(key string, value any) error {
	switch {
	case w.err != nil:
		return w.err
	case w.started:
		return w.fail("metadata %s: added after the first tensor's data", key)
	case key == "" || len(key) > maxName:
		return w.fail("metadata key of %d bytes", len(key))
	case w.keys[key]:
		return w.fail("metadata %s: added twice", key)
	}
	v, err := valueOf(value)
	if err != nil {
		return w.fail("metadata %s: %w", key, err)
	}
	if key == "general.alignment" {
		n, isUint32 := value.(uint32)
		if !isUint32 || n < 8 || n > maxAlignment || n&(n-1) != 0 || len(w.tensors) > 0 {
			return w.fail("metadata %s: must be a uint32, a power of two from 8 on, before all tensors", key)
		}
		w.alignment = int(n)
	}
	w.keys[key] = true
	putString(&w.metadata, key)
	putValue(&w.metadata, v)
	return nil
}

// Declare describes the next tensor. Offset and Size are computed; what t has there is ignored.
func (w *Writer) Declare(t TensorInfo) error {
	switch {
	case w.err != nil:
		return w.err
	case w.started:
		return w.fail("%s: declared after the first tensor's data", t.Name)
	case t.Name == "" || len(t.Name) > maxName:
		return w.fail("tensor name of %d bytes", len(t.Name))
	case w.names[t.Name]:
		return w.fail("%s: declared twice", t.Name)
	case len(t.Shape) > maxDims:
		return w.fail("%s: %d dimensions, at most %d are possible", t.Name, len(t.Shape), maxDims)
	}
	for _, n := range t.Shape {
		if n <= 0 {
			return w.fail("%s: shape %s", t.Name, FormatShape(t.Shape))
		}
	}
	size, err := tensorSize(t.Type, t.Shape)
	if err != nil {
		return w.fail("%s: %w", t.Name, err)
	}
	t.Offset, t.Size = w.end, size
	w.end += size + w.padding(size)
	w.names[t.Name] = true
	w.tensors = append(w.tensors, t)
	return nil
}

// padding is what n lacks to a multiple of the alignment.
func (w *Writer) padding(n int64) int64 { return -n & int64(w.alignment-1) }

// Write writes the data of the next tensor, whose name must be as declared.
func (w *Writer) Write(name string, data []byte) error {
	return w.WriteFunc(name, func(dst io.Writer) error { _, err := dst.Write(data); return err })
}

// WriteFrom copies the data of the next tensor from r, up to its end.
func (w *Writer) WriteFrom(name string, r io.Reader) error {
	return w.WriteFunc(name, func(dst io.Writer) error { _, err := io.Copy(dst, r); return err })
}

// WriteFunc lets produce write the data of the next tensor, in any number of pieces.
func (w *Writer) WriteFunc(name string, produce func(io.Writer) error) error {
	if err := w.start(); err != nil {
		return err
	}
	if w.written == len(w.tensors) {
		return w.fail("%s: data of a tensor that was not declared", name)
	}
	t := w.tensors[w.written]
	if name != t.Name {
		return w.fail("%s: data out of order, %s comes first", name, t.Name)
	}
	dst := &limited{dst: w.buf, left: t.Size}
	if err := produce(dst); err != nil {
		return w.fail("%s: %w", name, err)
	}
	if dst.left != 0 {
		return w.fail("%s: data ends %d bytes short of %d", name, dst.left, t.Size)
	}
	w.written++
	return w.pad(t.Size)
}

// limited refuses more bytes than a tensor has.
type limited struct {
	dst  io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, fmt.Errorf("data goes on past the tensor's end by at least %d bytes", int64(len(p))-l.left)
	}
	n, err := l.dst.Write(p)
	l.left -= int64(n)
	return n, err
}

// start writes all that precedes the tensors' data.
func (w *Writer) start() error {
	if w.err != nil || w.started {
		return w.err
	}
	w.started = true
	var head bytes.Buffer
	head.WriteString(magic)
	putU32(&head, 3)
	putU64(&head, uint64(len(w.tensors)))
	putU64(&head, uint64(len(w.keys)))
	head.Write(w.metadata.Bytes())
	for _, t := range w.tensors {
		putString(&head, t.Name)
		putU32(&head, uint32(len(t.Shape)))
		for _, n := range t.Shape {
			putU64(&head, uint64(n))
		}
		putU32(&head, uint32(t.Type))
		putU64(&head, uint64(t.Offset))
	}
	size := int64(head.Len())
	if _, err := head.WriteTo(w.buf); err != nil {
		return w.fail("%w", err)
	}
	return w.pad(size)
}

// pad fills up what has n bytes to a multiple of the alignment.
func (w *Writer) pad(n int64) error {
	if _, err := w.buf.Write(make([]byte, w.padding(n))); err != nil {
		return w.fail("%w", err)
	}
	return nil
}

// Close completes the file and gives it its name, replacing a file that is there. After any failure it removes what
// was written instead and returns the failure.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.err
	}
	err := w.start()
	if err == nil && w.written < len(w.tensors) {
		err = w.fail("%s: data missing", w.tensors[w.written].Name)
	}
	if err == nil {
		err = w.finish()
	}
	w.Abort()
	return err
}

// finish flushes the data to the disk, lest a crash leave an incomplete file under the final name, and renames it.
func (w *Writer) finish() error {
	err := w.buf.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.file.Commit()
	}
	if err != nil {
		return w.fail("%w", err)
	}
	w.file = nil
	return nil
}

// Abort gives up and removes what was written. After Close it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Discard()
	w.file = nil
	_ = w.fail("writing was given up") // what later calls return
}

// valueTypes are the metadata types of Go's.
var valueTypes = map[reflect.Kind]ValueType{
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Float32: Float32, reflect.Float64: Float64, reflect.Bool: Bool,
}

// valueOf encodes a Go value.
func valueOf(x any) (Value, error) {
	switch x := x.(type) {
	case Value:
		return x, nil
	case string:
		return Value{Type: String, Count: 1, raw: []byte(x)}, nil
	case []string:
		var raw bytes.Buffer
		for _, s := range x {
			putString(&raw, s)
		}
		return Value{Type: Array, Elem: String, Count: len(x), raw: raw.Bytes()}, nil
	case nil:
		return Value{}, errors.New("no value")
	}
	v := Value{Count: 1}
	known := false
	if r := reflect.ValueOf(x); r.Kind() == reflect.Slice {
		v.Type, v.Count = Array, r.Len()
		v.Elem, known = valueTypes[r.Type().Elem().Kind()]
	} else {
		v.Type, known = valueTypes[r.Kind()]
	}
	if !known {
		return v, fmt.Errorf("%T has no metadata type", x)
	}
	raw, err := binary.Append(nil, binary.LittleEndian, x)
	v.raw = raw
	return v, err
}

func putValue(b *bytes.Buffer, v Value) {
	putU32(b, uint32(v.Type))
	switch v.Type {
	case String:
		putU64(b, uint64(len(v.raw)))
	case Array:
		putU32(b, uint32(v.Elem))
		putU64(b, uint64(v.Count))
	}
	b.Write(v.raw)
}

func putString(b *bytes.Buffer, s string) {
	putU64(b, uint64(len(s)))
	b.WriteString(s)
}

func putU32(b *bytes.Buffer, x uint32) { b.Write(binary.LittleEndian.AppendUint32(nil, x)) }
func putU64(b *bytes.Buffer, x uint64) { b.Write(binary.LittleEndian.AppendUint64(nil, x)) }
