package audio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Writer writes a mono file while its samples arrive. It is not safe for concurrent use.
//
// Whatever is ready is handed to the destination during each Write, in one piece and without waiting: all samples where
// they are stored as they are (WAV, PCM), all whole blocks where they are coded. NaN is written as 0, and what lies
// outside [-1, 1] saturates, in every format; integers are rounded, without dither. Nothing is faded or scaled.
//
// A destination that can seek, as files and a Buffer can, gets what is known only at the end: the sizes in the header
// of a WAV file, the length and checksum of a FLAC file, the length and delay of an MP3 file. Elsewhere (pipes,
// standard output) headers are written once: WAV sizes are then 0xFFFFFFFF, which readers take to mean "to the end",
// and players learn the length of the others from what comes. WAV files of more than 4 GiB keep 0xFFFFFFFF in any case.
type Writer struct {
	dst     encoder
	buf     []float32 // the samples of a call, cleaned
	nans    int
	clipped int
	closed  bool
}

// encoder is a way of storing samples, which lie in [-1, 1].
type encoder interface {
	write(samples []float32) error
	finish() error
	// discard frees what finish would, and writes nothing; not after finish.
	discard()
}

// NewWriter begins a file at the current position of w, for audio of that rate in Hz. Standard output is never sought
// in, since it may be open for appending; neither is a w without a usable Seek. End it by Close, or by Discard if
// something went wrong. Opus takes rates of 8, 12, 16, 24 and 48 kHz.
func NewWriter(w io.Writer, format Format, rate int) (*Writer, error) {
	if !format.valid() {
		return nil, fmt.Errorf("audio: %v: unknown format", format)
	}
	if rate <= 0 || rate > math.MaxInt32/4 {
		return nil, fmt.Errorf("%v: rate %d Hz is out of range", format, rate)
	}
	dst, err := newEncoder(w, format, rate)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", format, err)
	}
	return &Writer{dst: dst}, nil
}

func newEncoder(w io.Writer, format Format, rate int) (encoder, error) {
	info := formats[format]
	seekable := findSection(w)
	switch {
	case info.sndfile != nil:
		return newSndfileEncoder(w, seekable, info.sndfile, rate)
	case format == PCM:
		return &bare{w: w, stored: info.stored}, nil
	case seekable != nil:
		return newWAVFile(seekable, info.stored, rate)
	}
	return newWAVStream(w, info.stored, rate)
}

// findSection returns the destination as one that can seek, nil if it cannot.
func findSection(w io.Writer) *section {
	seeker, ok := w.(io.WriteSeeker)
	if !ok || w == io.Writer(os.Stdout) {
		return nil
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	return &section{seeker, start}
}

// section is a destination whose offsets count from where the file starts.
type section struct {
	io.WriteSeeker
	start int64
}

func (s *section) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		offset += s.start
	}
	at, err := s.WriteSeeker.Seek(offset, whence)
	return at - s.start, err
}

// Write appends samples. An error is final; errors of the destination are wrapped.
func (w *Writer) Write(samples []float32) error {
	if w.closed {
		return errors.New("audio: write after close")
	}
	if len(samples) == 0 {
		return nil
	}
	w.buf = w.buf[:0]
	for _, x := range samples {
		y := clean(x)
		switch {
		case x != x:
			w.nans++
		case y != x:
			w.clipped++
		}
		w.buf = append(w.buf, y)
	}
	if err := w.dst.write(w.buf); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}

// NaNs returns how many of the samples were NaN and have been written as 0.
func (w *Writer) NaNs() int { return w.nans }

// Clipped returns how many of the samples lay outside [-1, 1].
func (w *Writer) Clipped() int { return w.clipped }

// Close writes what is left and completes the file; it does not close the destination. Closing again does nothing.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if err := w.dst.finish(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}

// Discard gives the file up where it is: nothing more is written. After Close it does nothing.
func (w *Writer) Discard() {
	if !w.closed {
		w.closed = true
		w.dst.discard()
	}
}

// bare is an encoder of samples and nothing else, as they come.
type bare struct {
	w      io.Writer
	stored sampleType
	buf    []byte
}

func (b *bare) write(samples []float32) error {
	b.buf = b.stored.append(b.buf[:0], samples)
	_, err := b.w.Write(b.buf)
	return err
}

func (b *bare) finish() error { return nil }

func (b *bare) discard() {}
