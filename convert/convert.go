// Package convert turns Qwen3-TTS checkpoint directories (config.json, vocab.json, merges.txt, model.safetensors)
// into the GGUF files that the engine loads.
package convert

import (
	"errors"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// Options says what to convert, into what.
type Options struct {
	// Src is a talker checkpoint directory or a speech tokenizer directory; config.json tells which.
	Src string
	// Dst is the GGUF file to write. It appears only once it is complete; an existing file is replaced.
	Dst string
	// Type is the type of the large matrices: gguf.F32, gguf.F16, gguf.BF16 or gguf.Q8_0.
	// Small and sensitive tensors keep more precision.
	Type gguf.Type
	// Progress, if not nil, is called before each tensor is written and once at the end, with done == total.
	Progress func(done, total int, name string)
}

// Convert writes the GGUF file of a checkpoint directory.
func Convert(o Options) error {
	return errors.New("convert: being written")
}
