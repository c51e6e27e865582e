package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// reader says who can read a kind of file.
type reader int

const (
	byNobody reader = iota
	byUs
	bySndfile
)

// kind is what a file is, as its first bytes say.
type kind struct {
	name string // "FLAC", "an HTML page"
	by   reader
	hint string // what to do about a file that nobody reads
}

// refusal is the error for a file that nobody reads.
func (k kind) refusal() error {
	if k.hint == "" {
		return fmt.Errorf("this is %s, not audio", k.name)
	}
	return fmt.Errorf("this is %s; %s", k.name, k.hint)
}

const (
	convert    = "it is not read here: convert it to WAV, for example with `ffmpeg -i IN OUT.wav`"
	unpack     = "unpack it first"
	oggMagic   = "OggS"
	id3Magic   = "ID3"
	sniffBytes = 4096 // of text are looked at
)

// magics are the first bytes of files; '?' stands for any byte. The first that fits counts.
var magics = []struct {
	pattern string
	kind    kind
}{
	{"RIFF????WAVE", kind{name: "WAV", by: byUs}},
	{"RF64????WAVE", kind{name: "WAV (RF64)", by: byUs}},
	{"BW64????WAVE", kind{name: "WAV (BW64)", by: byUs}},
	{"RIFX????WAVE", kind{name: "WAV (big-endian)", by: bySndfile}},
	{"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb", kind{name: "W64", by: bySndfile}},
	{"fLaC", kind{name: "FLAC", by: bySndfile}},
	{"FORM????AIFF", kind{name: "AIFF", by: bySndfile}},
	{"FORM????AIFC", kind{name: "AIFF-C", by: bySndfile}},
	{"caff", kind{name: "CAF", by: bySndfile}},
	{".snd", kind{name: "AU", by: bySndfile}},

	{"????ftypM4A", kind{name: "M4A audio (AAC or ALAC in MP4)", hint: convert}},
	{"????ftypM4B", kind{name: "an M4B audio book (AAC in MP4)", hint: convert}},
	{"????ftypqt", kind{name: "a QuickTime file", hint: convert}},
	{"????ftyp3g", kind{name: "a 3GP file", hint: convert}},
	{"????ftypavif", kind{name: "an AVIF picture"}},
	{"????ftyphei", kind{name: "an HEIC picture"}},
	{"????ftyp", kind{name: "an MP4 file", hint: convert}},
	{"????moov", kind{name: "a QuickTime file", hint: convert}},
	{"\x1a\x45\xdf\xa3", kind{name: "a WebM or Matroska file", hint: convert}},
	{"\x30\x26\xb2\x75\x8e\x66\xcf\x11", kind{name: "a WMA or WMV file", hint: convert}},
	{"RIFF????AVI ", kind{name: "an AVI video", hint: convert}},
	{"FLV\x01", kind{name: "a Flash video", hint: convert}},
	{"#!AMR", kind{name: "AMR audio", hint: convert}},
	{"#!SILK", kind{name: "SILK audio", hint: convert}},
	{"MAC ", kind{name: "Monkey's Audio", hint: convert}},
	{"wvpk", kind{name: "WavPack audio", hint: convert}},
	{"TTA1", kind{name: "True Audio", hint: convert}},
	{"DSD ", kind{name: "DSD audio", hint: convert}},
	{"FRM8", kind{name: "DSD audio", hint: convert}},
	{"\x0b\x77", kind{name: "AC-3 audio", hint: convert}},
	{"\x7f\xfe\x80\x01", kind{name: "DTS audio", hint: convert}},
	{"\x00\x00\x01\xba", kind{name: "an MPEG video", hint: convert}},
	{"MThd", kind{name: "a MIDI file", hint: "it holds notes, not sound: render it to WAV first"}},

	{"\xff\xfe", kind{name: "a text file (UTF-16)"}},
	{"\xfe\xff", kind{name: "a text file (UTF-16)"}},
	{"GGUF", kind{name: "a GGUF model"}},
	{"PK\x03\x04", kind{name: "a ZIP archive", hint: unpack}},
	{"\x1f\x8b", kind{name: "a gzip file", hint: unpack}},
	{"7z\xbc\xaf\x27\x1c", kind{name: "a 7-Zip archive", hint: unpack}},
	{"%PDF", kind{name: "a PDF document"}},
	{"\x89PNG", kind{name: "a PNG picture"}},
	{"\xff\xd8\xff", kind{name: "a JPEG picture"}},
	{"GIF8", kind{name: "a GIF picture"}},
	{"RIFF????WEBP", kind{name: "a WebP picture"}},
	{"\x7fELF", kind{name: "a program or library"}},
	{"RIFF", kind{name: "a RIFF file, but no WAV file"}},
}

