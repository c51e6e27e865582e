package ggml

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// AssertError is an assertion that failed inside ggml on the calling thread.
type AssertError struct{ Message string }

func (e *AssertError) Error() string { return "ggml: " + e.Message }

// ShapeError is an op whose operands do not fit.
type ShapeError struct{ Message string }

func (e *ShapeError) Error() string { return "ggml: " + e.Message }

// installAbort turns a failed assertion on the calling thread into a Go panic, which guard recovers.
// It is a net: shapes are checked before ggml sees them.
func installAbort() {
	fn.ggml_set_abort_callback(purego.NewCallback(func(msg *byte) uintptr {
		panic(&AssertError{goString(msg)})
	}))
}

// guard runs f and returns its shape and assertion panics as errors; other panics go on.
func guard(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ShapeError:
			err = r
		case *AssertError:
			err = r
		default:
			panic(r)
		}
	}()
	return f()
}

func shapePanic(format string, args ...any) {
	panic(&ShapeError{fmt.Sprintf(format, args...)})
}
