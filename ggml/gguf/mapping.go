package gguf

import "github.com/libqwen/libqwen/internal/mmap"

// Mappings are the memory in which tensors lie, for a device that uses them there: the whole file or, of an assembled
// file, each mapping that it was made of. They start at a page if the file was opened, not parsed from memory. They
// must not be written to, and not be read after Close.
func (f *File) Mappings() [][]byte {
	if f.foreign != nil {
		return f.foreign.mappings
	}
	return [][]byte{f.data}
}

// Place is the mapping that a tensor's data lie in, and where in it they begin. Data that are computed lie in none.
func (f *File) Place(t *TensorInfo) (mapping int, offset uint64, ok bool) {
	if f.foreign == nil {
		return 0, uint64(f.dataStart) + uint64(t.Offset), true
	}
	p := &f.foreign.pieces[f.byName[t.Name]]
	return p.Mapping, uint64(p.Offset), p.Make == nil
}

// Release tells the system that a tensor's bytes are not needed soon: they no longer count as this process's memory,
// and come back when they are read.
func (f *File) Release(t *TensorInfo) {
	if f.foreign != nil && f.foreign.forget(f.byName[t.Name]) {
		return
	}
	f.ReleasePart(f.Data(t))
}

// ReleasePart is Release for a part of the data of a tensor that lies in a mapping.
func (f *File) ReleasePart(data []byte) {
	if f.unmap != nil { // else it is not mapped
		mmap.Release(data)
	}
}
