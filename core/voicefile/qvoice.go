package voicefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unicode"
	"unicode/utf8"
)

// Voice is all that is known of a reference voice, the content of a .qvoice file.
//
// The file, little-endian:
//
//	magic     8 bytes   "\x89QVOICE\n"
//	version   u32       1; a reader refuses a greater one
//	size      u32       bytes of the body, which is all that follows the checksum
//	checksum  u32       CRC-32C (Castagnoli) of the body
//	body:
//	  name           text     what the model calls itself, at most 256 bytes; may be empty
//	  size           text     "0.6b", "1.7b", at most 256 bytes; may be empty
//	  tool           text     what made the file, at most 256 bytes; may be empty
//	  width          u32      of the model's Talker
//	  codebooks      u32      codes a frame
//	  codebook size  u32      entries of a codebook
//	  speaker        32 bytes fingerprint of the speaker encoder; zero: not known
//	  codec          32 bytes fingerprint of the speech tokenizer; zero: not known
//	  transcript     text     of the reference clip, at most 65536 bytes; empty: none
//	  x-vector       block    the content of a .spk file of that width
//	  codes          block    the content of a .rvq file; empty: none
//
// A text or block is its length in bytes as u32 and the bytes; texts are UTF-8. The same voice gives the same bytes.
type Voice struct {
	Model      Identity
	XVector    []float32 // [Model.Width]
	Codes      [][]int32 // [frames][Model.Codebooks]; nil: none
	Transcript string    // of the clip that XVector and Codes come from; "": none
	Tool       string    // what made the file
}

const (
	voiceMagic   = "\x89QVOICE\n" // no text, and what a transfer as text would damage
	voiceKind    = "a .qvoice file"
	voiceVersion = 1
	voiceHeader  = len(voiceMagic) + 3*4

	maxLabel      = 256
	maxTranscript = 1 << 16
	maxWidth      = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ParseVoice decodes the content of a .qvoice file.
func ParseVoice(data []byte) (*Voice, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, fmt.Errorf("voice: %w", err)
	}
	v, err := parseBody(body)
	if err != nil {
		return nil, fmt.Errorf("voice: %w", err)
	}
	return v, nil
}

// FormatVoice encodes the content of a .qvoice file.
func FormatVoice(v *Voice) ([]byte, error) {
	body, err := formatBody(v)
	if err != nil {
		return nil, fmt.Errorf("voice: %w", err)
	}
	return seal(body), nil
}

