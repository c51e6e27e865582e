package main

import (
	"context"
	"errors"

	"github.com/libqwen/libqwen/core"
)

// Exit codes by kind of failure. They are part of the command's interface: scripts decide by them.
const (
	exitOK      = 0
	exitFailure = 1 // the generation failed, or anything not listed below
	exitUsage   = 2 // flags, parameters or text
	exitMode    = 3 // the request does not fit the kind of checkpoint
	exitModel   = 4 // model files, ggml's libraries or the device
	exitMemory  = 5
	exitIO      = 6 // reading or writing files and streams
	// 128 + signal: stopped by SIGINT (130) or SIGTERM (143)
)

// usageError marks a mistake in how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// ioError marks a failure to read or write a file or stream.
type ioError struct{ error }

func (e ioError) Unwrap() error { return e.error }

// exitCode maps an error to the exit code of its kind. A failure to write comes first: the engine reports it as a
// cancellation by the receiver of the audio.
func exitCode(ctx context.Context, err error) int {
	var (
		signal  interrupted
		writing ioError
		usage   usageError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(context.Cause(ctx), &signal):
		return signal.exitCode()
	case errors.As(err, &writing):
		return exitIO
	case errors.As(err, &usage), errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrUnsupported):
		return exitUsage
	case errors.Is(err, core.ErrMode):
		return exitMode
	case errors.Is(err, core.ErrModel), errors.Is(err, core.ErrBackend):
		return exitModel
	case errors.Is(err, core.ErrMemory):
		return exitMemory
	}
	return exitFailure
}
