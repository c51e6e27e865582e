package cli

import "github.com/libqwen/libqwen/core/audio"

// OutputFormat returns the format that --format names or, if that is "", the one that the ending of the output's name
// stands for; only with --format may it stand for none. It fails if the format cannot be written on this machine.
func OutputFormat(flag, output string) (format audio.Format, err error) {
	if flag != "" {
		if format, err = audio.ParseFormat(flag); err != nil {
			return 0, Usagef("--format: %w", err)
		}
	} else if format, err = audio.FormatOf(output); err != nil {
		return 0, Usagef("-o %s: %w; --format writes under any name", output, err)
	}
	if err := format.Check(); err != nil {
		return 0, Inputf("%w", err)
	}
	return format, nil
}
