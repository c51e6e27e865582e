package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupted is the cause of a context that a signal cancelled.
type Interrupted struct{ Signal os.Signal }

func (e Interrupted) Error() string { return e.Signal.String() }

// exitCode is the shell's convention for a process that a signal ended: 130 for SIGINT, 143 for SIGTERM.
func (e Interrupted) exitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return ExitFailure
}

// Main runs a command with the arguments of the process and ends it with the exit code that run returns.
func Main(run func(ctx context.Context, args []string) int) {
	ctx, stop := interruptible()
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
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
		cancel(Interrupted{s})
	}()
	return ctx, func() { signal.Stop(signals) }
}
