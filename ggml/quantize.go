package ggml

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/half"
)

// typeTraits is the start of struct ggml_type_traits.
type typeTraits struct {
	name       *byte // type_name
	blockSize  int64 // blck_size: elements of a block
	_          int64 // blck_size_interleave
	blockBytes uintptr
	_          bool    // is_quantized
	toFloat    uintptr // void (*to_float)(const void * x, float * y, int64_t k)
}

// traits are a type's, after a look at whether this ggml means the same by the type and has the struct as above.
func traits(t Type) (*typeTraits, error) {
	if !t.Known() {
		return nil, fmt.Errorf("ggml: unknown tensor %v", t)
	}
	tr := fn.ggml_get_type_traits(t)
	if tr == nil || tr.blockSize != int64(t.BlockSize()) || tr.blockBytes != uintptr(t.BlockBytes()) || !strings.EqualFold(goString(tr.name), t.String()) {
		return nil, fmt.Errorf("ggml: version %s has no type %v as it is known here", loaded.version, t)
	}
	return tr, nil
}

// Quantize encodes rows of n elements each as type t into dst, with ggml's reference quantiser for the type, and
// without a matrix of importance. The values must be finite. Load must have succeeded; several goroutines may quantise
// at a time. Errors: lengths that do not fit, types that ggml cannot write.
func Quantize(t Type, dst []byte, x []float32, n int) error {
	if _, err := traits(t); err != nil {
		return err
	}
	switch t {
	case F32, gguf.F16, gguf.BF16, gguf.Q4_0, gguf.Q4_1, gguf.Q5_0, gguf.Q5_1, gguf.Q8_0,
		gguf.Q2_K, gguf.Q3_K, gguf.Q4_K, gguf.Q5_K, gguf.Q6_K, gguf.IQ4_NL, gguf.IQ4_XS:
	default:
		return fmt.Errorf("ggml: %v cannot be written", t) // an intermediate, or wants a matrix of importance
	}
	row, err := t.RowBytes(int64(n))
	if err != nil {
		return fmt.Errorf("ggml: %w", err)
	}
	if n == 0 || len(x)%n != 0 || int64(len(dst)) != row*int64(len(x)/n) {
		return fmt.Errorf("ggml: quantise %d values in rows of %d into %d bytes", len(x), n, len(dst))
	}
	if len(x) == 0 {
		return nil
	}
	return guard(func() error {
		wrote := fn.ggml_quantize_chunk(t, unsafe.SliceData(x), unsafe.SliceData(dst), 0, int64(len(x)/n), int64(n), nil)
		if wrote != uintptr(len(dst)) {
			return fmt.Errorf("ggml: %v: %d bytes written, %d expected", t, wrote, len(dst))
		}
		return nil
	})
}

// Dequantize decodes data of any type that can be widened to F32; src must hold as many elements as dst has. Blocks are
// decoded by ggml: Load must have succeeded for them. Several goroutines may do so at a time.
func Dequantize(t Type, dst []float32, src []byte) error {
	plain := widener(t)
	var tr *typeTraits
	if plain == nil {
		var err error
		if tr, err = traits(t); err != nil {
			return err
		}
	}
	size, err := t.RowBytes(int64(len(dst)))
	if err != nil || size != int64(len(src)) {
		return fmt.Errorf("ggml: %d bytes of %v for %d values", len(src), t, len(dst))
	}
	switch {
	case len(dst) == 0:
	case plain != nil:
		plain(dst, src)
	case tr.toFloat == 0:
		return fmt.Errorf("ggml: %v cannot be widened to F32", t)
	default:
		purego.SyscallN(tr.toFloat, uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(len(dst)))
	}
	return nil
}

// widener decodes the plain floating types, for which there need be no ggml; nil for the others.
func widener(t Type) func(dst []float32, src []byte) {
	switch t {
	case F32:
		return half.DecodeF32
	case gguf.F16:
		return half.DecodeF16
	case gguf.BF16:
		return half.DecodeBF16
	}
	return nil
}
