package audio

import (
	"encoding/binary"
	"io"
	"math"

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

// padding is the number of zero bytes that bring a chunk to an even size, as RIFF wants.
func padding(bytes int64) int64 { return bytes & 1 }

// newWAVStream writes a header with unknown sizes, which bare samples may follow.
func newWAVStream(w io.Writer, stored sampleType, rate int) (*bare, error) {
	h := make([]byte, 0, headerSize)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, unknownSize)
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, uint16(stored.tag()))
	h = binary.LittleEndian.AppendUint16(h, 1) // channels
	h = binary.LittleEndian.AppendUint32(h, uint32(rate))
	h = binary.LittleEndian.AppendUint32(h, uint32(rate*stored.bytes()))
	h = binary.LittleEndian.AppendUint16(h, uint16(stored.bytes()))
	h = binary.LittleEndian.AppendUint16(h, uint16(8*stored.bytes()))
	h = append(h, "data"...)
	h = binary.LittleEndian.AppendUint32(h, unknownSize)
	if _, err := w.Write(h); err != nil {
		return nil, err
	}
	return &bare{w: w, stored: stored}, nil
}

// wavFile is an encoder that goes back to the header: it has sizes of 0xFFFFFFFF while the file grows, so that the file
// of an interrupted run can still be read, and the exact ones at the end.
type wavFile struct {
	w      *section
	stored sampleType
	enc    *wav.Encoder
	buf    goaudio.IntBuffer
	bytes  int64 // of samples
}

func newWAVFile(w *section, stored sampleType, rate int) (*wavFile, error) {
	f := &wavFile{w: w, stored: stored, enc: wav.NewEncoder(w, rate, 8*stored.bytes(), 1, stored.tag())}
	f.buf.Format = &goaudio.Format{NumChannels: 1, SampleRate: rate}
	if err := f.enc.Write(&f.buf); err != nil { // without samples: the header
		return nil, err
	}
	return f, f.setSizes(unknownSize, unknownSize)
}

func (f *wavFile) write(samples []float32) error {
	f.buf.Data = f.buf.Data[:0]
	for _, x := range samples {
		v := int32(math.Float32bits(x))
		if f.stored != float32s {
			v = quantize(x, 8*f.stored.bytes())
		}
		f.buf.Data = append(f.buf.Data, int(v))
	}
	f.bytes += int64(len(samples) * f.stored.bytes())
	return f.enc.Write(&f.buf)
}

func (f *wavFile) finish() error {
	if err := f.enc.Close(); err != nil {
		return err
	}
	if _, err := f.w.Write(make([]byte, padding(f.bytes))); err != nil {
		return err
	}
	return f.setSizes(headerSize-8+f.bytes+padding(f.bytes), f.bytes)
}

func (f *wavFile) discard() {}

// setSizes writes the sizes of the RIFF and data chunks and goes back to the end.
func (f *wavFile) setSizes(riff, data int64) error {
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
