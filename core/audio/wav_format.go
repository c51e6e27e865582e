package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Codes of sample encodings in a fmt chunk (WAVE_FORMAT_…).
const (
	tagPCM        = 1
	tagFloat      = 3
	tagALaw       = 6
	tagMuLaw      = 7
	tagExtensible = 0xfffe
)

// Offsets in a fmt chunk. The last three exist if it is extensible.
const (
	fmtTag       = 0
	fmtChannels  = 2
	fmtRate      = 4
	fmtAlign     = 12 // bytes of a frame, all channels
	fmtBits      = 14
	fmtSize      = 16 // of the classic chunk
	fmtValidBits = 18
	fmtSubFormat = 24 // a GUID, whose first two bytes are a classic tag
	fmtSizeExt   = 40
)

// Ends of sub-format GUIDs whose beginning is a classic tag: Microsoft's, and that of ambisonic B-format.
var subFormats = []string{
	"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71",
	"\x00\x00\x21\x07\xd3\x11\x86\x44\xc8\xc1\xca\x00\x00\x00",
}

// errEncoding marks the error for an encoding of samples that isn't decoded here.
var errEncoding = errors.New("the encoding is not read, convert the file to 16-bit PCM")

// waveFormat is what a fmt chunk says.
type waveFormat struct {
	tag, channels, rate, align, bits int
	valid                            int    // bits of a sample that count, if less than bits
	guid                             []byte // of the sub-format, nil if the chunk isn't extensible
	enc                              encoding
	warnings                         []string
}

func parseFormat(b []byte) (*waveFormat, error) {
	if len(b) < fmtSize {
		return nil, fmt.Errorf("fmt chunk of %d bytes, want %d", len(b), fmtSize)
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	rate := binary.LittleEndian.Uint32(b[fmtRate:])
	f := &waveFormat{tag: u16(fmtTag), channels: u16(fmtChannels), align: u16(fmtAlign), bits: u16(fmtBits)}
	f.rate = int(min(rate, 1<<31-1)) // an int may have 32 bits
	if err := checkShape(f.rate, f.channels); err != nil {
		return nil, err
	}
	if f.tag == tagExtensible {
		if len(b) < fmtSizeExt {
			return nil, fmt.Errorf("extensible fmt chunk of %d bytes, want %d", len(b), fmtSizeExt)
		}
		f.valid, f.guid = u16(fmtValidBits), b[fmtSubFormat:fmtSizeExt]
		f.resolveSubFormat()
	}
	var ok bool
	if f.enc, ok = encodingOf(f.tag, f.width()); !ok {
		return nil, f.unsupported()
	}
	return f, nil
}

// resolveSubFormat replaces the tag by the one in the sub-format.
func (f *waveFormat) resolveSubFormat() {
	for _, end := range subFormats {
		if string(f.guid[2:]) == end {
			f.tag = int(binary.LittleEndian.Uint16(f.guid))
		}
	}
}

// width is the number of bytes of a sample. Samples of fewer bits are stored in the upper ones; those of more than 16
// may have 4 bytes.
func (f *waveFormat) width() int {
	byBits, frame := (f.bits+7)/8, f.align
	if f.bits > 16 && frame == 4*f.channels {
		return 4
	}
	if f.bits > 0 && frame != byBits*f.channels {
		f.warnings = append(f.warnings, fmt.Sprintf("frames of %d bytes are wrong for %d channels of %d bits", frame, f.channels, f.bits))
	}
	return byBits
}

// unsupported names what the samples are.
func (f *waveFormat) unsupported() error {
	what := fmt.Sprintf("wave format 0x%04x", f.tag)
	if name := tagNames[f.tag]; name != "" {
		what += " (" + name + ")"
	}
	what += fmt.Sprintf(" with %d bits", f.bits)
	if f.guid != nil {
		what += ", sub-format " + guidString(f.guid)
	}
	return fmt.Errorf("%s: %w", what, errEncoding)
}

// tagNames are encodings that are met in WAV files but not decoded here.
var tagNames = map[int]string{
	0x0002: "Microsoft ADPCM", 0x0011: "IMA ADPCM", 0x0031: "GSM 6.10", 0x0040: "G.721 ADPCM", 0x0050: "MPEG layer II",
	0x0055: "MP3", 0x0161: "Windows Media Audio", 0x00ff: "AAC", 0x1610: "AAC", 0x2000: "AC-3", tagExtensible: "extensible",
	0x674f: "Ogg Vorbis", 0xf1ac: "FLAC",
}

// guidString writes a GUID the usual way; its first three fields are little-endian.
func guidString(g []byte) string {
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", binary.LittleEndian.Uint32(g), binary.LittleEndian.Uint16(g[4:]),
		binary.LittleEndian.Uint16(g[6:]), g[8:10], g[10:16])
}

// name of the encoding, for people.
func (f *waveFormat) name() string {
	var notes []string
	if bits := f.validBits(); bits != 8*f.enc.width {
		notes = append(notes, fmt.Sprintf("%d of them valid", bits))
	}
	if f.guid != nil {
		notes = append(notes, "extensible")
	}
	if len(notes) == 0 {
		return f.enc.name
	}
	return f.enc.name + " (" + strings.Join(notes, ", ") + ")"
}

func (f *waveFormat) validBits() int {
	if f.tag == tagPCM && f.valid > 0 && f.valid < f.bits {
		return f.valid
	}
	if f.tag == tagPCM && f.bits < 8*f.enc.width {
		return f.bits
	}
	return 8 * f.enc.width
}
