// Package convert makes GGUF files: of Qwen3-TTS checkpoint directories, as published, and smaller ones of other GGUF
// files. policy.go says what type a tensor has in a file of a type. Tensors stream one after the other, in pieces:
// memory use does not grow with the model. The same source always gives the same bytes.
package convert

import (
	"context"
	"fmt"

	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Options says what to convert, into what.
type Options struct {
	// Src is a talker checkpoint directory or a speech tokenizer directory; config.json tells which.
	Src string
	// Type is the type of the file, one of Recipes.
	Type string
	WriteOptions
}

// Convert writes the GGUF file of a checkpoint directory. Errors that lie in the checkpoint are [ErrInput].
func Convert(o Options) error { return ConvertContext(context.Background(), o) }

// ConvertContext is [Convert] until ctx ends; then it returns ctx's error and leaves no file.
func ConvertContext(ctx context.Context, o Options) error {
	if err := convert(ctx, o); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	return nil
}

func convert(ctx context.Context, o Options) error {
	if _, err := findRecipe(o.Type); err != nil {
		return requestf("type %v", err)
	}
	f, err := checkpoint.Open(o.Src)
	if err != nil {
		return err
	}
	defer f.Close()
	plan, err := NewConversion(f, o.Type)
	if err != nil {
		return err
	}
	return plan.Write(ctx, o.WriteOptions)
}

// NewConversion is [NewPlan] for an open checkpoint, which may have the types that are wanted already.
func NewConversion(f *gguf.File, typ string) (*Plan, error) {
	return newPlan(f, QuantizeOptions{Type: typ})
}
