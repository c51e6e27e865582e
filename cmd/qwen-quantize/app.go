package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/cli"
)

const about = `Makes a smaller GGUF file of IN.gguf, a talker or a speech tokenizer, of the given type. The best source is a file
of F32, or of BF16 for a talker. What codes and voices are looked up with stays F32, convolutions become F16,
embeddings and heads have six bits at least; --dry-run prints what becomes of each tensor, and why.

Types, from large to small:
  BF16, F16       half of F32
  Q8_0            a quarter; next to no loss, and the fastest on CPUs
  Q6_K            a fifth
  Q5_K_M, Q5_K_S  Q4_K_M, Q4_K_S  Q4_0  Q3_K_M  Q2_K  ever smaller, and further from the original; M over S`

// options are the flags as given.
type options struct {
	tensors                                                []string
	predictor, tokenizer, mode                             string
	force, requantize, dryRun, report, verbose             bool
	reportText, reportSpeaker, reportInstruct, reportAudio string
	threads                                                int
}

// An app is one run of the command. Results go to stdout, all else to stderr.
type app struct {
	stdout, stderr io.Writer
	console        *cli.Console
	options        options
}

// run executes the command line and returns the exit code; a failure is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.console = cli.NewConsole(a.stderr, "qwen-quantize")
	return cli.Execute(ctx, a.command(), args, cli.Streams{Out: a.stdout, Err: a.stderr}, a.console)
}

func (a *app) command() *cobra.Command {
	o := &a.options
	var flags cli.Flags
	f := flags.Group("Types")
	f.StringArrayVar(&o.tensors, "tensor", nil, "give the tensors whose names fit another type by `PATTERN=TYPE`, such as 'talker.blk.*.ffn_down.weight=Q6_K'; may be repeated, the first that fits counts")
	f.BoolVar(&o.requantize, "requantize", false, "also make other blocks of what is in blocks already; the loss adds up")
	f = flags.Group("Model of several files; OUT.gguf is one")
	f.StringVar(&o.predictor, "predictor", "", "code predictor `GGUF`, where it is not in IN.gguf")
	f.StringVar(&o.tokenizer, "tokenizer", "", "text tokenizer `GGUF`, where it is not in IN.gguf")
	f.StringVar(&o.mode, "mode", "", "`mode`, where IN.gguf does not tell it: base, customvoice or voicedesign")
	f = flags.Group("Output")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "print what would become of each tensor, and write nothing")
	f.BoolVarP(&o.force, "force", "f", false, "replace OUT.gguf if it exists")
	f = flags.Group("Report")
	f.BoolVar(&o.report, "report", false, "then run both files on the same input and print how far OUT.gguf is from IN.gguf; without TYPE, do only that")
	f.StringVar(&o.reportText, "report-text", "The quick brown fox jumps over the lazy dog.", "`text` to compare talkers with")
	f.StringVar(&o.reportSpeaker, "report-speaker", "", "`name` of a speaker for it; none has to be named")
	f.StringVar(&o.reportInstruct, "report-instruct", "", "`text` of an instruction for it")
	f.StringVar(&o.reportAudio, "report-audio", "", "`file` of a recording to compare speech tokenizers with; a made-up voice without")
	f = flags.Group("Machine")
	cli.ThreadsFlag(f, &o.threads)
	flags.Information(&o.verbose, "each tensor")
	return cli.Command{
		Usage:   "qwen-quantize [flags] IN.gguf OUT.gguf TYPE",
		About:   about,
		Version: version,
		Env:     []cli.Variable{cli.GGMLDir(), cli.Threads(), cli.Sndfile()},
		Flags:   flags,
		Args: func(args []string) error {
			if len(args) == 3 || len(args) == 2 && o.report {
				return nil
			}
			return cli.Usagef("IN.gguf, OUT.gguf and TYPE expected, got %d", len(args))
		},
		Run: func(cmd *cobra.Command) error {
			args := cmd.Flags().Args()
			if len(args) == 3 {
				if err := a.quantize(cmd.Context(), args[0], args[1], args[2]); err != nil || !o.report || o.dryRun {
					return err
				}
			}
			return a.report(cmd.Context(), args[0], args[1])
		},
	}.Cobra()
}

