package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// ByteBar returns what shows how much of a file is written and which part of it is under way, and what takes that away
// again. A terminal gets a bar. Others get the parts' names, a line each, if verbose, else nothing: show is nil.
func ByteBar(stderr io.Writer, console *Console, verbose bool) (show func(done, total int64, name string), clear func()) {
	switch {
	case IsTerminal(stderr):
		return terminalBar(stderr)
	case verbose:
		return func(_, _ int64, name string) {
			if name != "" {
				console.Linef("%s", name)
			}
		}, func() {}
	}
	return nil, func() {}
}

func terminalBar(stderr io.Writer) (show func(done, total int64, name string), clear func()) {
	var bar *progressbar.ProgressBar
	show = func(done, total int64, name string) {
		if bar == nil {
			bar = progressbar.NewOptions64(total,
				progressbar.OptionSetWriter(stderr),
				progressbar.OptionShowBytes(true),
				progressbar.OptionSetWidth(24),
				progressbar.OptionShowDescriptionAtLineEnd(),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionSetTheme(progressbar.ThemeASCII))
		}
		bar.Describe(name)
		_ = bar.Set64(done)
	}
	return show, func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
}