// sniff tells what data is. It never fails: what it does not know it describes.
func sniff(data []byte) kind {
	for _, m := range magics {
		if fits(data, m.pattern) {
			return m.kind
		}
	}
	switch {
	case len(data) == 0:
		return kind{name: "an empty file"}
	case fits(data, oggMagic):
		return sniffOgg(data)
	case fits(data, id3Magic):
		return sniffTagged(data)
	}
	if k, ok := sniffMPEG(data); ok {
		return k
	}
	if k, ok := sniffText(data); ok {
		return k
	}
	if len(bytes.TrimLeft(data, "\x00")) == 0 {
		return kind{name: fmt.Sprintf("%d zero bytes", len(data))}
	}
	return kind{name: fmt.Sprintf("of an unknown format (it begins with % x)", data[:min(8, len(data))]),
		hint: "if it holds bare samples, give them a WAV header"}
}

func fits(data []byte, pattern string) bool {
	if len(data) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '?' && data[i] != pattern[i] {
			return false
		}
	}
	return true
}

// sniffOgg looks at the first packet, which begins behind the first page's table of segments.
func sniffOgg(data []byte) kind {
	packet := data[min(len(data), 28):]
	if len(data) > 26 {
		packet = data[min(len(data), 27+int(data[26])):]
	}
	for _, m := range []struct {
		magic string
		kind  kind
	}{
		{"\x01vorbis", kind{name: "Ogg Vorbis", by: bySndfile}},
		{"OpusHead", kind{name: "Ogg Opus", by: bySndfile}},
		{"\x7fFLAC", kind{name: "Ogg FLAC", by: bySndfile}},
		{"Speex   ", kind{name: "Ogg Speex", hint: convert}},
		{"\x80theora", kind{name: "an Ogg Theora video", hint: convert}},
	} {
		if fits(packet, m.magic) {
			return m.kind
		}
	}
	return kind{name: "an Ogg file of unknown content", hint: convert}
}

// sniffTagged looks behind an ID3 tag, whose size has 7 bits in each of 4 bytes. MP3 files have such tags, some FLAC
// and AAC files too.
func sniffTagged(data []byte) kind {
	mp3 := kind{name: "MP3", by: bySndfile}
	if len(data) < 10 {
		return mp3
	}
	size := 10
	for i, b := range data[6:10] {
		size += int(b&0x7f) << (7 * (3 - i))
	}
	rest := data[min(size, len(data)):]
	if fits(rest, "fLaC") {
		return kind{name: "FLAC", by: bySndfile}
	}
	if k, ok := sniffMPEG(rest); ok {
		return k
	}
	return mp3
}

// sniffMPEG recognises the header of a frame: MPEG layers I to III, or AAC in ADTS, which calls itself layer 0.
func sniffMPEG(data []byte) (kind, bool) {
	if len(data) < 4 || data[0] != 0xff || data[1]&0xe0 != 0xe0 {
		return kind{}, false
	}
	version, layer := data[1]>>3&3, data[1]>>1&3
	if layer == 0 {
		return kind{name: "AAC audio", hint: convert}, data[1]&0xf6 == 0xf0
	}
	bitrate, rate := data[2]>>4, data[2]>>2&3
	return kind{name: "MP3", by: bySndfile}, version != 1 && bitrate != 15 && rate != 3
}

// sniffText recognises text in UTF-8.
func sniffText(data []byte) (kind, bool) {
	head := data[:min(len(data), sniffBytes)]
	if !isText(head) {
		return kind{}, false
	}
	text := strings.ToLower(strings.TrimLeft(string(head), "\ufeff \t\r\n"))
	for _, k := range []struct{ prefix, name, hint string }{
		{"<!doctype html", "an HTML page", "perhaps the answer of a site instead of the file: download it again"},
		{"<html", "an HTML page", "perhaps the answer of a site instead of the file: download it again"},
		{"version https://git-lfs", "a Git LFS pointer", "fetch the file itself with `git lfs pull`"},
		{"<?xml", "an XML file", ""},
		{"{", "a JSON file", ""},
	} {
		if strings.HasPrefix(text, k.prefix) {
			return kind{name: k.name, hint: k.hint}, true
		}
	}
	return kind{name: "a text file"}, true
}

// cutOff tells whether the end of a file is missing, in containers where libsndfile does not mind: those that begin
// with their size, and Ogg, where the last page says that it is the last.
func cutOff(data []byte) bool {
	have := uint64(len(data))
	switch {
	case fits(data, "FORM????"), fits(data, "RIFX????"):
		return uint64(binary.BigEndian.Uint32(data[4:])) > have-8
	case fits(data, ".snd????????"): // where the samples begin, how many bytes they have
		begin, size := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
		return size != math.MaxUint32 && uint64(begin)+uint64(size) > have
	case fits(data, "riff????????????????????"): // behind the GUID
		return binary.LittleEndian.Uint64(data[16:]) > have
	case fits(data, oggMagic):
		const flags, last = 5, 4
		page := data[bytes.LastIndex(data, []byte(oggMagic)):]
		return len(page) <= flags || page[flags]&last == 0
	}
	return false
}

// isText wants valid UTF-8, save for a character cut at the end, without control characters other than white space.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n <= 1 {
			return !utf8.FullRune(head)
		}
		if r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) {
			return false
		}
		head = head[n:]
	}
	return true
}
