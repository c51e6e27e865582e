package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// An app is one run of the command. Nothing but audio is written to stdout while it speaks.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	console        *cli.Console
}

// run executes the command line and returns the exit code; a failure is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.console = cli.NewConsole(a.stderr, "qwen-tts")
	a.console.NameFields(fieldFlags)
	return cli.Execute(ctx, newCommand(a.execute), args, cli.Streams{In: a.stdin, Out: a.stdout, Err: a.stderr}, a.console)
}

func (a *app) execute(cmd *cobra.Command, o *options) error {
	ctx := cmd.Context()
	if o.verbose {
		a.console.Verbose()
	}
	if o.listDevice {
		return a.listDevices()
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.output == "-" && cli.IsTerminal(a.stdout) {
		return cli.Usagef("-o -: stdout is a terminal; pipe it into a player or a file")
	}
	format, err := cli.OutputFormat(o.format, o.output)
	if err != nil {
		return err
	}
	if o.byLine && !format.IsWAV() {
		return cli.Usagef("--stream-by-line writes WAV only: its header tells where a line ends")
	}
	if err := audio.CheckSpeed(float64(o.speed)); err != nil {
		return cli.Inputf("--%w", err)
	}
	layout, err := parseLayout(o.layout)
	if err != nil {
		return cli.Usagef("--text-layout: %w", err)
	}
	s := &session{
		app:     a,
		options: o,
		changed: cmd.Flags().Changed,
		format:  format,
		layout:  layout,
		showBar: o.progress || !cmd.Flags().Changed("progress") && cli.IsTerminal(a.stderr),
	}
	if o.batch != "" && !o.listSpeakers {
		return s.speakBatch(ctx)
	}
	if err := s.fetch(ctx); err != nil {
		return err
	}
	if err := s.keepInputs(); err != nil {
		return err
	}
	switch {
	case o.listSpeakers:
		return s.listSpeakers()
	case o.output == "":
		return s.saveVoice(ctx)
	case o.byLine:
		return s.speakLines(ctx)
	case o.output == "-":
		return s.speakToStdout(ctx)
	}
	return s.speakToFile(ctx)
}

// keepInputs refuses to write over what is read, or two things to one file.
func (s *session) keepInputs() error {
	o := s.options
	for _, out := range []string{o.output, o.saveVoice} {
		if err := cli.KeepInputs(out, o.model.TalkerPath, o.model.CodecPath, o.model.PredictorPath, o.model.TokenizerPath, o.base, o.refWAV, o.refText, o.refSpk, o.refRVQ, o.voice); err != nil {
			return err
		}
		if err := cli.KeepStdin(out, s.app.stdin); err != nil && !s.changed("text") {
			return err
		}
	}
	return cli.KeepApart(o.output, o.saveVoice)
}

// input is --text if it was given, else stdin.
func (s *session) input() io.Reader {
	if s.changed("text") {
		return strings.NewReader(s.options.text)
	}
	if cli.IsTerminal(s.app.stdin) {
		s.app.console.Linef("reading the text from the terminal; end it with Ctrl-D")
	}
	return s.app.stdin
}

// speakToFile writes one file, which appears when it is complete.
func (s *session) speakToFile(ctx context.Context) error {
	out, err := atomicfile.Create(s.options.output) // before the work, so that a wrong path costs no time
	if err != nil {
		return cli.IOError{Err: err}
	}
	defer out.Discard()
	text, err := cli.ReadText(ctx, s.input())
	if err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.engine.Close()
	if err := s.speak(ctx, text, out.Writer(), !out.Seekable()); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return cli.IOError{Err: err}
	}
	return nil
}

// speakToStdout streams one file, frame by frame as it is generated.
func (s *session) speakToStdout(ctx context.Context) error {
	text, err := cli.ReadText(ctx, s.input())
	if err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.engine.Close()
	return s.speak(ctx, text, struct{ io.Writer }{s.app.stdout}, true)
}

// speakLines writes one WAV per line of text to stdout. Each is written at once when its line has been spoken, and
// its header tells its size, so that a reader can take the stream apart.
func (s *session) speakLines(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.engine.Close()
	return cli.EachLine(ctx, s.input(), func(line string) error {
		var wav audio.Buffer
		if err := s.speak(ctx, line, &wav, false); err != nil {
			return err
		}
		if _, err := s.app.stdout.Write(wav.Bytes()); err != nil {
			return cli.IOError{Err: err}
		}
		return nil
	})
}
