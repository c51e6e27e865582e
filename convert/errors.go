package convert

import (
	"errors"
	"fmt"

	"github.com/libqwen/libqwen/core/checkpoint"
)

// The kinds of failure, for [errors.Is]. Other errors are the system's.
var (
	// ErrInput is what every error is that lies in the source: a file that is missing or damaged, a field, a tensor.
	ErrInput = checkpoint.ErrInput
	// ErrRequest is what every error is that lies in what was asked for.
	ErrRequest = errors.New("request that cannot be met")
	// ErrBackend is what the errors are that lie in ggml's libraries.
	ErrBackend = errors.New("quantisers")
)

// kindError is an error of a kind, with its own text.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func inputf(format string, args ...any) error {
	return &kindError{ErrInput, fmt.Errorf(format, args...)}
}

func requestf(format string, args ...any) error {
	return &kindError{ErrRequest, fmt.Errorf(format, args...)}
}
