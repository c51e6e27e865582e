package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

const about = `Tells of each FILE (a GGUF, the directory of a checkpoint, or a voice: .spk, .rvq, .qvoice) what it is, its geometry,
speakers, languages and types, the memory that it takes, and everything that would keep it from being loaded.
The exit code is 0 if all of them would load, else 4.`

// An app is one run of the command. What files are goes to stdout, all else to stderr.
type app struct {
	stdout, stderr io.Writer
	json, quick    bool
	codebooks      int
	size           int
}

// errWrong: a file would not load; what is wrong is on stdout already.
var errWrong = errors.New("not all of the files would load")

// run executes the command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	console := cli.NewConsole(a.stderr, "qwen-info")
	return cli.Execute(ctx, a.command(), args, cli.Streams{Out: a.stdout, Err: a.stderr}, console)
}

func (a *app) command() *cobra.Command {
	var verbose bool
	var flags cli.Flags
	f := flags.Group("Output")
	f.BoolVar(&a.json, "json", false, "print an array with an object for each file")
	f.BoolVar(&a.quick, "quick", false, "do not read the weights to look for wrong values")
	f = flags.Group("Codes")
	f.IntVar(&a.codebooks, "codebooks", 16, "`number` of codes in a frame of .rvq files, which do not tell")
	f.IntVar(&a.size, "codebook-size", 2048, "`number` of entries of their codebooks")
	flags.Information(&verbose, "")
	return cli.Command{
		Usage:   "qwen-info [flags] FILE…",
		About:   about,
		Version: version,
		Flags:   flags,
		Args: func(args []string) error {
			if len(args) == 0 {
				return cli.Usagef("FILE is missing")
			}
			return nil
		},
		Run: func(cmd *cobra.Command) error { return a.tell(cmd.Context(), cmd.Flags().Args()) },
	}.Cobra()
}

// tell examines files one after the other.
func (a *app) tell(ctx context.Context, paths []string) error {
	var out bytes.Buffer
	all := make([]any, 0, len(paths))
	wrong := false
	for _, path := range paths {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var about any
		var problems []string
		if isVoice(path) {
			v := a.voice(path)
			about, problems = v, v.Problems
			if !a.json {
				v.print(&out)
			}
		} else {
			e := core.Examine(path, !a.quick)
			about, problems = e, e.Problems
			if !a.json {
				printModel(&out, e)
			}
		}
		wrong = wrong || len(problems) > 0
		all = append(all, about)
	}
	if a.json {
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(all); err != nil {
			return err
		}
	}
	if _, err := a.stdout.Write(out.Bytes()); err != nil {
		return cli.IOError{Err: err}
	}
	if wrong {
		return cli.ModelError{Err: errWrong}
	}
	return nil
}

// printModel prints what a model file is.
func printModel(w io.Writer, e *core.Examination) {
	what := e.Kind
	if e.ModelType != "" {
		what += ", " + e.ModelType
	}
	if e.Format != "" {
		what += " (" + e.Format + ")"
	}
	fmt.Fprintf(w, "%s: %s\n", e.Path, what)
	line(w, "name", e.Name)
	for _, f := range e.Geometry {
		line(w, f.Name, strings.Trim(fmt.Sprint(f.Value), "[]"))
	}
	line(w, "speakers", strings.Join(e.Speakers, ", "))
	line(w, "languages", strings.Join(e.Languages, ", "))
	for _, t := range e.Types {
		line(w, t.Type, fmt.Sprintf("%d tensors, %s", t.Tensors, size(uint64(t.Bytes))))
	}
	if e.Memory != nil {
		printMemory(w, e.Memory)
	}
	for _, n := range e.Notes {
		line(w, "note", n)
	}
	printProblems(w, e.Problems)
}

func printMemory(w io.Writer, m *core.Needs) {
	line(w, "weights on a CPU", fmt.Sprintf("%s in the mapped file, %s copied", size(m.Mapped), size(m.Copied)))
	line(w, "weights on a GPU", size(m.Device))
	if m.Encoders > 0 {
		line(w, "encoders", size(m.Encoders)+", once a recording is used")
	}
	if m.State > 0 {
		line(w, "a stream", fmt.Sprintf("%s of state, about %s of intermediate results", size(m.State), size(m.Graphs)))
	}
	for _, c := range m.Contexts {
		line(w, fmt.Sprintf("%d positions", c.Positions), fmt.Sprintf("%s of keys and values, about %s of intermediate results; %.0f s at most",
			size(c.Cache), size(c.Graphs), c.Seconds))
	}
}

func printProblems(w io.Writer, problems []string) {
	for _, p := range problems {
		line(w, "PROBLEM", p)
	}
	if len(problems) == 0 {
		line(w, "loads", "yes")
	} else {
		line(w, "loads", "no")
	}
}

// line prints a fact unless it is empty; files may hold line breaks and control characters, terminals should not.
func line(w io.Writer, label, text string) {
	if text != "" {
		fmt.Fprintf(w, "  %-27s %s\n", label, cli.Printable(text))
	}
}

func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
