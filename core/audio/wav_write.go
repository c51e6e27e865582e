package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

const (
	riffSizeAt = 4  // offset of the RIFF chunk's size, which counts what follows it
	dataSizeAt = 40 // offset of the data chunk's size
	headerSize = 44 // RIFF, fmt and data headers

	// unknownSize stands for a size that isn't known yet or doesn't fit 32 bits; readers then read to the end.
	unknownSize = math.MaxUint32
)

// Writer writes a mono WAV file. It is not safe for concurrent use.
//
// Where the destination can seek, the header has the exact sizes after Close, and sizes of 0xFFFFFFFF before, so that
// the file of an interrupted run can still be read. Elsewhere (pipes, standard output) the header is written once and
// keeps 0xFFFFFFFF; so it does if the audio exceeds 4 GiB, in both cases.
type Writer struct {
	format Format
	dst    encoder
	bytes  int64 // of samples
	nans   int
	closed bool
}

// encoder is a destination's way of storing samples.
type encoder interface {
	write(samples []float32) (nans int, err error)
	// finish completes the file, which has that many bytes of samples.
	finish(bytes int64) error
}

// NewWriter writes a header to w, at the current position, for audio of that rate in Hz. Standard output is never
// sought in, since it may be open for appending; neither is a w without a usable Seek.
func NewWriter(w io.Writer, format Format, rate int) (*Writer, error) {
	if !format.valid() {
		return nil, fmt.Errorf("wav: %v: unknown format", format)
	}
	if rate <= 0 || rate > math.MaxInt32/format.Bytes() {
		return nil, fmt.Errorf("wav: rate %d Hz is out of range", rate)
	}
	dst, err := newEncoder(w, format, rate)
	if err != nil {
		return nil, fmt.Errorf("wav: header: %w", err)
	}
	return &Writer{format: format, dst: dst}, nil
}

func newEncoder(w io.Writer, format Format, rate int) (encoder, error) {
	seeker, ok := w.(io.WriteSeeker)
	if !ok || w == io.Writer(os.Stdout) {
		return newStream(w, format, rate)
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return newStream(w, format, rate)
	}
	return newFile(&section{seeker, start}, format, rate)
}

// Write appends samples.
func (w *Writer) Write(samples []float32) error {
	if w.closed {
		return errors.New("wav: write after close")
	}
	nans, err := w.dst.write(samples)
	w.nans += nans
	if err != nil {
		return fmt.Errorf("wav: %w", err)
	}
	w.bytes += int64(len(samples) * w.format.Bytes())
	return nil
}

// NaNs returns how many of the samples were NaN and have been written as 0.
func (w *Writer) NaNs() int { return w.nans }

// Close completes the file; it does not close the destination. Closing again does nothing.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if err := w.dst.finish(w.bytes); err != nil {
		return fmt.Errorf("wav: %w", err)
	}
	return nil
}

// padding is the number of zero bytes that bring a chunk to an even size, as RIFF wants.
func padding(bytes int64) int64 { return bytes & 1 }

// stream is an encoder that never seeks.
type stream struct {
	w      io.Writer
	format Format
	buf    []byte
}

func newStream(w io.Writer, format Format, rate int) (*stream, error) {
	h := make([]byte, 0, headerSize)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, unknownSize)
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, uint16(format.tag()))
	h = binary.LittleEndian.AppendUint16(h, 1) // channels
	h = binary.LittleEndian.AppendUint32(h, uint32(rate))
	h = binary.LittleEndian.AppendUint32(h, uint32(rate*format.Bytes()))
	h = binary.LittleEndian.AppendUint16(h, uint16(format.Bytes()))
	h = binary.LittleEndian.AppendUint16(h, uint16(8*format.Bytes()))
	h = append(h, "data"...)
	h = binary.LittleEndian.AppendUint32(h, unknownSize)
	if _, err := w.Write(h); err != nil {
		return nil, err
	}
	return &stream{w: w, format: format}, nil
}

func (s *stream) write(samples []float32) (nans int, err error) {
	s.buf, nans = s.format.Append(s.buf[:0], samples)
	_, err = s.w.Write(s.buf)
	return nans, err
}

// finish adds nothing: the samples reach to the end of the stream.
func (s *stream) finish(int64) error { return nil }

// file is an encoder that goes back to the header.
type file struct {
	w      *section
	format Format
	enc    *wav.Encoder
	buf    goaudio.IntBuffer
}

func newFile(w *section, format Format, rate int) (*file, error) {
	f := &file{w: w, format: format, enc: wav.NewEncoder(w, rate, 8*format.Bytes(), 1, format.tag())}
	f.buf.Format = &goaudio.Format{NumChannels: 1, SampleRate: rate}
	if err := f.enc.Write(&f.buf); err != nil { // without samples: the header
		return nil, err
	}
	return f, f.setSizes(unknownSize, unknownSize)
}

func (f *file) write(samples []float32) (nans int, err error) {
	f.buf.Data = f.buf.Data[:0]
	for _, x := range samples {
		x, nan := clean(x)
		if nan {
			nans++
		}
		v := int32(math.Float32bits(x))
		if f.format != WAV32 {
			v = quantize(x, 8*f.format.Bytes())
		}
		f.buf.Data = append(f.buf.Data, int(v))
	}
	return nans, f.enc.Write(&f.buf)
}

func (f *file) finish(bytes int64) error {
	if err := f.enc.Close(); err != nil {
		return err
	}
	if _, err := f.w.Write(make([]byte, padding(bytes))); err != nil {
		return err
	}
	return f.setSizes(headerSize-8+bytes+padding(bytes), bytes)
}

// setSizes writes the sizes of the RIFF and data chunks and goes back to the end.
func (f *file) setSizes(riff, data int64) error {
	for _, field := range []struct{ at, size int64 }{{riffSizeAt, riff}, {dataSizeAt, data}} {
		if _, err := f.w.Seek(field.at, io.SeekStart); err != nil {
			return err
		}
		if err := binary.Write(f.w, binary.LittleEndian, uint32(min(field.size, unknownSize))); err != nil {
			return err
		}
	}
	_, err := f.w.Seek(0, io.SeekEnd)
	return err
}

// section is a destination whose offsets count from where the WAV file starts.
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
