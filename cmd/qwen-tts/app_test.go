package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
)

// run calls the command in this process.
func run(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	code = a.run(ctx, args)
	return code, out.String(), errs.String()
}

func TestHelpNamesEveryFlag(t *testing.T) {
	code, out, errs := run(t.Context(), "", "--help")
	require.Equal(t, 0, code, errs)
	for _, flag := range []string{"model", "codec", "hf", "mode", "predictor", "tokenizer", "output", "format", "lang", "instruct", "speaker", "ref-wav", "ref-spk", "ref-rvq",
		"ref-text", "trim-ref", "voice", "x-vector-only", "save-voice", "design", "base", "anchor-text", "max-new", "long", "piece-chars", "batch", "out-dir", "concurrency", "fail-fast", "speed", "codec-chunk-dur", "stream-by-line", "seed", "greedy", "temp", "top-k", "top-p", "rep-pen",
		"sub-temp", "sub-top-k", "sub-top-p", "no-fa", "clamp-fp16", "dump", "text", "text-layout", "device", "threads",
		"progress", "profile", "list-speakers", "list-devices", "verbose", "version", "help"} {
		assert.Regexp(t, `(?m)^\s+(-\w, )?--`+flag+`[ \n]`, out)
	}
	assert.True(t, strings.HasPrefix(out, "libqwen "), "the banner comes first")
	assert.Contains(t, out, "Exit codes:")
	assert.Empty(t, errs)
}

func TestVersion(t *testing.T) {
	code, out, errs := run(t.Context(), "", "--version")
	require.Equal(t, 0, code, errs)
	assert.Equal(t, cli.Banner(version)+"\n", out)
	assert.Regexp(t, `^libqwen \S+`, out)
}

func TestUsageErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.wav")
	model := []string{"--model", "talker.gguf", "--codec", "codec.gguf"}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":             {nil, "--model is missing, or --hf"},
		"model twice":         {append([]string{"--hf", "a/b"}, model...), "--hf and --model exclude each other"},
		"profile":             {append([]string{"-o", out, "--profile=xml"}, model...), "--profile=xml: neither table nor json"},
		"no repository":       {[]string{"-o", out, "--hf", "a"}, `repository "a": not of the form ORG/NAME`},
		"no codec":            {[]string{"--model", "m"}, "--codec is missing"},
		"no output":           {model, "-o is missing"},
		"unknown flag":        {[]string{"--loud"}, "unknown flag: --loud"},
		"no number":           {append([]string{"-o", out, "--top-k", "many"}, model...), `"many"`},
		"number too large":    {append([]string{"-o", out, "--seed", "99999999999999999999"}, model...), "--seed"},
		"argument":            {append([]string{"-o", out, "hello"}, model...), `unexpected argument "hello"`},
		"form of profile":     {append([]string{"-o", out, "--profile", "json"}, model...), "--profile=json"},
		"format":              {append([]string{"-o", out, "--format", "aac"}, model...), `"aac" is not written: choose one of mp3`},
		"output":              {append([]string{"-o", "x.M4A"}, model...), "-o x.M4A: .m4a files are not written: choose one of .wav, .mp3"},
		"output and format":   {append([]string{"-o", "x.txt"}, model...), "-o x.txt: .txt files are not written: choose one of .wav, .mp3"},
		"negative pieces":     {append([]string{"-o", out, "--long", "--piece-chars", "-1"}, model...), "--piece-chars: -1 is negative"},
		"pieces of nothing":   {append([]string{"-o", out, "--piece-chars", "9"}, model...), "--piece-chars needs --long"},
		"lines as MP3":        {append([]string{"-o", "-", "--stream-by-line", "--format", "pcm"}, model...), "--stream-by-line writes WAV only"},
		"layout":              {append([]string{"-o", out, "--text-layout", "wide"}, model...), `"wide": not auto, whole or streamed`},
		"lines into a file":   {append([]string{"-o", out, "--stream-by-line"}, model...), "--stream-by-line needs -o -"},
		"lines with dump":     {append([]string{"-o", "-", "--stream-by-line", "--dump", "d"}, model...), "--dump"},
		"codes alone":         {append([]string{"-o", out, "--ref-rvq", "x.rvq"}, model...), "--ref-rvq needs --ref-spk and --ref-text"},
		"two references":      {append([]string{"-o", out, "--ref-wav", "x.wav", "--ref-spk", "x.spk"}, model...), "exclude each other"},
		"voice and speaker":   {append([]string{"-o", out, "--voice", "x.qvoice", "--speaker", "vivian"}, model...), "--speaker and --voice exclude each other"},
		"transcript alone":    {append([]string{"-o", out, "--ref-text", "x.txt"}, model...), "--ref-text needs"},
		"two voices":          {append([]string{"-o", out, "--voice", "x.qvoice", "--design", "calm"}, model...), "--voice and --design exclude each other"},
		"nothing to keep":     {append([]string{"--save-voice", "x.qvoice"}, model...), "need a voice"},
		"nothing to leave":    {append([]string{"-o", out, "--x-vector-only"}, model...), "need a voice"},
		"nothing to trim":     {append([]string{"-o", out, "--voice", "x.qvoice", "--trim-ref"}, model...), "--trim-ref needs --ref-wav"},
		"design for nobody":   {append([]string{"-o", out, "--design", "calm"}, model...), "--design needs --base"},
		"base without design": {append([]string{"-o", out, "--base", "b.gguf"}, model...), "need --design"},
		"design and style":    {append([]string{"-o", out, "--design", "calm", "--base", "b", "--instruct", "x"}, model...), "--design excludes"},
		"broken text":         {append([]string{"-o", out, "--text", "a\xffb"}, model...), "invalid UTF-8 at byte 1"},
		"broken text, stdout": {append([]string{"-o", "-", "--text", "a\xffb"}, model...), "invalid UTF-8 at byte 1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, errs := run(t.Context(), "text", tc.args...)
			assert.Equal(t, cli.ExitUsage, code, errs)
			assert.Contains(t, errs, tc.want)
			assert.True(t, strings.HasPrefix(errs, "qwen-tts: "), errs)
			assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
			assert.Empty(t, stdout)
			assert.Empty(t, testenv.Names(t, filepath.Dir(out)), "no file is left")
		})
	}
}

func TestOutputIsCheckedBeforeTheModel(t *testing.T) {
	out := filepath.Join(t.TempDir(), "no", "such", "folder", "out.wav")
	code, _, errs := run(t.Context(), "text", "--model", "none.gguf", "--codec", "none.gguf", "-o", out)
	assert.Equal(t, cli.ExitIO, code, errs)
	assert.Contains(t, errs, "no such file")
}

func TestMissingModel(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-o", filepath.Join(dir, "out.wav")}, {"-o", "-"}, {"-o", "-", "--stream-by-line"}, {"--list-speakers"},
	} {
		code, stdout, errs := run(t.Context(), "text",
			append(args, "--model", filepath.Join(dir, "none.gguf"), "--codec", filepath.Join(dir, "none.gguf"))...)
		assert.Equal(t, cli.ExitModel, code, errs)
		assert.Contains(t, errs, "none.gguf")
		assert.Empty(t, stdout)
		assert.Empty(t, testenv.Names(t, dir))
	}
}

func TestInterruptedWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Interrupted{Signal: os.Interrupt})
	a := &app{stdin: neverEnding{}, stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	assert.Equal(t, 130, a.run(ctx, []string{"--model", "m", "--codec", "c", "-o", "-"}))
	assert.Equal(t, "qwen-tts: stopped\n", a.stderr.(*bytes.Buffer).String())
}

// neverEnding is a stdin at which nobody types.
type neverEnding struct{}

func (neverEnding) Read([]byte) (int, error) { select {} }
