package checkpoint

import (
	"errors"
	"fmt"
)

// ErrInput is what every error is that lies in the checkpoint: a file that is missing or damaged, a field of the
// configuration, a tensor. Other errors are the system's.
var ErrInput = errors.New("unusable checkpoint")

// inputError is an ErrInput with its own text.
type inputError struct {
	text  string
	cause error // may be nil
}

func (e *inputError) Error() string { return e.text }

func (e *inputError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrInput}
	}
	return []error{ErrInput, e.cause}
}

func inputf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &inputError{err.Error(), errors.Unwrap(err)}
}
