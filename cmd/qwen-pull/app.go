package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/cli"
)

const about = `Fetches the files of a Qwen3-TTS model into the cache of huggingface_hub, and prints where they are: the
talker's first, then those that go with it. What is there already is not fetched again, and an interrupted
download goes on where it ended. WANT is a size, a mode or a type of weights, or several: 1.7b-customvoice-Q8_0.`

type options struct {
	out                              string
	list, offline, progress, verbose bool
}

// An app is one run of the command. The paths go to stdout, all else to stderr.
type app struct {
	stdout, stderr io.Writer
	console        *cli.Console
}

func (a *app) run(ctx context.Context, args []string) int {
	a.console = cli.NewConsole(a.stderr, "qwen-pull")
	return cli.Execute(ctx, a.command(), args, cli.Streams{Out: a.stdout, Err: a.stderr}, a.console)
}

func (a *app) command() *cobra.Command {
	o := &options{}
	var flags cli.Flags
	f := flags.Group("Files")
	f.StringVarP(&o.out, "out", "o", "", "also copy the files into `folder`, which is made if there is none")
	f.BoolVar(&o.list, "list", false, "print the names of all files of the repository and exit")
	f.BoolVar(&o.offline, "offline", false, "ask no hub: only what is in the cache")
	f = flags.Information(&o.verbose, "what is waited for")
	f.BoolVar(&o.progress, "progress", false, "progress bar on stderr (default: if stderr is a terminal)")
	return cli.Command{
		Usage:   "qwen-pull ORG/NAME[@REVISION][:WANT] [--out FOLDER]",
		About:   about,
		Version: version,
		Args:    oneRepository,
		Flags:   flags,
		Env:     cli.Hub(),
		Run:     func(cmd *cobra.Command) error { return a.execute(cmd, o) },
	}.Cobra()
}

func oneRepository(args []string) error {
	switch len(args) {
	case 0:
		return cli.Usagef("which repository? ORG/NAME is missing")
	case 1:
		return nil
	}
	return cli.Usagef("unexpected argument %q: one repository at a time", args[1])
}

func (a *app) execute(cmd *cobra.Command, o *options) error {
	ref, err := hub.ParseRef(cmd.Flags().Arg(0))
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o.verbose {
		a.console.Verbose()
	}
	p := cli.Puller{Console: a.console, Stderr: a.stderr, Offline: o.offline, Version: version,
		Bar: o.progress || !cmd.Flags().Changed("progress") && cli.IsTerminal(a.stderr)}
	if o.list {
		l, err := p.List(cmd.Context(), ref)
		if err != nil {
			return err
		}
		return a.print(l.Files)
	}
	choice, snapshot, err := p.Pull(cmd.Context(), ref)
	if err != nil {
		return err
	}
	return a.deliver(o.out, choice.Files(), snapshot)
}

// deliver prints where the files are, after copying them if they shall be elsewhere, too.
func (a *app) deliver(out string, names []string, snapshot *hub.Snapshot) error {
	var paths []string
	for _, name := range names {
		path := snapshot.Path(name)
		if out != "" {
			path = filepath.Join(out, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return cli.IOError{Err: err}
			}
			if err := hub.Copy(path, snapshot.Path(name)); err != nil {
				return cli.IOError{Err: err}
			}
		}
		paths = append(paths, path)
	}
	return a.print(paths)
}

func (a *app) print(lines []string) error {
	for _, line := range lines {
		if err := cli.Tell(a.stdout, "%s", line); err != nil {
			return err
		}
	}
	return nil
}
