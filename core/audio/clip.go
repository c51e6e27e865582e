package audio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The limits of what is read. Decoded audio takes 4 bytes a value, so that no file asks for more than 512 MiB.
const (
	MinRate     = 1000   // Hz
	MaxRate     = 768000 // Hz
	MaxChannels = 64
	MaxSeconds  = 20 * 60
	MaxValues   = 1 << 27 // samples times channels: 20 minutes of 48 kHz stereo, or 5 of 8 channels

	maxFileBytes = 1 << 30
)

// Clip is decoded audio.
type Clip struct {
	Samples  []float32 // channels interleaved; integers of n bits are divided by 2^(n-1)
	Rate     int       // Hz
	Channels int

	Container string   // "WAV", "FLAC", …
	Encoding  string   // "16-bit integers", "Opus", …
	Warnings  []string // what was odd about the file

	full float32 // the largest value that the encoding holds; 0: not known
}

// Frames is the length in samples of one channel.
func (c *Clip) Frames() int { return len(c.Samples) / max(c.Channels, 1) }

// Seconds is the length.
func (c *Clip) Seconds() float64 { return float64(c.Frames()) / float64(max(c.Rate, 1)) }

// Load reads an audio file, see Decode. At most 1 GiB is read.
func Load(path string) (*Clip, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	return Decode(data, path)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes, more than %d are not read", path, info.Size(), maxFileBytes)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1)) // devices and pipes have no size
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFileBytes)
	}
	return data, err
}

// Decode decodes the content of an audio file. WAV files are decoded here; FLAC, MP3, Ogg Vorbis and Opus, AIFF, CAF,
// AU, W64 and WAV files of rare encodings by libsndfile, if that can be loaded (ErrNoLibrary if not). What the data is
// follows from its first bytes; name, which may be "", appears in messages only.
func Decode(data []byte, name string) (*Clip, error) {
	clip, err := decode(data)
	if err != nil {
		if name == "" {
			return nil, fmt.Errorf("audio: %w", err)
		}
		return nil, fmt.Errorf("audio: %s: %w", name, err)
	}
	return clip, nil
}

func decode(data []byte) (*Clip, error) {
	switch kind := sniff(data); kind.by {
	case byUs:
		clip, err := DecodeWAV(data)
		if errors.Is(err, errEncoding) {
			if c, other := decodeSndfile(data, kind.name); other == nil {
				return c, nil
			}
		}
		return clip, err
	case bySndfile:
		return decodeSndfile(data, kind.name)
	default:
		return nil, kind.refusal()
	}
}

// checkShape refuses audio that is not read.
func checkShape(rate, channels int) error {
	if channels < 1 || channels > MaxChannels {
		return fmt.Errorf("%d channels, must be 1 to %d", channels, MaxChannels)
	}
	if rate < MinRate || rate > MaxRate {
		return fmt.Errorf("a rate of %d Hz, must be %d to %d", rate, MinRate, MaxRate)
	}
	return nil
}

// checkLength refuses audio that is too long to be read, given the samples of one channel.
func checkLength(frames int64, rate, channels int) error {
	if frames > MaxSeconds*int64(rate) {
		return fmt.Errorf("%.0f seconds of audio, more than %d are not read", float64(frames)/float64(rate), MaxSeconds)
	}
	if frames > MaxValues/int64(channels) {
		return fmt.Errorf("%d channels of %d samples, more than %d values are not read", channels, frames, MaxValues)
	}
	return nil
}
