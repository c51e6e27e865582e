package main

// #include "bridge.h"
import "C"

import (
	"errors"
	"math"
	"unsafe"

	"github.com/libqwen/libqwen/core/audio"
)

// encodeAudio is the body of qt_encode_audio. A file without samples is a file.
func encodeAudio(samples C.qwen_floats, n, rate C.int, format *C.char, out *C.struct_qt_bytes) error {
	if out == nil {
		return invalid("out: NULL")
	}
	*out = C.struct_qt_bytes{}
	if n != 0 {
		if err := checkCount("samples", samples, "n_samples", n, math.MaxInt32); err != nil {
			return err
		}
	}
	name, err := text("format", format)
	if err != nil {
		return err
	}
	kind, err := audio.ParseFormat(name)
	if err != nil {
		return invalid("format: %v", err)
	}
	data, err := encode(unsafe.Slice((*float32)((*C.float)(samples)), int(n)), kind, int(rate))
	if err != nil {
		return err
	}
	*out, err = newBytes(data)
	return err
}

func encode(samples []float32, kind audio.Format, rate int) ([]byte, error) {
	var file audio.Buffer
	w, err := audio.NewWriter(&file, kind, rate)
	if errors.Is(err, audio.ErrNoLibrary) {
		return nil, err
	}
	if err != nil {
		return nil, invalid("format: %v", err)
	}
	defer w.Discard()
	if err := w.Write(samples); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}