// seal puts the header before a body.
func seal(body []byte) []byte {
	data := make([]byte, 0, voiceHeader+len(body))
	data = append(data, voiceMagic...)
	for _, n := range []uint32{voiceVersion, uint32(len(body)), crc32.Checksum(body, castagnoli)} {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	return append(data, body...)
}

// unseal checks the header and returns the body.
func unseal(data []byte) ([]byte, error) {
	if len(data) < voiceHeader || string(data[:len(voiceMagic)]) != voiceMagic {
		return nil, errors.New("this is not " + voiceKind)
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(data[len(voiceMagic)+4*i:]) }
	body := data[voiceHeader:]
	switch version, size := field(0), field(1); {
	case version > voiceVersion:
		return nil, fmt.Errorf("version %d was written by a newer libqwen; this one reads version %d", version, voiceVersion)
	case version == 0:
		return nil, errors.New("version 0 does not exist")
	case uint64(len(body)) < uint64(size):
		return nil, fmt.Errorf("truncated: %d of %d bytes are there", len(body), size)
	case uint64(len(body)) > uint64(size):
		return nil, fmt.Errorf("%d bytes follow its end", len(body)-int(size))
	case crc32.Checksum(body, castagnoli) != field(2):
		return nil, errors.New("damaged: the checksum does not match")
	}
	return body, nil
}

func parseBody(body []byte) (*Voice, error) {
	r := &bodyReader{rest: body}
	v := &Voice{}
	v.Model.Name, v.Model.Size, v.Tool = r.text("name", maxLabel), r.text("size", maxLabel), r.text("tool", maxLabel)
	v.Model.Width = r.number("width", maxWidth)
	v.Model.Codebooks, v.Model.CodebookSize = r.number("codebooks", math.MaxInt32), r.number("codebook size", math.MaxInt32)
	copy(v.Model.Speaker[:], r.bytes("speaker", len(v.Model.Speaker)))
	copy(v.Model.Codec[:], r.bytes("codec", len(v.Model.Codec)))
	v.Transcript = r.text("transcript", maxTranscript)
	xvector, codes := r.block("x-vector", len(body)), r.block("codes", len(body))
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow the codes", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	var err error
	if v.XVector, err = ParseXVector(xvector); err != nil {
		return nil, err
	}
	if len(codes) > 0 {
		if v.Codes, err = ParseCodes(codes, v.Model.Codebooks, v.Model.CodebookSize); err != nil {
			return nil, err
		}
	}
	return v, v.validate()
}

func formatBody(v *Voice) ([]byte, error) {
	if err := v.validate(); err != nil {
		return nil, err
	}
	var codes []byte
	if len(v.Codes) > 0 {
		var err error
		if codes, err = FormatCodes(v.Codes, v.Model.Codebooks, v.Model.CodebookSize); err != nil {
			return nil, err
		}
	}
	var body []byte
	number := func(n int) { body = binary.LittleEndian.AppendUint32(body, uint32(n)) }
	block := func(b []byte) {
		number(len(b))
		body = append(body, b...)
	}
	block([]byte(v.Model.Name))
	block([]byte(v.Model.Size))
	block([]byte(v.Tool))
	number(v.Model.Width)
	number(v.Model.Codebooks)
	number(v.Model.CodebookSize)
	body = append(body, v.Model.Speaker[:]...)
	body = append(body, v.Model.Codec[:]...)
	block([]byte(v.Transcript))
	block(FormatXVector(v.XVector))
	block(codes)
	if len(body) > maxFile-voiceHeader {
		return nil, fmt.Errorf("%d frames of codes are too many", len(v.Codes))
	}
	return body, nil
}

// validate holds for every voice that is read or written.
func (v *Voice) validate() error {
	if v.Model.Width < 1 || v.Model.Width > maxWidth {
		return fmt.Errorf("width: %d is not in 1..%d", v.Model.Width, maxWidth)
	}
	if len(v.XVector) != v.Model.Width {
		return fmt.Errorf("x-vector: %d values for a model of width %d", len(v.XVector), v.Model.Width)
	}
	if _, err := codeWidth(v.Model.Codebooks, v.Model.CodebookSize); err != nil {
		return err
	}
	for i, x := range v.XVector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("x-vector: value %d is %v", i, x)
		}
	}
	for _, t := range []struct{ what, text string }{{"name", v.Model.Name}, {"size", v.Model.Size}, {"tool", v.Tool}} {
		if err := checkLabel(t.text); err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
	}
	return checkTranscript(v.Transcript)
}

// checkLabel wants a short line that can be printed: labels end up on terminals.
func checkLabel(s string) error {
	if len(s) > maxLabel {
		return fmt.Errorf("longer than %d bytes", maxLabel)
	}
	for i, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Errorf("byte %d is not of a printable character", i)
		}
	}
	return nil
}

func checkTranscript(s string) error {
	switch {
	case len(s) > maxTranscript:
		return fmt.Errorf("transcript: longer than %d bytes", maxTranscript)
	case !utf8.ValidString(s):
		return errors.New("transcript: not UTF-8")
	}
	return nil
}

// bodyReader takes a body apart and remembers the first failure; after it, everything is empty.
type bodyReader struct {
	rest []byte
	err  error
}

func (r *bodyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

// bytes returns the next n bytes; they are not copied.
func (r *bodyReader) bytes(what string, n int) []byte {
	if n > len(r.rest) {
		r.fail("%s: %d bytes, but %d are left", what, n, len(r.rest))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *bodyReader) number(what string, most int) int {
	b := r.bytes(what, 4)
	if b == nil {
		return 0
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(most) {
		r.fail("%s: %d is more than %d", what, n, most)
		return 0
	}
	return int(n)
}

func (r *bodyReader) block(what string, most int) []byte {
	return r.bytes(what, r.number(what+": length", most))
}

func (r *bodyReader) text(what string, most int) string { return string(r.block(what, most)) }
