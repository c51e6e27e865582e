package main

// #include "bridge.h"
import "C"

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/libqwen/libqwen/core"
)

// All callbacks of a synthesis run on the thread that called it: an export keeps its goroutine on the
// caller's thread, and core calls emit, Progress and (on that goroutine) ctx.Err from there.

// userData reads a void * field as a number, as which it stays on the Go side (see bridge.h).
func userData(field *unsafe.Pointer) C.uintptr_t { return *(*C.uintptr_t)(unsafe.Pointer(field)) }

// stopError is a wish to stop. It counts as context.Canceled, as errors of contexts should.
type stopError string

const (
	errCancelled = stopError("cancelled: the cancel callback returned true")
	errStopped   = stopError("cancelled: on_chunk returned false")
	errFreed     = stopError("cancelled: qt_free was called")
)

func (e stopError) Error() string        { return string(e) }
func (e stopError) Is(target error) bool { return target == context.Canceled }

// polled is the context.Context of one call. It has no channel: Err asks the C callback, and once that
// has answered true, or qt_free was called, it stays cancelled.
type polled struct {
	handle  *handle
	owner   thread // the only thread on which the callback may be called
	cancel  C.qt_cancel_cb
	user    C.uintptr_t
	stopped atomic.Value // the stopError, once there is one
}

func (*polled) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*polled) Done() <-chan struct{}       { return nil }
func (*polled) Value(any) any               { return nil }

func (p *polled) Err() error {
	if err, ok := p.stopped.Load().(stopError); ok {
		return err
	}
	switch {
	case p.handle.closing.Load():
		p.stopped.Store(errFreed)
		return errFreed
	case p.cancel != nil && bool(C.qwen_call_cancel(p.cancel, p.user, C.uintptr_t(p.owner))):
		p.stopped.Store(errCancelled)
		return errCancelled
	}
	return nil
}

// chunkEmitter passes audio on to on_chunk. The callback sees Go memory, for as long as it runs.
func chunkEmitter(cb C.qt_audio_chunk_cb, user C.uintptr_t) func([]float32) error {
	return func(pcm []float32) error {
		if len(pcm) == 0 {
			return nil
		}
		if !C.qwen_call_chunk(cb, user, (*C.float)(unsafe.SliceData(pcm)), C.int(len(pcm))) {
			return errStopped
		}
		return nil
	}
}

// progressReporter passes progress on; nil if nobody listens.
func progressReporter(cb C.qt_progress_cb, user C.uintptr_t) func(core.Progress) {
	if cb == nil {
		return nil
	}
	return func(p core.Progress) {
		C.qwen_call_progress(cb, user, C.int(p.Frames), C.int(p.MaxFrames), milliseconds(p.Elapsed))
	}
}

func milliseconds(d time.Duration) C.double { return C.double(d.Seconds() * 1e3) }
