package main

// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/libqwen/libqwen/core"
)

// status is the one place where kinds of failure become numbers of the ABI.
func status(err error) C.enum_qt_status {
	switch {
	case err == nil:
		return C.QT_STATUS_OK
	case errors.Is(err, core.ErrMemory): // first: core reports a receiver without memory as a cancellation too
		return C.QT_STATUS_OOM
	case errors.Is(err, core.ErrCancelled), errors.Is(err, context.Canceled):
		return C.QT_STATUS_CANCELLED
	case errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrClosed):
		return C.QT_STATUS_INVALID_PARAMS
	case errors.Is(err, core.ErrMode):
		return C.QT_STATUS_MODE_INVALID
	default: // ErrModel, ErrBackend, ErrGenerate, ErrUnsupported, panics
		return C.QT_STATUS_GENERATE_FAILED
	}
}

// guard runs the body of an export: whatever comes out of it, a panic too, ends as a status and as the
// calling thread's qt_last_error.
func guard(export string, body func() error) (s C.enum_qt_status) {
	var host C.qwen_float_env
	C.qwen_float_enter(&host)
	defer C.qwen_float_leave(&host)
	defer func() {
		if p := recover(); p != nil {
			s = report(panicked(export, p))
		}
	}()
	if faulty(export) {
		panic("injected fault")
	}
	return report(body())
}

// minStack is what other libraries take of the caller's stack at most: ggml 40 KiB, ONNX Runtime 80.
const minStack = 96 << 10

// compute is guard for an export that calls other libraries, on the caller's stack.
func compute(export string, body func() error) C.enum_qt_status {
	return guard(export, func() error {
		if left := uint64(C.qwen_stack_left()); left < minStack {
			return invalid("thread: %d KiB of its stack are left, %d are needed", left>>10, minStack>>10)
		}
		return body()
	})
}

// report stores the message of a failure for qt_last_error, and its status; success leaves the last one alone.
func report(err error) C.enum_qt_status {
	s := status(err)
	if err != nil {
		msg := C.CString(printable(err.Error()))
		C.qwen_set_error(s, msg)
		C.free(unsafe.Pointer(msg))
	}
	return s
}

// panicked is the error for a panic; the stack goes to the log, for the bug report.
func panicked(export string, p any) error {
	err := fmt.Errorf("%s: internal error: %v%s", export, p, panicOrigin())
	logger.Error(err.Error() + "\n" + string(debug.Stack()))
	return err
}

// panicOrigin is " at file:line" of the statement that panicked, to be called while recovering.
func panicOrigin() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicking := false; ; {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		switch {
		case inRuntime:
			panicking = true
		case panicking:
			return fmt.Sprintf(" at %s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// printable makes a message fit for C and for strict readers: valid UTF-8 without NUL.
func printable(msg string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(msg, "\uFFFD"), "\x00", "\uFFFD")
}

// invalidError is a parameter that this package refuses.
type invalidError string

func invalid(format string, args ...any) error { return invalidError(fmt.Sprintf(format, args...)) }

func (e invalidError) Error() string        { return string(e) }
func (e invalidError) Is(target error) bool { return target == core.ErrInvalid }

// memoryError is C memory that the system refused.
type memoryError string

func (e memoryError) Error() string        { return string(e) }
func (e memoryError) Is(target error) bool { return target == core.ErrMemory }
