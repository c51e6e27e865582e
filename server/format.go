package server

import (
	"strings"

	"github.com/libqwen/libqwen/core/audio"
)

// formats are those that OpenAI's API names and that can be written, the default first.
var formats = []audio.Format{audio.MP3, audio.Opus, audio.FLAC, audio.WAV16, audio.PCM, audio.Vorbis}

// formatName is what clients call a format.
func formatName(f audio.Format) string {
	if f.IsWAV() {
		return "wav"
	}
	return f.String()
}

// findFormat returns the format of a name; "" is the default. The message for another name lists those that work on
// this machine.
func findFormat(name string) (audio.Format, error) {
	if name == "" {
		name = formatName(formats[0])
	}
	for _, f := range formats {
		if name != formatName(f) {
			continue
		}
		if err := f.Check(); err != nil {
			return 0, refuse("response_format", "unsupported_response_format", "response_format: %v; these work: %s", err, workingFormats())
		}
		return f, nil
	}
	return 0, refuse("response_format", "unsupported_response_format", "response_format: %q is not supported; these work: %s", name, workingFormats())
}

func workingFormats() string {
	var names []string
	for _, f := range formats {
		if f.Check() == nil {
			names = append(names, formatName(f))
		}
	}
	return strings.Join(names, ", ")
}

// streams tells whether a format is sent as it is made unless the client says otherwise: the header of a WAV file tells
// the size, and not all readers forgive one that is not known.
func streams(f audio.Format) bool { return !f.IsWAV() }
