package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/libqwen/libqwen/core/codec"
)

// FileName is the name of the vocoder in a folder of models.
const FileName = "qwen3-tts-vocoder.onnx"

// Options say where a model runs.
type Options struct {
	// Provider is the execution provider: "" takes QWEN_ONNX_PROVIDER, else "auto", the best that works here. A name of
	// ProviderNames must work; of several with commas between them, the first that works is taken.
	Provider string
	Threads  int // of the CPU, at least 1
}

// Decoder turns codes into audio. It does not change; a Stream decodes.
type Decoder struct {
	lib      *library
	session  *session
	cfg      Config
	file     string
	provider string
	warnings []string
}

// Find tells whether a path means an ONNX model, by its name: a file whose name ends in .onnx, or a folder that holds
// a qwen3-tts-vocoder.onnx. It returns the file.
func Find(path string) (file string, ok bool) {
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		return path, true
	}
	file = filepath.Join(path, FileName)
	st, err := os.Stat(file)
	return file, err == nil && !st.IsDir()
}

// Open loads a model. Errors wrap ErrLibrary, ErrProvider or ErrMemory where that is the reason.
func Open(file string, opts Options) (*Decoder, error) {
	if err := checkFile(file); err != nil {
		return nil, fmt.Errorf("vocoder: %w", err)
	}
	lib, err := load()
	if err != nil {
		return nil, fmt.Errorf("vocoder: %w", err)
	}
	d := &Decoder{lib: lib, file: file}
	if err := d.open(opts); err != nil {
		d.Free()
		return nil, fmt.Errorf("vocoder: %s: %w", file, err)
	}
	return d, nil
}

// checkFile refuses what ONNX Runtime would say less clearly, or misread.
func checkFile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: file, Err: errors.New("no regular file")}
	}
	var head [8]byte
	n, _ := f.ReadAt(head[:], 0) // what is there is what is looked at
	// A ModelProto starts with its ir_version, field 1, a small number.
	if n < len(head) || head[0] != 0x08 || head[1]&0x80 != 0 {
		return fmt.Errorf("%s: this is no ONNX model (it starts with %q)", file, head[:n])
	}
	return nil
}

func (d *Decoder) open(opts Options) error {
	s, p, warnings, err := d.lib.openSession(d.file, opts)
	if err != nil {
		return err
	}
	d.session, d.provider, d.warnings = s, p.name, warnings
	if d.cfg, err = readConfig(s); err != nil {
		return err
	}
	return d.tryOut()
}

// Free releases the model, after all streams were closed.
func (d *Decoder) Free() {
	if d != nil {
		d.session.close()
	}
}

// Hop is the number of samples a frame becomes.
func (d *Decoder) Hop() int { return d.cfg.Hop }

// Codebooks is the number of codes in a frame.
func (d *Decoder) Codebooks() int { return d.cfg.Codebooks }

// CodebookSize is the number of entries of a codebook: codes are below it.
func (d *Decoder) CodebookSize() int { return d.cfg.CodebookSize }

// CheckCodes tells whether the frames can be decoded. The error names frame and codebook and is codec.ErrCodes.
func (d *Decoder) CheckCodes(codes [][]int32) error {
	return codec.CheckCodes(codes, d.cfg.Codebooks, d.cfg.CodebookSize)
}

// Stateful tells whether the model remembers the frames before, so that there is no seam between calls.
func (d *Decoder) Stateful() bool { return len(d.cfg.states) > 0 }

// Provider is the execution provider in use.
func (d *Decoder) Provider() string { return d.provider }

// Warnings tell which providers were tried and failed.
func (d *Decoder) Warnings() []string { return d.warnings }

// Describe tells what runs the model, in a line.
func (d *Decoder) Describe() string {
	form := "whole"
	if d.Stateful() {
		form = "with state"
	}
	return fmt.Sprintf("%s (%s), ONNX Runtime %s, provider %s", filepath.Base(d.file), form, d.lib.version, d.provider)
}
