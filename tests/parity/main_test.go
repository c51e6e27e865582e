package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
)

func TestPageIsUpToDate(t *testing.T) {
	require.NoError(t, run(testenv.Root(t), true))
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// repository is a small one that fits its table.
func repository(t *testing.T) string {
	root := t.TempDir()
	write(t, root, map[string]string{
		"docs/keep":                               "",
		"tests/abi/symbols.golden":                "qt_open\n",
		"tests/abi/layout.golden":                 "struct qt_x 8\n  a 0\nQT_Y 1\n",
		"tests/parity/parity.tsv":                 "# a comment\nqt_open\tOpen(path)\topen\tcore.Open\tsay --model\nqt_x.a\tOpen.run(loud); Open.a\tOpen::a\tcore.Opts.A; core.Opts.Run\t(never)\nQT_Y\tfind()\tKind::Y\taudio.Y\tsay --text\n",
		"internal/cli/command.go":                 "package cli\n",
		"cmd/say/flags.go":                        "f.StringVar(&o.model, \"model\", \"\", \"x\")\nf.StringVarP(&o.text, \"text\", \"t\", \"\", \"x\")\n",
		"core/open.go":                            "package core\n\nfunc Open() {}\n\ntype Opts struct{ A, b int }\n\nfunc (o *Opts) Run() {}\n",
		"core/audio/y.go":                         "package audio\n\nconst Y = 1\n",
		"core/audio/y_test.go":                    "package audio_test\n\nconst Z = 1\n",
		"bindings/rust/libqwen/src/lib.rs":        "pub fn open() {}\n\npub struct Open {\n    pub a: i32,\n}\n\npub enum Kind {\n    X(String),\n    Y,\n}\n\nfn inner() {}\n",
		"bindings/python/src/libqwen/__init__.py": "from .a import Open, find\n",
		"bindings/python/src/libqwen/a.py":        "class Open:\n    a: int\n\n    def __init__(\n        self,\n        path: str,\n    ) -> None:\n        self.c = 1\n\n    def run(self, loud: bool) -> None:\n        pass\n\n\ndef find() -> None:\n    hidden: int = 1\n",
	})
	return root
}

func TestRun(t *testing.T) {
	root := repository(t)
	require.NoError(t, run(root, false))
	require.NoError(t, run(root, true))
	made, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	assert.Contains(t, string(made), "\n## struct qt_x\n\n| C | Python | Rust | Go | commands |\n|---|---|---|---|---|\n"+
		"| `a` | `Open.run(loud)`, `Open.a` | `Open::a` | `core.Opts.A`, `core.Opts.Run` | (never) |\n")

	write(t, root, map[string]string{page: "old"})
	assert.ErrorContains(t, run(root, true), "out of date")
	write(t, root, map[string]string{"tests/abi/symbols.golden": "qt_open\nqt_new\n"})
	assert.ErrorContains(t, run(root, true), "qt_new: no line")
	write(t, root, map[string]string{"tests/abi/symbols.golden": ""})
	assert.ErrorContains(t, run(root, true), "qt_open: not in qwen.h")
}

func TestWrongTables(t *testing.T) {
	root := repository(t)
	for table, want := range map[string]string{
		"qt_open\tOpen\n":                                "2 cells",
		"qt_open\t\ta\tb\tc\n":                           "cell 2 is empty",
		"a\t(b)\t(b)\t(b)\t(b)\na\t(b)\t(b)\t(b)\t(b)\n": "twice",
	} {
		write(t, root, map[string]string{"tests/parity/parity.tsv": table})
		assert.ErrorContains(t, run(root, true), want)
	}
}

func TestNames(t *testing.T) {
	root := repository(t)
	for _, c := range []struct {
		column           column
		present, missing []string
	}{
		{columns[0], []string{"Open(path)", "Open.run", "Open.run(loud)", "Open.a", "Open.c", "find()", "find"},
			[]string{"Open(loud)", "Open.run(path)", "Open.find", "Open.b", "hidden", "run", "Close", "find(path)", "a b"}},
		{columns[1], []string{"open", "Open", "Open::a", "Kind::X", "Kind::Y"}, []string{"inner", "Open::b", "Kind::Z", "Open::Y", "a"}},
		{columns[2], []string{"core.Open", "core.Opts", "core.Opts.A", "core.Opts.Run", "audio.Y"},
			[]string{"core.Close", "core.Opts.B", "core.A", "audio.Z", "none.X", "core"}},
		{columns[3], []string{"say --model", "say --text"}, []string{"say --mode", "say", "none --text", "say --t"}},
	} {
		exists, err := c.column.open(root)
		require.NoError(t, err)
		for _, name := range c.present {
			assert.True(t, exists(name), "%s: %s", c.column.title, name)
		}
		for _, name := range c.missing {
			assert.False(t, exists(name), "%s: %s", c.column.title, name)
		}
	}
}
