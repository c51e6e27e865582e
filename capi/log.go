package main

// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"unsafe"
)

// logger forwards to what qt_log_set has set. It has no state of its own.
var logger = slog.New(logHandler{})

// logHandler writes records as "message key=value …", one line at a time.
type logHandler struct {
	attrs string // rendered attributes of WithAttrs, each with a space before it
	group string // prefix of WithGroup: "a.b."
}

func (logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return bool(C.qwen_log_enabled(logLevel(level)))
}

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.group, a)
		return true
	})
	for line := range strings.Lines(printable(b.String())) {
		msg := C.CString(strings.TrimRight(line, "\r\n"))
		C.qwen_log(logLevel(r.Level), msg)
		C.free(unsafe.Pointer(msg))
	}
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		appendAttr(&b, h.group, a)
	}
	h.attrs = b.String()
	return h
}

func (h logHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		h.group += name + "."
	}
	return h
}

// appendAttr renders " prefix.key=value"; a group becomes its members.
func appendAttr(b *strings.Builder, prefix string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range value.Group() {
			appendAttr(b, prefix, member)
		}
		return
	}
	if a.Key == "" {
		return
	}
	b.WriteString(" " + prefix + a.Key + "=" + value.String())
}

func logLevel(level slog.Level) C.int {
	switch {
	case level < slog.LevelInfo:
		return C.QT_LOG_DEBUG
	case level < slog.LevelWarn:
		return C.QT_LOG_INFO
	case level < slog.LevelError:
		return C.QT_LOG_WARN
	default:
		return C.QT_LOG_ERROR
	}
}
