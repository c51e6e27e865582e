package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/spf13/cobra"
)

// An app is one run of the command. Nothing but audio is written to stdout while it speaks.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	console        *console
}

// run executes the command line and returns the exit code; a failure is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.console = &console{w: a.stderr, min: slog.LevelWarn}
	cmd := newCommand(a.execute)
	cmd.SetArgs(args)
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	err := cmd.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if err != nil {
		a.console.linef("%s", message(err, code))
	}
	return code
}

// message is what the user reads of an error.
func message(err error, code int) string {
	if code > 128 {
		return "stopped"
	}
	if code == exitUsage && errors.As(err, new(usageError)) {
		return err.Error() + " (see qwen-tts --help)"
	}
	return err.Error()
}

func (a *app) execute(cmd *cobra.Command, o *options) error {
	ctx := cmd.Context()
	if o.verbose {
		a.console.min = slog.LevelInfo
	}
	if o.listDevice {
		return a.listDevices()
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.output == "-" && isTerminal(a.stdout) {
		return usageError{errors.New("-o -: stdout is a terminal; pipe it into a player or a file")}
	}
	format, err := audio.ParseFormat(o.format)
	if err != nil {
		return usageError{fmt.Errorf("--format: %w", err)}
	}
	layout, err := parseLayout(o.layout)
	if err != nil {
		return usageError{fmt.Errorf("--text-layout: %w", err)}
	}
	s := &session{
		app:     a,
		options: o,
		changed: cmd.Flags().Changed,
		format:  format,
		layout:  layout,
		showBar: o.progress || !cmd.Flags().Changed("progress") && isTerminal(a.stderr),
	}
	switch {
	case o.listSpeakers:
		return s.listSpeakers()
	case o.byLine:
		return s.speakLines(ctx)
	case o.output == "-":
		return s.speakToStdout(ctx)
	}
	return s.speakToFile(ctx)
}

// input is --text if it was given, else stdin.
func (s *session) input() io.Reader {
	if s.changed("text") {
		return strings.NewReader(s.options.text)
	}
	if isTerminal(s.app.stdin) {
		s.app.console.linef("reading the text from the terminal; end it with Ctrl-D")
	}
	return s.app.stdin
}

// speakToFile writes one WAV file, which appears when it is complete.
func (s *session) speakToFile(ctx context.Context) error {
	out, err := openSink(s.options.output) // before the work, so that a wrong path costs no time
	if err != nil {
		return err
	}
	defer out.discard()
	text, err := readText(ctx, s.input())
	if err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.engine.Close()
	if err := s.speak(ctx, text, out.writer(), !out.seekable()); err != nil {
		return err
	}
	return out.commit()
}

// speakToStdout streams one WAV, frame by frame as it is generated.
func (s *session) speakToStdout(ctx context.Context) error {
	text, err := readText(ctx, s.input())
	if err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.engine.Close()
	return s.speak(ctx, text, struct{ io.Writer }{s.app.stdout}, true)
}

// speakLines writes one WAV per line of text to stdout. Each is written at once when its line has been spoken, and
// its header tells its size, so that a reader can take the stream apart.
func (s *session) speakLines(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.engine.Close()
	return eachLine(ctx, s.input(), func(line string) error {
		var wav memoryFile
		if err := s.speak(ctx, line, &wav, false); err != nil {
			return err
		}
		if _, err := s.app.stdout.Write(wav.data); err != nil {
			return ioError{err}
		}
		return nil
	})
}
