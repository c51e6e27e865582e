package onnx

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// logError is the least level that is logged, ORT_LOGGING_LEVEL_ERROR. ONNX Runtime would write it to standard error.
const logError = 3

// logged are the errors that ONNX Runtime has logged since they were taken last. Most come back as errors, too, but why
// a provider's library could not be loaded is only here.
var logged struct {
	sync.Mutex
	lines []string
}

// newLog makes ONNX Runtime's logging function, once: callbacks are never freed.
func newLog() uintptr {
	return purego.NewCallback(func(_ uintptr, _ uintptr, _, _, _, message unsafe.Pointer) uintptr {
		const most = 8
		logged.Lock()
		defer logged.Unlock()
		if message != nil && len(logged.lines) < most {
			logged.lines = append(logged.lines, oneLine(cString(message)))
		}
		return 0
	})
}

// takeLogged returns what was logged, without what a text already says, and forgets it.
func takeLogged(known string) string {
	logged.Lock()
	defer logged.Unlock()
	var news []string
	for _, line := range logged.lines {
		if !strings.Contains(known, line) && !strings.Contains(line, known) {
			news = append(news, line)
		}
	}
	logged.lines = nil
	return strings.Join(news, "; ")
}
