package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress returns what shows the progress of a conversion, and what takes it away again. Only a terminal gets a bar.
func progress(stderr io.Writer) (show func(done, total int64, name string), clear func()) {
	if f, ok := stderr.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
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
