// Package gguf reads and writes GGUF files, the container of ggml models.
package gguf

// Type is a ggml tensor element type.
type Type uint32

// The types the converter writes.
const (
	F32  Type = 0
	F16  Type = 1
	Q8_0 Type = 8
	BF16 Type = 30
)
