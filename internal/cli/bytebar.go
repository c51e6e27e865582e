package cli

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// ByteBar returns what shows how much of a file is written and which part of it is under way, and what takes that away
// again. Only a terminal gets a bar; show is nil for others.
func ByteBar(stderr io.Writer) (show func(done, total int64, name string), clear func()) {
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
