package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// DecodeWAV decodes a WAV file (RIFF, RF64 or BW64): integers of 8 to 32 bits, floats of 32 or 64, A-law and µ-law,
// in a classic or an extensible format chunk.
//
// Headers need not be right. Other chunks are skipped, padded or not; a data chunk of size 0 or 0xFFFFFFFF, as
// programs write it that stream, and one that reaches beyond the end of the file go to its end; an incomplete last
// frame is dropped.
func DecodeWAV(raw []byte) (*Clip, error) {
	c, err := parseChunks(raw)
	if err != nil {
		return nil, fmt.Errorf("wav: %w", err)
	}
	f, err := parseFormat(c.format)
	if err != nil {
		return nil, fmt.Errorf("wav: %w", err)
	}
	frames := len(c.data) / (f.enc.width * f.channels)
	if err := checkLength(int64(frames), f.rate, f.channels); err != nil {
		return nil, fmt.Errorf("wav: %w", err)
	}
	clip := &Clip{
		Samples: make([]float32, frames*f.channels), Rate: f.rate, Channels: f.channels,
		Container: c.name, Encoding: f.name(), Warnings: append(c.warnings, f.warnings...), full: f.enc.full,
	}
	f.enc.decode(clip.Samples, c.data)
	return clip, nil
}

// chunks are the parts of a WAV file that matter.
type chunks struct {
	name         string // of the container
	format, data []byte
	hasData      bool
	long         uint64 // the data chunk's size in a ds64 chunk
	warnings     []string
}

// parseChunks collects the chunks; of several of a kind the first counts.
func parseChunks(raw []byte) (*chunks, error) {
	if len(raw) < 12 || string(raw[8:12]) != "WAVE" {
		return nil, errors.New("no RIFF/WAVE header")
	}
	c := &chunks{name: "WAV"}
	switch id := string(raw[:4]); id {
	case "RIFF":
	case "RF64", "BW64":
		c.name = "WAV (" + id + ")"
	default:
		return nil, errors.New("no RIFF/WAVE header")
	}
	for rest := raw[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		rest = c.take(id, size, rest[8:])
	}
	if c.format == nil {
		return nil, errors.New("no fmt chunk")
	}
	if !c.hasData {
		return nil, errors.New("no data chunk")
	}
	return c, nil
}

// take keeps a chunk if it matters and returns what follows it.
func (c *chunks) take(id string, size uint32, rest []byte) []byte {
	n := uint64(size)
	if id == "data" && !c.hasData {
		n = c.dataSize(size, rest)
	}
	body := rest[:min(n, uint64(len(rest)))]
	switch {
	case id == "ds64" && len(body) >= 16: // size of the file, then of the data
		c.long = binary.LittleEndian.Uint64(body[8:])
	case id == "fmt " && c.format == nil:
		c.format = body
	case id == "data" && !c.hasData:
		c.data, c.hasData = body, true
	}
	return afterPadding(rest[len(body):], n)
}

// dataSize is the true size of the data chunk, given what its header says and what follows the header.
func (c *chunks) dataSize(size uint32, rest []byte) uint64 {
	n, left := uint64(size), uint64(len(rest))
	switch {
	case size == math.MaxUint32 && c.long > 0 && c.long < math.MaxUint64:
		n = c.long
	case size == math.MaxUint32:
		return left
	case size == 0 && !startsChunk(rest):
		return left
	}
	if n > left {
		c.warnings = append(c.warnings, fmt.Sprintf("the data chunk should have %d bytes, the file ends after %d: it may be cut off", n, left))
	}
	return min(n, left)
}

// startsChunk tells whether b is empty or looks like chunks rather than samples.
func startsChunk(b []byte) bool {
	if len(b) < 8 {
		return len(b) == 0
	}
	for _, c := range b[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return uint64(binary.LittleEndian.Uint32(b[4:])) <= uint64(len(b)-8)
}

// afterPadding skips the byte that follows a chunk of odd size. Some programs leave it out: then the next chunk begins
// at once.
func afterPadding(rest []byte, size uint64) []byte {
	if size&1 == 0 || len(rest) == 0 || (isChunkID(rest) && !isChunkID(rest[1:])) {
		return rest
	}
	return rest[1:]
}

// isChunkID tells whether b begins with the name of a chunk that WAV files often have.
func isChunkID(b []byte) bool {
	for _, id := range []string{"fmt ", "data", "fact", "LIST", "bext", "JUNK", "cue ", "PEAK", "id3 "} {
		if bytes.HasPrefix(b, []byte(id)) {
			return true
		}
	}
	return false
}
