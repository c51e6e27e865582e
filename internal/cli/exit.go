package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/hub"
)

// Exit codes by kind of failure. They are part of the commands' interface: scripts decide by them.
const (
	ExitOK      = 0
	ExitFailure = 1 // the computation failed, or anything not listed below
	ExitUsage   = 2 // flags, parameters or what files hold
	ExitMode    = 3 // the request does not fit the model
	ExitModel   = 4 // model files, ggml's libraries or the device
	ExitMemory  = 5
	ExitIO      = 6 // reading or writing files and streams, also over the network
	ExitPartial = 7 // of many things asked for, some failed
	// 128 + signal: stopped by SIGINT (130) or SIGTERM (143)
)

// UsageError marks a mistake in how the command was called; the message points to the help.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// InputError marks what is wrong with a text or with the content of a file.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }
func (e InputError) Unwrap() error { return e.Err }

// Inputf returns an InputError.
func Inputf(format string, args ...any) error { return InputError{fmt.Errorf(format, args...)} }

// ModeError marks what does not fit the model that is loaded.
type ModeError struct{ Err error }

func (e ModeError) Error() string { return e.Err.Error() }
func (e ModeError) Unwrap() error { return e.Err }

// ModelError marks a model file that is not what it should be.
type ModelError struct{ Err error }

func (e ModelError) Error() string { return e.Err.Error() }
func (e ModelError) Unwrap() error { return e.Err }

// IOError marks a failure to read or write a file or stream.
type IOError struct{ Err error }

func (e IOError) Error() string { return e.Err.Error() }
func (e IOError) Unwrap() error { return e.Err }

// PartialError marks that of many things asked for some failed, each with a kind of its own.
type PartialError struct{ Err error }

func (e PartialError) Error() string { return e.Err.Error() }
func (e PartialError) Unwrap() error { return e.Err }

// FileError marks an error of reading a file: an IOError if it cannot be read, an InputError if its content is wrong.
func FileError(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return IOError{err}
	}
	return InputError{err}
}

// isHub tells whether models could not be fetched.
func isHub(err error) bool {
	for _, kind := range []error{hub.ErrNotFound, hub.ErrAccess, hub.ErrQuota, hub.ErrOffline, hub.ErrNetwork, hub.ErrCorrupt, hub.ErrDisk} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// ExitCode maps an error to the exit code of its kind. A failure to write comes first: the engine reports it as a
// cancellation by the receiver of the audio.
func ExitCode(ctx context.Context, err error) int {
	var (
		signal  Interrupted
		writing IOError
		usage   UsageError
		input   InputError
		mode    ModeError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(context.Cause(ctx), &signal):
		return signal.exitCode()
	case errors.As(err, new(PartialError)):
		return ExitPartial
	case errors.As(err, &writing):
		return ExitIO
	case errors.As(err, &usage), errors.As(err, &input), errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrUnsupported),
		errors.Is(err, hub.ErrInvalid):
		return ExitUsage
	case isHub(err), errors.Is(err, core.ErrGenerate) && errors.As(err, new(*fs.PathError)): // files of --dump
		return ExitIO
	case errors.As(err, &mode), errors.Is(err, core.ErrMode):
		return ExitMode
	case errors.As(err, new(ModelError)), errors.Is(err, core.ErrModel), errors.Is(err, core.ErrBackend):
		return ExitModel
	case errors.Is(err, core.ErrMemory):
		return ExitMemory
	}
	return ExitFailure
}
