package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// A Console writes whole lines to stderr and keeps them apart from a status line, such as a progress bar, that may
// stand there. It is also the handler of the engine's log.
type Console struct {
	mu   sync.Mutex
	w    io.Writer
	name string
	min  slog.Level
	flag fieldNames
	wipe func() // takes the status line away; nil when there is none
}

// NewConsole returns the console of a command; of the log it shows warnings and errors.
func NewConsole(w io.Writer, name string) *Console {
	return &Console{w: w, name: name, min: slog.LevelWarn}
}

// NameFields makes messages of the engine, which name a request's fields as the C library does, name the flags that set
// them: keys are fields, values flags.
func (c *Console) NameFields(flags map[string]string) { c.flag = newFieldNames(flags) }

// Verbose shows what the log tells for information, too.
func (c *Console) Verbose() { c.min = slog.LevelInfo }

// Linef prints one line: "qwen-tts: …".
func (c *Console) Linef(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wipe != nil {
		c.wipe()
	}
	fmt.Fprintf(c.w, "%s: %s\n", c.name, oneLine(fmt.Sprintf(format, args...)))
}

// Print prints text of several lines as it is.
func (c *Console) Print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wipe != nil {
		c.wipe()
	}
	fmt.Fprintln(c.w, strings.TrimRight(text, "\n"))
}

// Warn prints a line for each warning.
func (c *Console) Warn(about string, warnings []string) {
	for _, w := range warnings {
		c.Linef("warning: %s: %s", about, w)
	}
}

// Status says how to take away what stands on the last line; what stood there before is taken away, and nil is for
// nothing.
func (c *Console) Status(wipe func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wipe != nil {
		c.wipe()
	}
	c.wipe = wipe
}

// Update draws the status line, if there is one.
func (c *Console) Update(draw func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wipe != nil {
		draw()
	}
}

// oneLine keeps a message that quotes something of the user's, of a file or of a server from breaking the line.
func oneLine(s string) string {
	return Printable(strings.NewReplacer("\r\n", " / ", "\n", " / ").Replace(strings.TrimSpace(s)))
}

// Printable makes what comes from elsewhere fit for a terminal, which takes control characters for commands.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// IsTerminal tells whether a stream is one that a person looks at.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Logger returns a slog.Logger that prints through the console.
func (c *Console) Logger() *slog.Logger { return slog.New(&logHandler{console: c}) }

// logHandler prints records as "qwen-tts: warning: message key=value …"; information has no word before it.
type logHandler struct {
	console *Console
	group   string // prefix of keys
	attrs   string // of With, formatted
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.console.min }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	switch {
	case r.Level >= slog.LevelError:
		line.WriteString("error: ")
	case r.Level >= slog.LevelWarn:
		line.WriteString("warning: ")
	}
	line.WriteString(h.console.flag.translate(r.Message))
	line.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(h.format(a))
		return true
	})
	h.console.Linef("%s", line.String())
	return nil
}

func (h *logHandler) format(a slog.Attr) string {
	return fmt.Sprintf(" %s%s=%v", h.group, a.Key, a.Value.Resolve())
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		with.attrs += h.format(a)
	}
	return &with
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.group += name + "."
	return &with
}

// Tell prints a line of results to stdout.
func Tell(stdout io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(stdout, format+"\n", args...); err != nil {
		return IOError{Err: err}
	}
	return nil
}
