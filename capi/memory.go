package main

// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/libqwen/libqwen/core"
)

// What callers get to keep is C memory. (C.malloc is not used for it: cgo's version kills the process
// where malloc returns NULL.)

// resize is realloc for n elements of T.
func resize[T any](p *T, n int) (*T, error) {
	size := C.size_t(n) * C.size_t(unsafe.Sizeof(*p))
	if !faulty("malloc") {
		if q := C.realloc(unsafe.Pointer(p), size); q != nil {
			return (*T)(q), nil
		}
	}
	return nil, memoryError(fmt.Sprintf("out of memory: %d bytes for the result", size))
}

func cFree[T any](p *T) { C.free(unsafe.Pointer(p)) }

// newArray is a C copy of s, NULL if it is empty.
func newArray[T any](s []T) (*T, error) {
	if len(s) == 0 {
		return nil, nil
	}
	p, err := resize[T](nil, len(s))
	if err != nil {
		return nil, err
	}
	copy(unsafe.Slice(p, len(s)), s)
	return p, nil
}

// pcmBuffer gathers audio in C memory that grows geometrically.
type pcmBuffer struct {
	data    *float32
	n, room int // samples
}

// append fits core's emit.
func (b *pcmBuffer) append(pcm []float32) error {
	if len(pcm) > math.MaxInt32-b.n {
		return memoryError("more audio than a qt_audio can hold; use on_chunk")
	}
	if need := b.n + len(pcm); need > b.room {
		if err := b.grow(max(need, min(2*b.room, math.MaxInt32))); err != nil {
			return err
		}
	}
	copy(unsafe.Slice(b.data, b.room)[b.n:], pcm)
	b.n += len(pcm)
	return nil
}

func (b *pcmBuffer) grow(room int) error {
	data, err := resize(b.data, room)
	if err != nil {
		return err
	}
	b.data, b.room = data, room
	return nil
}

// take gives the samples away, without the spare room.
func (b *pcmBuffer) take() C.struct_qt_audio {
	if 0 < b.n && b.n < b.room {
		_ = b.grow(b.n) // a failure to shrink does no harm
	}
	audio := C.struct_qt_audio{
		samples: (*C.float)(b.data), n_samples: C.int(b.n), sample_rate: core.SampleRate, channels: 1,
	}
	*b = pcmBuffer{}
	return audio
}

// free releases what was not taken.
func (b *pcmBuffer) free() {
	C.free(unsafe.Pointer(b.data))
	*b = pcmBuffer{}
}
