package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/libqwen/libqwen/core"
	"golang.org/x/term"
)

// A console writes whole lines to stderr and keeps them apart from the progress bar that may stand there.
// It is also the handler of the engine's log.
type console struct {
	mu  sync.Mutex
	w   io.Writer
	bar *bar // nil when there is none
	min slog.Level
}

// linef prints one line: "qwen-tts: …".
func (c *console) linef(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bar != nil {
		c.bar.clear()
	}
	fmt.Fprintf(c.w, "qwen-tts: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// showBar puts a progress bar on the last line.
func (c *console) showBar(b *bar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bar = b
}

// progress moves the bar.
func (c *console) progress(p core.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bar != nil {
		c.bar.update(p)
	}
}

// hideBar takes the bar away, if there is one.
func (c *console) hideBar() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bar != nil {
		c.bar.clear()
		c.bar = nil
	}
}

// oneLine keeps a message that quotes something of the user's from breaking the line.
func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " / ", "\n", " / ", "\r", " ").Replace(strings.TrimSpace(s))
}

// isTerminal tells whether a stream is one that a person looks at.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// logger returns a slog.Logger that prints through the console.
func (c *console) logger() *slog.Logger { return slog.New(&logHandler{console: c}) }

// logHandler prints records as "qwen-tts: warning: message key=value …"; information has no word before it.
type logHandler struct {
	console *console
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
	line.WriteString(r.Message)
	line.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(h.format(a))
		return true
	})
	h.console.linef("%s", line.String())
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
