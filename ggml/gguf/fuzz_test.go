package gguf

import (
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzOpen feeds any bytes to Parse, which is Open without the mapping, and uses all of what it returns: whatever is
// accepted must lie in the file, and nothing may panic.
func FuzzOpen(f *testing.F) {
	data := sampleBytes(f)
	f.Add(data)
	f.Add([]byte(nil))
	f.Add([]byte("GGUF"))
	f.Add([]byte(header(1, 1).key("general.alignment", Uint32).u32(64).tensor("w", Q4_K, 64, 512, 2).pad(64).zeros(1024)))
	f.Add([]byte(header(2, 0).tensor("a", F32, 0, 4).tensor("b", F16, 32, 2, 2).pad(32).zeros(64)))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	// The sample with each count, type, offset or length in turn made huge.
	for at := 8; at+8 < len(data); at += 37 {
		mutated := append([]byte(nil), data...)
		binary.LittleEndian.PutUint64(mutated[at:], 1<<63-1)
		f.Add(mutated)
		f.Add(data[:at])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		useAll(t, file)
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func useAll(t *testing.T, f *File) {
	for _, key := range f.Keys() {
		_, _ = f.String(key)
		_, _ = f.Bool(key)
		_, _ = f.Int(key)
		_, _ = f.Uint32(key)
		_, _ = f.Float32(key)
		_, _ = f.Strings(key)
		_, _ = f.Ints(key)
		_, _ = f.Float32s(key)
		_, _ = f.Bools(key)
	}
	total := int64(0)
	for i := range f.Tensors() {
		info := &f.Tensors()[i]
		data := f.Data(info)
		if int64(len(data)) != info.Size || info.Elements() < 1 {
			t.Fatalf("%+v has %d bytes", info, len(data))
		}
		total += info.Size
		_ = f.CheckFinite(info)
		_ = f.AllZero(info)
	}
	if total > int64(f.Size()) {
		t.Fatalf("%d bytes of tensors in a file of %d", total, f.Size())
	}
}
