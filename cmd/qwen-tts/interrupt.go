package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal os.Signal }

func (e interrupted) Error() string { return e.signal.String() }

// exitCode is the shell's convention for a process that a signal ended: 130 for SIGINT, 143 for SIGTERM.
func (e interrupted) exitCode() int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitFailure
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels. A second one ends the process at once,
// as if nothing had been set up.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(interrupted{s})
	}()
	return ctx, func() { signal.Stop(signals) }
}
