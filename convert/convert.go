// Package convert turns Qwen3-TTS checkpoint directories, as published, into the GGUF files that the engine loads.
//
// A talker checkpoint has config.json, generation_config.json, vocab.json, merges.txt, tokenizer_config.json and
// model.safetensors (or its shards and their index); a speech tokenizer has config.json and model.safetensors.
// From the configuration follows the exact list of tensors (talker.go, speaker.go, codec.go), with which the
// checkpoint must agree by name and shape. Tensors then stream one after the other, in pieces: memory use does not
// grow with the model. The same checkpoint always gives the same bytes.
package convert

import (
	"context"
	"fmt"
	"io"
	"slices"

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
	// Progress, if not nil, is called before each tensor with the bytes of tensor data written so far, of all, and the
	// tensor's name, and once at the end with done == total and no name.
	Progress func(done, total int64, name string)
}

// Convert writes the GGUF file of a checkpoint directory. Errors that lie in the checkpoint are [ErrInput].
func Convert(o Options) error { return ConvertContext(context.Background(), o) }

// ConvertContext is [Convert] until ctx ends; then it returns ctx's error and leaves no file.
func ConvertContext(ctx context.Context, o Options) error {
	if !CanWrite(o.Type) {
		return fmt.Errorf("convert: type %v is not one of F32, F16, BF16, Q8_0", o.Type)
	}
	if err := convert(ctx, o); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	return nil
}

func convert(ctx context.Context, o Options) error {
	c, err := openCheckpoint(o.Src)
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := load(c)
	if err != nil {
		return err
	}
	w, err := gguf.NewWriter(o.Dst)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := m.writeMetadata(w, o.Type); err != nil {
		return err
	}
	if err := m.writeTensors(ctx, w, c, o); err != nil {
		return err
	}
	return w.Close()
}

// load reads all but the weights, and checks the weights' names and shapes.
func load(c *checkpoint) (*model, error) {
	m, err := describe(c.config)
	if err != nil {
		return nil, err
	}
	if err := m.match(c.shapes()); err != nil {
		return nil, err
	}
	if m.textVocab == 0 {
		return m, nil
	}
	if err := sampling(m, c.dir); err != nil {
		return nil, err
	}
	v, err := readVocabulary(c.dir, m.textVocab)
	if err != nil {
		return nil, err
	}
	for _, t := range m.textIDs {
		if t.id >= len(v.tokens) || v.types[t.id] == tokenUnused {
			return nil, inputf("config.json: %s: the tokenizer has no token %d", t.field, t.id)
		}
	}
	v.metadata(m)
	return m, nil
}

func (m *model) writeMetadata(w *gguf.Writer, t gguf.Type) error {
	file, _ := fileType(t)
	m.set("general.file_type", file)
	if t == gguf.Q8_0 {
		m.set("general.quantization_version", uint32(2)) // of ggml's block formats
	}
	for _, e := range m.metadata {
		if err := w.Add(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) writeTensors(ctx context.Context, w *gguf.Writer, c *checkpoint, o Options) error {
	total := int64(0)
	sizes := make([]int64, len(m.weights))
	for i, s := range m.weights {
		shape := slices.Clone(s.shape)
		slices.Reverse(shape) // to ggml's order
		t := gguf.TensorInfo{Name: s.name, Type: storage(s.name, s.shape, o.Type), Shape: shape}
		if err := w.Declare(t); err != nil {
			return err
		}
		row, err := t.Type.RowBytes(t.Elements())
		if err != nil {
			return err
		}
		sizes[i] = row
		total += row
	}
	report := o.Progress
	if report == nil {
		report = func(int64, int64, string) {}
	}
	e := newEncoder()
	done := int64(0)
	for i, s := range m.weights {
		report(done, total, s.name)
		err := w.WriteFunc(s.name, func(dst io.Writer) error {
			return e.encode(ctx, dst, c, s, storage(s.name, s.shape, o.Type))
		})
		if err != nil {
			return err
		}
		done += sizes[i]
	}
	report(done, total, "")
	return nil
}
