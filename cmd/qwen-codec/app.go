package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// An app is one run of the command. What was done goes to stdout, unless audio does; all else goes to stderr.
type app struct {
	stdout, stderr io.Writer
	console        *cli.Console
	options        *options
	format         audio.Format
}

// run executes the command line and returns the exit code; a failure is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.console = cli.NewConsole(a.stderr, "qwen-codec")
	a.console.NameFields(fieldFlags)
	return cli.Execute(ctx, newCommand(a.execute), args, cli.Streams{Out: a.stdout, Err: a.stderr}, a.console)
}

func (a *app) execute(cmd *cobra.Command, o *options) (err error) {
	a.options = o
	if o.verbose {
		a.console.Verbose()
	}
	if err := o.validate(); err != nil {
		return err
	}
	if o.decodes() {
		if a.format, err = cli.OutputFormat(o.format, o.output); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	switch {
	case o.check != "":
		return a.check()
	case o.input == "":
		return a.selfTest(ctx)
	case o.decodes():
		return a.decode(ctx)
	}
	return a.encode(ctx)
}

func (a *app) open() (*core.Codec, error) {
	opts := a.options.models
	opts.Logger = a.console.Logger()
	c, err := core.OpenCodec(opts)
	if err != nil {
		return nil, err
	}
	opts.Logger.Info("loaded", "codec", opts.CodecPath, "codebooks", c.Codebooks(), "size", c.CodebookSize(), "hop", c.Hop())
	if opts.TalkerPath != "" {
		opts.Logger.Info("loaded", "talker", opts.TalkerPath, "model", c.Identity())
	}
	return c, nil
}

// readTranscript reads --ref-text; without it, the transcript is empty.
func (a *app) readTranscript() (string, error) {
	if a.options.refText == "" {
		return "", nil
	}
	text, err := cli.ReadTranscript(a.options.refText)
	if err != nil {
		return "", fmt.Errorf("--ref-text: %w", err)
	}
	return text, nil
}

// create starts an output file, before the work, so that a wrong path costs no time. The input is never replaced.
func (a *app) create(path string) (*atomicfile.File, error) {
	o := a.options
	if err := cli.KeepInputs(path, o.input, o.models.CodecPath, o.models.TalkerPath, o.refText); err != nil {
		return nil, err
	}
	if there, err := os.Stat(path); err == nil && o.noClobber && there.Mode().IsRegular() {
		return nil, cli.Usagef("%s exists, and --no-clobber is set", path)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, cli.IOError{Err: err}
	}
	return f, nil
}

// save completes an output file.
func save(f *atomicfile.File, data []byte) error {
	if _, err := f.Writer().Write(data); err != nil {
		return cli.IOError{Err: err}
	}
	if err := f.Commit(); err != nil {
		return cli.IOError{Err: err}
	}
	return nil
}

// tell prints a line of results.
func (a *app) tell(format string, args ...any) error {
	return cli.Tell(a.stdout, format, args...)
}

func seconds(samples int) float64 { return float64(samples) / core.SampleRate }
