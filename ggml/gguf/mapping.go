package gguf

// Mapping is the whole file in memory, for a device that uses the tensors where they lie. It starts at a page
// if the file was opened by Open. It must not be written to, and not be read after Close.
func (f *File) Mapping() []byte { return f.data }

// Place is the offset of a tensor's data in Mapping.
func (f *File) Place(t *TensorInfo) uint64 { return uint64(f.dataStart) + uint64(t.Offset) }
