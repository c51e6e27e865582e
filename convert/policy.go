package convert

import (
	"strings"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// storage is the type that a tensor is stored as in a file of type want. The shape is in PyTorch's order.
//
//   - Vectors (norms, biases, snake and LayerScale parameters) stay F32: they are small, and kernels want them so.
//   - Codebooks, the projections around them and the one of the x-vector stay F32: searching the nearest vector turns
//     small errors into other codes.
//   - Convolution kernels are F16: their rows, as long as the kernel, don't divide into blocks, and F16 is what
//     convolutions compute in.
//   - Of the matrices, those whose rows don't divide into blocks are F16; the rest have the wanted type.
func storage(name string, shape []int64, want gguf.Type) gguf.Type {
	switch {
	case want == gguf.F32, len(shape) < 2, strings.Contains(name, ".vq_"), name == "spk_enc.fc.weight":
		return gguf.F32
	case len(shape) > 2, shape[len(shape)-1]%int64(want.BlockSize()) != 0:
		return gguf.F16
	}
	return want
}

// fileType is the number that general.file_type has for files of the type (llama.cpp's enum llama_ftype).
func fileType(t gguf.Type) (n uint32, ok bool) {
	switch t {
	case gguf.F32:
		return 0, true
	case gguf.F16:
		return 1, true
	case gguf.Q8_0:
		return 7, true
	case gguf.BF16:
		return 32, true
	}
	return 0, false
}

// CanWrite reports whether [Convert] can write files of the type.
func CanWrite(t gguf.Type) bool { _, ok := fileType(t); return ok }
