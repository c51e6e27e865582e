package ggml

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LogLevel of a ggml message, in ggml's numbering.
type LogLevel int32

// The levels of ggml's messages.
const (
	LogDebug LogLevel = 1
	LogInfo  LogLevel = 2
	LogWarn  LogLevel = 3
	LogError LogLevel = 4
)

var logSink atomic.Pointer[func(LogLevel, string)]

// SetLog sends ggml's messages, which are process-wide, to sink; nil drops them.
func SetLog(sink func(LogLevel, string)) {
	if sink == nil {
		logSink.Store(nil)
		return
	}
	logSink.Store(&sink)
}

func log(level LogLevel, msg string) {
	if sink := logSink.Load(); sink != nil && msg != "" {
		(*sink)(level, msg)
	}
}

func installLog() {
	cb := purego.NewCallback(func(level int32, text *byte, _ unsafe.Pointer) uintptr {
		log(LogLevel(level), strings.TrimRight(goString(text), "\n"))
		return 0
	})
	fn.ggml_log_set(cb, nil)
}
