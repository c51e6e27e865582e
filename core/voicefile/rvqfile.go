package voicefile

import (
	"errors"
	"fmt"
	"math/bits"
)

// CodeBits is the width of one packed code for codebooks of this many entries: 11 for the 2048 of the real codec.
func CodeBits(entries int) int { return bits.Len(uint(entries - 1)) }

// ParseCodes decodes the content of a .rvq file as [frames][codebooks].
//
// The file is the codes of codebook 0 for all frames, then those of codebook 1, and so on, CodeBits(entries) bits each
// from the least significant bit of a byte upwards; bits left over in the last byte are zero. The number of frames
// follows from the size.
func ParseCodes(data []byte, codebooks, entries int) ([][]int32, error) {
	width, err := codeWidth(codebooks, entries)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("codes: the file is empty")
	}
	perFrame := codebooks * width
	frames := len(data) * 8 / perFrame
	if (frames*perFrame+7)/8 != len(data) {
		return nil, fmt.Errorf("codes: %d bytes are no whole number of frames of %d codes of %d bits", len(data), codebooks, width)
	}
	codes := newCodes(frames, codebooks)
	r := bitReader{data: data}
	for k := range codebooks {
		for t := range frames {
			c := r.next(width)
			if int(c) >= entries {
				return nil, fmt.Errorf("codes: frame %d, codebook %d: code %d is not below %d", t, k, c, entries)
			}
			codes[t][k] = int32(c)
		}
	}
	if r.acc != 0 {
		return nil, errors.New("codes: the unused bits of the last byte are not zero")
	}
	return codes, nil
}

// FormatCodes encodes [frames][codebooks] as the content of a .rvq file.
func FormatCodes(codes [][]int32, codebooks, entries int) ([]byte, error) {
	width, err := codeWidth(codebooks, entries)
	if err != nil {
		return nil, err
	}
	for t, frame := range codes {
		if len(frame) != codebooks {
			return nil, fmt.Errorf("codes: frame %d has %d codes, want %d", t, len(frame), codebooks)
		}
	}
	w := bitWriter{data: make([]byte, 0, (len(codes)*codebooks*width+7)/8)}
	for k := range codebooks {
		for t, frame := range codes {
			if frame[k] < 0 || int(frame[k]) >= entries {
				return nil, fmt.Errorf("codes: frame %d, codebook %d: code %d is not in [0, %d)", t, k, frame[k], entries)
			}
			w.put(uint32(frame[k]), width)
		}
	}
	return w.flush(), nil
}

// codeWidth checks the geometry and returns the bits of one code. A frame must fill a byte or more:
// otherwise padding could pass for a frame and the size would no longer tell how many there are.
func codeWidth(codebooks, entries int) (int, error) {
	if codebooks < 1 || codebooks > 1024 || entries < 2 || entries > 1<<20 || codebooks*CodeBits(entries) < 8 {
		return 0, fmt.Errorf("codes: cannot pack %d codebooks of %d entries", codebooks, entries)
	}
	return CodeBits(entries), nil
}

// newCodes returns [frames][codebooks] in one allocation.
func newCodes(frames, codebooks int) [][]int32 {
	flat := make([]int32, frames*codebooks)
	codes := make([][]int32, frames)
	for t := range codes {
		codes[t] = flat[t*codebooks : (t+1)*codebooks : (t+1)*codebooks]
	}
	return codes
}

// bitReader takes numbers of up to 32 bits out of a byte string, least significant bit first.
type bitReader struct {
	data []byte
	acc  uint64 // bits taken from data and not yet handed out
	n    int    // how many
}

func (r *bitReader) next(width int) uint32 {
	for r.n < width {
		r.acc |= uint64(r.data[0]) << r.n
		r.data = r.data[1:]
		r.n += 8
	}
	v := uint32(r.acc & (1<<width - 1))
	r.acc >>= width
	r.n -= width
	return v
}

// bitWriter is bitReader's inverse.
type bitWriter struct {
	data []byte
	acc  uint64
	n    int
}

func (w *bitWriter) put(v uint32, width int) {
	w.acc |= uint64(v) << w.n
	for w.n += width; w.n >= 8; w.n -= 8 {
		w.data = append(w.data, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) flush() []byte {
	if w.n > 0 {
		w.data = append(w.data, byte(w.acc))
	}
	return w.data
}
