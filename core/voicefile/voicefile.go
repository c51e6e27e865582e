// Package voicefile reads and writes the files that hold a reference voice:
//
//	.spk     the x-vector of a speaker: raw little-endian float32, one per channel of the Talker
//	.rvq     the codes of a reference clip: [codebook][frame], packed at a fixed number of bits, least significant bit first
//	.qvoice  all of a voice: x-vector, codes, transcript, and the model that it belongs to (see Voice)
//
// The first two have no header, so their sizes are all the structure there is, and everything is checked against them.
// A .qvoice file is checked against its own checksum, and against a model by Voice.Check.
// The functions that take bytes are pure; the Read functions bound the size of the file before they allocate, and the
// Write functions make the file appear when it is complete.
package voicefile

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/libqwen/libqwen/internal/atomicfile"
)

// maxFile bounds a voice file, bytes. The codes of an hour of reference take 1 MB.
const maxFile = 16 << 20

// ReadXVector reads the x-vector of a .spk file.
func ReadXVector(path string) ([]float32, error) { return read(path, "a .spk file", ParseXVector) }

// ReadCodes reads the codes of a .rvq file as [frames][codebooks].
func ReadCodes(path string, codebooks, entries int) ([][]int32, error) {
	return read(path, "a .rvq file", func(data []byte) ([][]int32, error) { return ParseCodes(data, codebooks, entries) })
}

// ReadVoice reads a .qvoice file.
func ReadVoice(path string) (*Voice, error) { return read(path, voiceKind, ParseVoice) }

// WriteXVector writes a .spk file.
func WriteXVector(path string, x []float32) error { return atomicfile.Write(path, FormatXVector(x)) }

// WriteCodes writes a .rvq file.
func WriteCodes(path string, codes [][]int32, codebooks, entries int) error {
	data, err := FormatCodes(codes, codebooks, entries)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, data)
}

// WriteVoice writes a .qvoice file.
func WriteVoice(path string, v *Voice) error {
	data, err := FormatVoice(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, data)
}

// read parses a file that is said to be of a certain kind. Failures of the system come as they are.
func read[T any](path, kind string, parse func([]byte) (T, error)) (v T, err error) {
	data, err := readFile(path)
	if err != nil {
		return v, err
	}
	if is := sniff(data); is != "" && is != kind {
		return v, fmt.Errorf("%s is %s, not %s", path, is, kind)
	}
	if v, err = parse(data); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// sniff names what data is by its first bytes, "" if they say nothing. The bytes of an x-vector or of codes are any,
// but that they start like this by chance is one in 2^32.
func sniff(data []byte) string {
	for _, m := range []struct{ magic, name string }{
		{voiceMagic, voiceKind}, {"RIFF", "a WAV file"}, {"RF64", "a WAV file"}, {"GGUF", "a GGUF model"}, {"fLaC", "a FLAC file"},
		{"OggS", "an Ogg file"}, {"ID3\x03", "an MP3 file"}, {"ID3\x04", "an MP3 file"}, {"\x93NUMPY", "a NumPy file"}, {"PK\x03\x04", "a zip archive"},
	} {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.name
		}
	}
	return ""
}

// readFile reads a whole file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB, so it is no voice file", path, maxFile>>20)
	}
	return data, nil
}
