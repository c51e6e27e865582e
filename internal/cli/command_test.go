package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/libqwen/libqwen/core"
)

// execute runs a command with a flag -n whose work is fn.
func execute(ctx context.Context, fn func(n int) error, args ...string) (code int, stdout, stderr string) {
	var (
		flags    Flags
		n        int
		verbose  bool
		out, err bytes.Buffer
	)
	flags.Group("Required").IntVarP(&n, "number", "n", 0, "a `number`")
	flags.Information(&verbose, "nothing").BoolP("extra", "x", false, "more")
	cmd := Command{Usage: "count -n N", About: "Counts.", Version: "abc (date)", Stray: "use -n", Flags: flags, Env: []Variable{Threads()},
		Run: func(*cobra.Command) error { return fn(n) }}
	code = Execute(ctx, cmd.Cobra(), args, Streams{Out: &out, Err: &err}, NewConsole(&err, "count"))
	return code, out.String(), err.String()
}

func TestExecute(t *testing.T) {
	ctx := context.Background()
	got := 0
	code, stdout, stderr := execute(ctx, func(n int) error { got = n; return nil }, "-n", "7")
	assert.Zero(t, code)
	assert.Equal(t, 7, got)
	assert.Empty(t, stdout+stderr)

	for _, tc := range []struct {
		args []string
		err  error
		code int
		want string
	}{
		{[]string{"-n", "x"}, nil, ExitUsage, "count: --number \"x\": invalid syntax (see count --help)\n"},
		{[]string{"--loud"}, nil, ExitUsage, "count: unknown flag: --loud (see count --help)\n"},
		{[]string{"7"}, nil, ExitUsage, "count: unexpected argument \"7\": use -n (see count --help)\n"},
		{nil, Usagef("-n is missing"), ExitUsage, "count: -n is missing (see count --help)\n"},
		{nil, Inputf("a.txt: not\ntext"), ExitUsage, "count: a.txt: not / text\n"},
		{nil, core.ErrMemory, ExitMemory, "count: out of memory\n"},
	} {
		code, stdout, stderr := execute(ctx, func(int) error { return tc.err }, tc.args...)
		assert.Equal(t, tc.code, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tc.want)
	}

	stopped, cancel := context.WithCancelCause(ctx)
	cancel(Interrupted{os.Interrupt})
	code, _, stderr = execute(stopped, func(int) error { return errors.New("whatever") })
	assert.Equal(t, 130, code)
	assert.Equal(t, "count: stopped\n", stderr)
}

func TestHelpAndVersion(t *testing.T) {
	fail := func(int) error { return errors.New("must not run") }
	code, stdout, stderr := execute(context.Background(), fail, "--help")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, want := range []string{"libqwen abc (date)\nCounts.\n\nUsage: count -n N\n\nRequired:\n", "-n, --number number", "--verbose", "-x, --extra", "Exit codes:", "QWEN_THREADS"} {
		assert.Contains(t, stdout, want)
	}
	code, stdout, _ = execute(context.Background(), fail, "--version")
	assert.Zero(t, code)
	assert.Equal(t, "libqwen abc (date)\n", stdout)
}

func TestConsoleWritesOneLinePerMessage(t *testing.T) {
	var out bytes.Buffer
	c := NewConsole(&out, "qwen-tts")
	log := c.Logger()
	log.Info("not shown")
	log.With("file", "a.gguf").WithGroup("load").Warn("merges restored", "count", 96)
	log.Error("broken\ntwice")
	c.Linef("the name %q\r\nends", "x")
	c.Linef("a server says \x1b]0;title\x07\u009b31m \xff")
	c.Warn("a.wav", []string{"quiet", "long"})
	c.Verbose()
	log.Info("shown")
	log.Debug("not shown")
	assert.Equal(t, "qwen-tts: warning: merges restored file=a.gguf load.count=96\n"+
		"qwen-tts: error: broken / twice\n"+
		"qwen-tts: the name \"x\" / ends\n"+
		"qwen-tts: a server says  ]0;title  31m ?\n"+
		"qwen-tts: warning: a.wav: quiet\n"+
		"qwen-tts: warning: a.wav: long\n"+
		"qwen-tts: shown\n", out.String())
	assert.True(t, log.Enabled(context.Background(), slog.LevelInfo))
}

func TestConsoleTakesTheStatusLineAway(t *testing.T) {
	var out bytes.Buffer
	c := NewConsole(&out, "x")
	draw := func() { out.WriteString("bar") }
	c.Update(draw)
	assert.Empty(t, out.String(), "there is none yet")
	c.Status(func() { out.WriteString("<") })
	c.Update(draw)
	c.Linef("hello")
	c.Update(draw)
	c.Status(nil)
	c.Update(draw)
	c.Linef("end")
	assert.Equal(t, "bar<x: hello\nbar<x: end\n", out.String())
}

// Each help tells the environment of its command only, in columns.
func TestHelpTellsTheEnvironment(t *testing.T) {
	help := func(env ...Variable) string {
		var flags Flags
		var out bytes.Buffer
		flags.Information(new(bool), "")
		Command{Usage: "count", About: "Counts.", Env: env, Flags: flags}.printHelp(&out)
		return out.String()
	}
	assert.NotContains(t, help(), "Environment")
	assert.NotContains(t, help(), "--verbose", "which has nothing to tell")
	assert.Contains(t, help(Variable{"LONG_NAME", "one"}, Variable{"X", "two"}), "\nEnvironment:\n  LONG_NAME  one\n  X          two\n")
}
