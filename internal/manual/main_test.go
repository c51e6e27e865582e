package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const help = `libqwen abc (2026-11-30)
Speaks: loudly. And well.
.dots and 'quotes' \ stay
  verbatim  --x

Usage: say --text TEXT

Required:
  -t, --text text   what to "say" (default "x")

Machine:
      --threads n   use n threads

Exit codes:
  0  done                 4  the device
  1  failed             130  stopped by Ctrl-C

Environment:
  QWEN_THREADS  CPU threads
`

func TestRoff(t *testing.T) {
	p, err := parseHelp("say", help)
	require.NoError(t, err)
	assert.Equal(t, `.TH "SAY" 1 "2026\-11\-30" "libqwen abc (2026\-11\-30)" libqwen
.SH NAME
say \- Speaks
.SH SYNOPSIS
.B say
\-\-text TEXT
.br
.SH DESCRIPTION
Speaks: loudly. And well.
\&.dots and 'quotes' \e stay
.nf
  verbatim  \-\-x
.fi
.SH OPTIONS
.SS "Required"
.TP
.B \-t, \-\-text text
what to "say" (default "x")
.SS "Machine"
.TP
.B \-\-threads n
use n threads
.SH "EXIT STATUS"
.TP
.B 0
done
.TP
.B 1
failed
.TP
.B 4
the device
.TP
.B 130
stopped by Ctrl\-C
.SH "ENVIRONMENT"
.TP
.B QWEN_THREADS
CPU threads
`, p.roff("2026-11-30"))
}

func TestRoffOfPlainCobraHelp(t *testing.T) {
	p, err := parseHelp("make", "Make it.\n\nUsage:\n  make A B [flags]\n\nExamples:\n  make x y\n\nFlags:\n  -f, --force   do\n")
	require.NoError(t, err)
	assert.Equal(t, ".TH \"MAKE\" 1 \"\" \"\" libqwen\n.SH NAME\nmake \\- Make it\n.SH SYNOPSIS\n.B make\nA B [flags]\n.br\n"+
		".SH DESCRIPTION\nMake it.\n.SH \"EXAMPLES\"\n.nf\n  make x y\n.fi\n"+
		".SH OPTIONS\n.SS \"Flags\"\n.TP\n.B \\-f, \\-\\-force\ndo\n", p.roff(""))
}

func TestSummary(t *testing.T) {
	for about, want := range map[string]string{
		"Speaks.":                         "Speaks",
		"Speaks. Well.":                   "Speaks",
		"Makes files: of wood. Or stone.": "Makes files",
		"Tells of x (or y: z) what it is": "Tells of x (or y: z) what it is",
	} {
		assert.Equal(t, want, (&page{about: []string{about}}).summary())
	}
}

func TestParseHelpRefuses(t *testing.T) {
	for _, help := range []string{"", "libqwen abc\n", "Makes it.\n", "Usage: x\n"} {
		_, err := parseHelp("x", help)
		assert.Error(t, err, "%q", help)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	command := filepath.Join(dir, "say")
	require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\ncat <<'END'\n"+help+"END\n"), 0o755))
	share := filepath.Join(dir, "share")
	require.NoError(t, write(share, command))
	for _, file := range []string{"man/man1/say.1", "bash-completion/completions/say", "zsh/site-functions/_say", "fish/vendor_completions.d/say.fish"} {
		data, err := os.ReadFile(filepath.Join(share, file))
		require.NoError(t, err)
		assert.Contains(t, string(data), "say")
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		out, err := exec.Command(bash, "-n", filepath.Join(share, "bash-completion/completions/say")).CombinedOutput()
		assert.NoError(t, err, string(out))
	}
	require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\nexit 3\n"), 0o755))
	assert.ErrorContains(t, write(share, command), "--help: exit status 3")
}
