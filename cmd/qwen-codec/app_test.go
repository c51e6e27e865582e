package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
)

// run calls the command in this process.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(ctx, args)
	return code, out.String(), errs.String()
}

func TestHelpNamesEveryFlag(t *testing.T) {
	code, out, errs := run(t.Context(), "--help")
	require.Equal(t, cli.ExitOK, code, errs)
	for _, flag := range []string{"model", "input", "output", "format", "no-clobber", "talker", "voice", "ref-text", "trim-ref", "check",
		"json", "device", "threads", "verbose", "version", "help"} {
		assert.Regexp(t, `(?m)^\s+(-\w, )?--`+flag+`[ \n]`, out)
	}
	assert.Empty(t, errs)
}

func TestVersion(t *testing.T) {
	code, out, _ := run(t.Context(), "--version")
	assert.Equal(t, cli.ExitOK, code)
	assert.Equal(t, cli.Banner(version)+"\n", out)
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) []string { return []string{"--model", "m.gguf", "-i", filepath.Join(dir, name)} }
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":              {nil, "--model is missing"},
		"unknown flag":         {[]string{"--loud"}, "unknown flag"},
		"argument":             {[]string{"clip.wav"}, `unexpected argument "clip.wav"`},
		"format":               {append(in("x.rvq"), "--format", "aac"), `"aac" is not written: choose one of mp3`},
		"output, no input":     {[]string{"--model", "m", "-o", "x.rvq"}, "-i is missing"},
		"voice, no input":      {[]string{"--model", "m", "--voice", "x.qvoice"}, "-i is missing"},
		"voice, no talker":     {append(in("x.wav"), "--voice", "x.qvoice"), "--voice needs --talker"},
		"voice of codes":       {append(in("x.rvq"), "--voice", "x.qvoice"), "needs a recording"},
		"trimmed codes":        {append(in("x.rvq"), "--trim-ref"), "needs a recording"},
		"text without use":     {append(in("x.wav"), "--ref-text", "x.txt"), "--ref-text needs --voice or --check"},
		"JSON without use":     {append(in("x.wav"), "--json"), "--json needs --check"},
		"check and work":       {append(in("x.wav"), "--check", "x.wav"), "--check writes nothing"},
		"a speaker as input":   {in("x.spk"), "no way back"},
		"codes named as audio": {append(in("x.wav"), "-o", "y.wav"), "end in .rvq"},
		"audio named as codes": {append(in("x.rvq"), "-o", "y.RVQ"), "what is decoded is audio"},
		"voice as -o":          {append(in("x.wav"), "-o", "y.qvoice"), "--voice"},
		"codes to stdout":      {append(in("x.wav"), "-o", "-"), "end in .rvq"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, errs := run(t.Context(), tc.args...)
			assert.Equal(t, cli.ExitUsage, code, errs)
			assert.Contains(t, errs, tc.want)
			assert.True(t, strings.HasPrefix(errs, "qwen-codec: "), errs)
			assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
			assert.Empty(t, stdout)
			assert.Empty(t, testenv.Names(t, dir))
		})
	}
}

func TestSibling(t *testing.T) {
	for in, want := range map[string]string{
		"clip.wav": "clip.rvq", "a.b/clip.tar.flac": "a.b/clip.tar.rvq", "clip": "clip.rvq", "声/录音.MP3": "声/录音.rvq",
	} {
		assert.Equal(t, want, sibling(in, ".rvq"))
	}
}

func TestVary(t *testing.T) {
	same := slices.Repeat([][]int32{{1, 2}}, 4)
	assert.False(t, vary(same))
	assert.True(t, vary(same[:3]), "too few to tell")
	assert.True(t, vary(append(same, []int32{1, 3})))
}
