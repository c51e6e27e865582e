package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/internal/cli"
)

const about = `Makes the GGUF file of a Qwen3-TTS checkpoint directory: of a talker (Base, CustomVoice, VoiceDesign) or of the
12 Hz speech tokenizer, which talker directories hold in speech_tokenizer/. Speaking needs one file of each.
Given a folder for the output, it converts every checkpoint that it finds in IN, under the published names, and
leaves out what is there already and matches: it can be stopped and run again.

Types, from large to small:
  F32       nothing is lost; the default
  BF16      half the size; talkers are published in it, so their matrices lose nothing
  F16       half the size
  Q8_0      about a quarter of the size, and the fastest on CPUs
  Q6_K, Q5_K_M, Q5_K_S, Q4_K_M, Q4_K_S, Q4_0, Q3_K_M, Q2_K  smaller and coarser, see qwen-quantize`

// options are the flags as given.
type options struct {
	typ, codecType string
	force, verbose bool
	threads        int
}

// An app is one run of the command. Results go to stdout, all else to stderr.
type app struct {
	stdout, stderr io.Writer
	console        *cli.Console
	options        options
}

// run executes the command line and returns the exit code; a failure is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.console = cli.NewConsole(a.stderr, "qwen-convert")
	return cli.Execute(ctx, a.command(), args, cli.Streams{Out: a.stdout, Err: a.stderr}, a.console)
}

func (a *app) command() *cobra.Command {
	o := &a.options
	var flags cli.Flags
	f := flags.Group("Output")
	f.StringVarP(&o.typ, "type", "t", "F32", "`type` of the files")
	f.StringVar(&o.codecType, "codec-type", "", "another `type` for speech tokenizers, when a folder is converted")
	f.BoolVarP(&o.force, "force", "f", false, "replace files that exist")
	f = flags.Group("Machine")
	cli.ThreadsFlag(f, &o.threads)
	flags.Information(&o.verbose, "each tensor")
	return cli.Command{
		Usage:   "qwen-convert [flags] CHECKPOINT_DIR OUT.gguf, or qwen-convert [flags] IN OUT_DIR",
		About:   about,
		Version: version,
		Env:     []cli.Variable{cli.GGMLDir(), cli.Threads()},
		Flags:   flags,
		Args: func(args []string) error {
			if len(args) != 2 {
				return cli.Usagef("CHECKPOINT_DIR and OUT.gguf expected, got %d", len(args))
			}
			return nil
		},
		Run: func(cmd *cobra.Command) error {
			args := cmd.Flags().Args()
			return a.convert(cmd.Context(), args[0], args[1])
		},
	}.Cobra()
}

func (a *app) convert(ctx context.Context, src, dst string) (err error) {
	o := &a.options
	if o.threads, err = core.Threads(o.threads); err != nil {
		return err
	}
	for flag, typ := range map[string]string{"--type": o.typ, "--codec-type": o.codecType} {
		if typ != "" && !known(typ) {
			return cli.Usagef("%s %s: not one of %s", flag, typ, strings.Join(convert.Recipes(), ", "))
		}
	}
	if isFolder(dst) {
		return a.folder(ctx, src, dst)
	}
	return a.single(ctx, src, dst)
}

func known(typ string) bool {
	for _, name := range convert.Recipes() {
		if strings.EqualFold(name, typ) {
			return true
		}
	}
	return false
}

// isFolder tells whether the output is a folder: one that is there, or what does not look like a file.
func isFolder(dst string) bool {
	info, err := os.Stat(dst)
	if err == nil {
		return info.IsDir()
	}
	return filepath.Ext(dst) == "" || strings.HasSuffix(dst, "/") || strings.HasSuffix(dst, string(os.PathSeparator))
}

// single converts one checkpoint to one file.
func (a *app) single(ctx context.Context, src, dst string) error {
	if err := cli.KeepInputs(dst, src); err != nil {
		return err
	}
	if err := cli.KeepExisting(dst, a.options.force); err != nil {
		return err
	}
	show, clear := a.progress()
	err := convert.ConvertContext(ctx, convert.Options{Src: src, Type: a.options.typ, WriteOptions: a.write(dst, show)})
	clear()
	if err != nil {
		return kind(err)
	}
	if codec := filepath.Join(src, checkpoint.TokenizerDir); checkpoint.Is(codec) {
		a.console.Linef("%s is the talker only; convert %s too, for its codec", dst, codec)
	}
	return nil
}

func (a *app) write(dst string, show func(int64, int64, string)) convert.WriteOptions {
	return convert.WriteOptions{Dst: dst, Threads: a.options.threads, Progress: show}
}

// progress shows a bar on a terminal and, if asked for, the tensors' names elsewhere.
func (a *app) progress() (show func(done, total int64, name string), clear func()) {
	return cli.ByteBar(a.stderr, a.console, a.options.verbose)
}

// kind gives an error its exit code.
func kind(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, convert.ErrRequest):
		return cli.UsageError{Err: err}
	case errors.Is(err, convert.ErrInput), errors.Is(err, convert.ErrBackend):
		return cli.ModelError{Err: err}
	}
	return cli.IOError{Err: err}
}

// tell prints a line of results.
func (a *app) tell(format string, args ...any) error {
	return cli.Tell(a.stdout, format, args...)
}
