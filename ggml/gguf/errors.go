package gguf

import (
	"errors"
	"fmt"
)

// The kinds of failure, for [errors.Is]. Failures of the system, such as a missing file, carry the system's errors.
var (
	// ErrFormat is wrong contents of a file.
	ErrFormat = errors.New("not a usable GGUF file")
	// ErrMissing is a metadata key that the file lacks.
	ErrMissing = errors.New("missing")
	// ErrType is a metadata value that cannot be what was asked for.
	ErrType = errors.New("metadata value of wrong type")
)

// kindError is an error of one of the kinds above, whose text is all its own.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

// Errors are all the reasons found why a file cannot be used, at least one. As an error they are the first.
type Errors []error

func (e Errors) Error() string { return e[0].Error() }

// Unwrap returns all of them.
func (e Errors) Unwrap() []error { return e }

// AllOf is an error with all of the given ones; nil if there are none.
func AllOf(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return Errors(errs)
}

func invalid(format string, args ...any) error {
	return &kindError{ErrFormat, fmt.Sprintf(format, args...)}
}
