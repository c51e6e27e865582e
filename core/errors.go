package core

import (
	"errors"
	"fmt"
)

// The kinds of failure. Every error that leaves this package wraps exactly one of them, so that a
// caller decides by errors.Is and shows the message, which names the field, tensor or stage at fault.
var (
	// ErrInvalid: a parameter is out of range, malformed or contradicts another one.
	ErrInvalid = errors.New("invalid parameter")
	// ErrMode: the request does not fit the family of the loaded checkpoint (base, custom_voice, voice_design).
	ErrMode = errors.New("mode mismatch")
	// ErrModel: a model file cannot be opened, is not what it should be, or lacks what it must hold.
	ErrModel = errors.New("model")
	// ErrBackend: ggml's libraries or the asked device cannot be loaded or failed.
	ErrBackend = errors.New("backend")
	// ErrGenerate: the computation went wrong (NaN logits, a failing stage).
	ErrGenerate = errors.New("generation failed")
	// ErrMemory: host or device memory does not suffice.
	ErrMemory = errors.New("out of memory")
	// ErrCancelled: the context was cancelled or the receiver of the audio asked to stop.
	ErrCancelled = errors.New("cancelled")
	// ErrUnsupported: the feature exists but not in this build.
	ErrUnsupported = errors.New("not in this build")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine is closed")
)

// fail wraps a formatted message with the kind of failure; the kind itself is not part of the text.
func fail(kind error, format string, args ...any) error {
	return &kindError{kind: kind, err: fmt.Errorf(format, args...)}
}

// as marks err, which comes from a lower package, with the kind of failure.
// An error that already has a kind keeps it.
func as(kind, err error) error {
	if err == nil || isKind(err) {
		return err
	}
	return &kindError{kind: kind, err: err}
}

func isKind(err error) bool {
	var k *kindError
	return errors.As(err, &k)
}

type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }
