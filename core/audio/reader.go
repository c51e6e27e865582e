package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// Clip is decoded audio.
type Clip struct {
	Samples  []float32 // channels interleaved; integers are divided by 2^15 or 2^23
	Rate     int       // Hz
	Channels int
}

// ReadWAV reads the WAV file at path, see DecodeWAV.
func ReadWAV(path string) (*Clip, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("wav: %w", err)
	}
	c, err := DecodeWAV(raw)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return c, nil
}

// DecodeWAV decodes a WAV file of 16- or 24-bit integers or 32-bit floats. The samples of a data chunk whose size is
// beyond the end, as streamed files have it, reach to the end; an incomplete last frame is dropped.
func DecodeWAV(raw []byte) (*Clip, error) {
	if len(raw) < 12 || string(raw[:4]) != "RIFF" || string(raw[8:12]) != "WAVE" {
		return nil, errors.New("wav: no RIFF/WAVE header")
	}
	var format *waveFormat
	for rest := raw[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		body := rest[:min(size, int64(len(rest)))]
		switch id {
		case "fmt ":
			f, err := parseFormat(body)
			if err != nil {
				return nil, err
			}
			format = f
		case "data":
			if format == nil {
				return nil, errors.New("wav: data chunk before the fmt chunk")
			}
			return format.decode(body), nil
		}
		rest = rest[min(size+padding(size), int64(len(rest))):]
	}
	return nil, errors.New("wav: no data chunk")
}

// waveFormat is what a fmt chunk says.
type waveFormat struct {
	rate, channels int
	format         Format
}

func parseFormat(b []byte) (*waveFormat, error) {
	if len(b) < 16 {
		return nil, fmt.Errorf("wav: fmt chunk of %d bytes, want 16", len(b))
	}
	tag, channels := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
	rate, bits := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint16(b[14:])
	if channels == 0 || rate == 0 || rate > math.MaxInt32 {
		return nil, fmt.Errorf("wav: %d channels at %d Hz", channels, rate)
	}
	for f := range Format(len(formatNames)) {
		if int(tag) == f.tag() && int(bits) == 8*f.Bytes() {
			return &waveFormat{int(rate), channels, f}, nil
		}
	}
	return nil, fmt.Errorf("wav: format tag %d with %d bits is not read", tag, bits)
}

func (f *waveFormat) decode(b []byte) *Clip {
	width := f.format.Bytes()
	n := len(b) / (width * f.channels) * f.channels
	c := &Clip{Samples: make([]float32, n), Rate: f.rate, Channels: f.channels}
	for i := range c.Samples {
		s := b[i*width:]
		switch f.format {
		case WAV16:
			c.Samples[i] = float32(int16(binary.LittleEndian.Uint16(s))) / (1 << 15)
		case WAV24:
			v := int32(uint32(s[0])<<8|uint32(s[1])<<16|uint32(s[2])<<24) >> 8
			c.Samples[i] = float32(v) / (1 << 23)
		case WAV32:
			c.Samples[i] = math.Float32frombits(binary.LittleEndian.Uint32(s))
		}
	}
	return c
}
