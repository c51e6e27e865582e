// Package cli is what the commands share: flags and help, exit codes, signals, messages on stderr, texts as input.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Streams are the standard streams of a process, or those of a test.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Flags are the flags of a command in groups, in the order of the help.
type Flags []flagGroup

type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// Group starts a section of the help.
func (f *Flags) Group(title string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
	fs.SortFlags = false
	*f = append(*f, flagGroup{title, fs})
	return fs
}

// Set has the flags of all groups.
func (f Flags) Set() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range f {
		set.AddFlagSet(g.flags)
	}
	return set
}

// Information starts the group of flags that every command has, to which more may be added. A command that has nothing
// more to tell ("") takes --verbose all the same, for scripts that give it to all.
func (f *Flags) Information(verbose *bool, tells string) *pflag.FlagSet {
	fs := f.Group("Information")
	fs.BoolVarP(verbose, "verbose", "v", false, "tell on stderr "+tells)
	fs.Lookup("verbose").Hidden = tells == ""
	fs.Bool("version", false, "print the version and exit")
	fs.BoolP("help", "h", false, "print this help and exit")
	return fs
}

const help = `
Exit codes:
  0  done                            4  model files, ggml or the device
  1  the computation failed          5  out of memory
  2  flags, parameters or input      6  reading or writing files
  3  not with this kind of model   130  stopped by Ctrl-C; no file is left behind
%s`

// A Command is what the help and the parser need to know.
type Command struct {
	Usage   string                    // "qwen-tts --model GGUF …"
	About   string                    // what it does, a few lines
	Version string                    // of the linker, see Banner
	Stray   string                    // where what is no flag belongs: "the text comes from stdin"
	Args    func(args []string) error // checks what is no flag; nil: nothing may be
	Exit    string                    // what the help adds to the exit codes, lines
	Env     []Variable                // of the environment
	Flags   Flags
	Run     func(cmd *cobra.Command) error
}

// Cobra returns the command for cobra.
func (c Command) Cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:               c.Usage,
		Version:           "set", // makes cobra answer --version; the template says what
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.Run(cmd) },
		Args: func(_ *cobra.Command, args []string) error {
			if c.Args != nil {
				return c.Args(args)
			}
			if len(args) > 0 {
				return Usagef("unexpected argument %q: %s", args[0], c.Stray)
			}
			return nil
		},
	}
	cmd.SetVersionTemplate(Banner(c.Version) + "\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { c.printHelp(cmd.OutOrStdout()) })
	cmd.Flags().SortFlags = false
	for _, g := range c.Flags {
		cmd.Flags().AddFlagSet(g.flags)
	}
	return cmd
}

// flagError leaves out of what pflag says the function of strconv that failed, and its repetition of the value.
func flagError(err error) error {
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &value) && errors.As(err, &number) {
		return Usagef("--%s %q: %w", value.GetFlag().Name, value.GetValue(), number.Err)
	}
	return UsageError{err}
}

func (c Command) printHelp(w io.Writer) {
	fmt.Fprintf(w, "%s\n%s\n\nUsage: %s\n", Banner(c.Version), c.About, c.Usage)
	for _, g := range c.Flags {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsages())
	}
	fmt.Fprintf(w, help, c.Exit)
	printVariables(w, c.Env)
}

// Execute runs a command line and returns the exit code; a failure is one line on the console.
func Execute(ctx context.Context, cmd *cobra.Command, args []string, s Streams, console *Console) int {
	cmd.SetArgs(append([]string{}, args...)) // for cobra, nil would be the arguments of the process
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	err := cmd.ExecuteContext(ctx)
	code := ExitCode(ctx, err)
	if err != nil {
		console.Linef("%s", console.flag.translate(message(err, code, cmd.Name())))
	}
	return code
}

// message is what the user reads of an error.
func message(err error, code int, command string) string {
	if code > 128 {
		return "stopped"
	}
	if code == ExitUsage && errors.As(err, new(UsageError)) {
		return fmt.Sprintf("%v (see %s --help)", err, command)
	}
	return err.Error()
}
