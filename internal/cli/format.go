package cli

import (
	"path/filepath"
	"strings"

	"github.com/libqwen/libqwen/core/audio"
)

// OutputFormat returns the format that --format names, or if that is "" the one that the ending of the output's name
// stands for. It fails on a contradiction of the two, and if the format cannot be written on this machine.
func OutputFormat(flag, output string) (audio.Format, error) {
	asked, err := audio.ParseFormat(flag)
	if flag != "" && err != nil {
		return 0, Usagef("--format: %w", err)
	}
	format, err := audio.FormatOf(output)
	if err != nil {
		return 0, Usagef("-o %s: %w", output, err)
	}
	if flag != "" {
		if !agree(asked, format, output) {
			return 0, Usagef("-o %s: the name says %v, --format says %v", output, format, asked)
		}
		format = asked
	}
	if err := format.Check(); err != nil {
		return 0, Inputf("%w", err)
	}
	return format, nil
}

// agree tells whether files of a format may have that name, whose ending stands for named. An ending that says nothing
// is taken for WAV.
func agree(asked, named audio.Format, output string) bool {
	switch {
	case asked == named, asked.IsWAV() && named.IsWAV():
		return true
	case named == audio.Vorbis:
		return asked == audio.Opus // both live in Ogg
	}
	return named.IsWAV() && !hasWAVEnding(output)
}

func hasWAVEnding(path string) bool {
	return strings.EqualFold(filepath.Ext(path), audio.WAV16.Ending())
}