func (a *app) quantize(ctx context.Context, src, dst, typ string) error {
	threads, err := core.Threads(a.options.threads)
	if err != nil {
		return err
	}
	want := convert.QuantizeOptions{Type: typ, Requantize: a.options.requantize}
	for _, s := range a.options.tensors {
		over, err := convert.ParseOverride(s)
		if err != nil {
			return cli.Usagef("--tensor %w", err)
		}
		want.Overrides = append(want.Overrides, over)
	}
	if err := a.checkOutput(src, dst); err != nil {
		return err
	}
	f, notes, err := a.open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	a.console.Warn(src, notes)
	plan, err := convert.NewPlan(f, want)
	switch {
	case errors.Is(err, convert.ErrRequest):
		return cli.Usagef("%s: %w", src, err)
	case err != nil:
		return cli.ModelError{Err: fmt.Errorf("%s: %w", src, err)}
	case a.options.dryRun:
		return a.print(plan)
	}
	return a.write(ctx, plan, src, dst, threads)
}

// checkOutput refuses to replace what should not be.
func (a *app) checkOutput(src, dst string) error {
	if a.options.dryRun {
		return nil
	}
	if err := cli.KeepInputs(dst, src, a.options.predictor, a.options.tokenizer); err != nil {
		return err
	}
	return cli.KeepExisting(dst, a.options.force)
}

// open opens a speech tokenizer, or a talker with the files that belong to it as one.
func (a *app) open(src string) (f *gguf.File, notes []string, err error) {
	if f, err = gguf.Open(src); err != nil {
		return nil, nil, inFile(err)
	}
	if convert.IsTalker(f) {
		f.Close()
		return core.OpenTalker(a.source(src))
	}
	if o := a.options; o.predictor+o.tokenizer+o.mode != "" {
		f.Close()
		return nil, nil, cli.Usagef("--predictor, --tokenizer and --mode go with a talker, %s is none", src)
	}
	return f, nil, nil
}

// inFile tells a file that cannot be read from one whose content is wrong.
func inFile(err error) error {
	if errors.Is(err, gguf.ErrFormat) {
		return cli.ModelError{Err: err}
	}
	return cli.FileError(err)
}

func (a *app) write(ctx context.Context, plan *convert.Plan, src, dst string, threads int) error {
	begin := time.Now()
	show, clear := cli.ByteBar(a.stderr, a.console, a.options.verbose)
	err := plan.Write(ctx, convert.WriteOptions{Dst: dst, Threads: threads, Progress: show})
	clear()
	switch {
	case errors.Is(err, convert.ErrInput):
		return cli.ModelError{Err: fmt.Errorf("%s: %w", src, err)}
	case errors.Is(err, convert.ErrBackend):
		return cli.ModelError{Err: err}
	case err != nil:
		return cli.IOError{Err: err}
	}
	before, after := plan.Bytes()
	return a.tell("%s: %s, %s of %s in %.1f s", dst, plan.Type(), megabytes(after), megabytes(before), time.Since(begin).Seconds())
}

// print lists the plan, a line a tensor.
func (a *app) print(plan *convert.Plan) error {
	wide := len("tensor")
	for _, s := range plan.Steps {
		wide = max(wide, len(s.Name))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-*s %-5s %-5s %12s %12s  %s\n", wide, "tensor", "from", "to", "bytes", "becoming", "reason")
	for _, s := range plan.Steps {
		fmt.Fprintf(&out, "%-*s %-5v %-5v %12d %12d  %s\n", wide, s.Name, s.From, s.To, s.Before, s.After, s.Reason)
	}
	before, after := plan.Bytes()
	fmt.Fprintf(&out, "%-*s %-5s %-5s %12d %12d  %s\n", wide, fmt.Sprintf("%d tensors", len(plan.Steps)), "", "", before, after, plan.Type())
	return a.tell("%s", strings.TrimSuffix(out.String(), "\n"))
}

// tell prints results.
func (a *app) tell(format string, args ...any) error {
	return cli.Tell(a.stdout, format, args...)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
