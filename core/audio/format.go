// Package audio reads, judges, resamples, stretches and writes recordings.
//
// Samples are float32 in [-1, 1], mono unless said otherwise. Load reads a file, (*Clip).Mono24k makes of it what the
// encoders want, (*Clip).Report says what it is worth; Writer writes a file of any Format while the samples arrive,
// Speed makes speech faster or slower.
package audio

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a kind of file that a Writer writes.
type Format int

const (
	WAV16  Format = iota // WAV, signed 16-bit integers
	WAV24                // WAV, signed 24-bit integers, packed
	WAV32                // WAV, IEEE 754 single precision
	PCM                  // signed 16-bit little-endian integers and nothing else
	FLAC                 // FLAC, 16 bits
	MP3                  // MPEG layer III
	Opus                 // Opus in Ogg
	Vorbis               // Vorbis in Ogg
)

// formats are the facts of each Format.
var formats = [...]struct {
	name, contentType string
	names             []string   // others that ParseFormat takes
	endings           []string   // of files' names; the first is Ending
	stored            sampleType // where samples are stored as they are
	sndfile           *sndfileFormat
}{
	WAV16:  {name: "wav16", endings: []string{".wav", ".wave"}, contentType: "audio/wav", names: []string{"wav"}, stored: int16s},
	WAV24:  {name: "wav24", endings: []string{".wav"}, contentType: "audio/wav", stored: int24s},
	WAV32:  {name: "wav32", endings: []string{".wav"}, contentType: "audio/wav", stored: float32s},
	PCM:    {name: "pcm", endings: []string{".pcm", ".raw"}, contentType: "audio/pcm", stored: int16s},
	FLAC:   {name: "flac", endings: []string{".flac"}, contentType: "audio/flac", sndfile: &flacFormat},
	MP3:    {name: "mp3", endings: []string{".mp3"}, contentType: "audio/mpeg", sndfile: &mp3Format},
	Opus:   {name: "opus", endings: []string{".opus"}, contentType: "audio/opus", sndfile: &opusFormat},
	Vorbis: {name: "vorbis", endings: []string{".ogg", ".oga"}, contentType: "audio/ogg", names: []string{"ogg"}, sndfile: &vorbisFormat},
}

// formatList is what a wrong name is answered with.
const formatList = "mp3, opus, flac, vorbis (ogg), wav (wav16), wav24, wav32, pcm"

// ParseFormat returns the format of a name: mp3, opus, flac, vorbis or ogg, wav or wav16, wav24, wav32, pcm; case does
// not matter. The error for another name lists those.
func ParseFormat(name string) (Format, error) {
	lower := strings.ToLower(name)
	for f, info := range formats {
		if lower == info.name || slices.Contains(info.names, lower) {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("audio format %q is not written: choose one of %s", name, formatList)
}

// endingList is what a wrong ending is answered with.
const endingList = ".wav, .mp3, .opus, .flac, .ogg, .pcm"

// FormatOf returns the format that the ending of a file's name stands for: WAV16 for .wav and .wave, Vorbis for .ogg and
// .oga, PCM for .pcm and .raw … A name without an ending is WAV16; the error for another ending lists those there are.
func FormatOf(path string) (Format, error) {
	ending := strings.ToLower(filepath.Ext(path))
	if ending == "" || ending == "." {
		return WAV16, nil
	}
	for f, info := range formats {
		if slices.Contains(info.endings, ending) {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("%s files are not written: choose one of %s", ending, endingList)
}

func (f Format) valid() bool { return f >= 0 && int(f) < len(formats) }

func (f Format) String() string {
	if !f.valid() {
		return fmt.Sprintf("Format(%d)", int(f))
	}
	return formats[f].name
}

// ContentType is the MIME type of such files, as clients of speech services expect it.
func (f Format) ContentType() string { return formats[f].contentType }

// Ending is what names of such files end in, ".mp3" for example.
func (f Format) Ending() string { return formats[f].endings[0] }

// IsWAV tells whether it is one of the WAV formats.
func (f Format) IsWAV() bool { return f == WAV16 || f == WAV24 || f == WAV32 }

// Check tells whether files of this format can be written on this machine: WAV and PCM always, the others by a
// libsndfile that knows the format. The error says what to install.
func (f Format) Check() error {
	w, err := NewWriter(discard{}, f, 24000)
	if err != nil {
		return err
	}
	w.Discard()
	return nil
}

// discard drops what is written to it; unlike io.Discard it has no other methods.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
