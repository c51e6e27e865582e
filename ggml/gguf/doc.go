// Package gguf reads and writes GGUF, the container of ggml models: typed metadata and tensors in one file.
//
// The layout, all little-endian (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md):
//
//	"GGUF"  version u32  tensor count u64  metadata count u64
//	metadata   (key string, type u32, value) ...
//	tensors    (name string, dimension count u32, dimensions u64..., type u32, offset u64) ...
//	padding    to a multiple of general.alignment (32 unless the metadata says otherwise)
//	data       each tensor at its offset from here, a multiple of the alignment
//
// A string is its length as u64 and its bytes; an array is its element type as u32, its count as u64 and its elements.
//
// [Open] maps a file and checks everything before it is used: counts against the bytes that are left, offsets, sizes,
// names, types. What it returns can be trusted not to reach outside the file, whoever made it.
package gguf
