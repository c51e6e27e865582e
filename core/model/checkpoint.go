package model

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// openAny maps a GGUF file or, where the path is a directory, the checkpoint in it. The speech tokenizer is also found
// in the directory of a talker, which holds it in one of its own.
func openAny(path, architecture string) (*gguf.File, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return gguf.Open(path)
	}
	if architecture == checkpoint.CodecArchitecture && HasCodec(path) {
		path = filepath.Join(path, checkpoint.TokenizerDir)
	}
	f, err := checkpoint.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return f, nil
}

// HasCodec tells whether a path is the directory of a talker's checkpoint that holds the speech tokenizer as well.
func HasCodec(path string) bool {
	return checkpoint.Is(path) && checkpoint.Is(filepath.Join(path, checkpoint.TokenizerDir))
}
