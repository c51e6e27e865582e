// Package voicefile reads and writes the two side files that hold a reference voice:
//
//	.spk  the x-vector of a speaker: raw little-endian float32, one per channel of the Talker
//	.rvq  the codes of a reference clip: [codebook][frame], packed at a fixed number of bits, least significant bit first
//
// Neither has a header, so their sizes are all the structure there is, and everything is checked against them.
// The functions that take bytes are pure; the Read functions bound the size of the file before they allocate.
package voicefile

import (
	"fmt"
	"io"
	"os"
)

// maxFile bounds a side file, bytes. The codes of an hour of reference take 1 MB.
const maxFile = 16 << 20

// ReadXVector reads the x-vector of a .spk file.
func ReadXVector(path string) ([]float32, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	x, err := ParseXVector(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// ReadCodes reads the codes of a .rvq file as [frames][codebooks].
func ReadCodes(path string, codebooks, entries int) ([][]int32, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	codes, err := ParseCodes(data, codebooks, entries)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return codes, nil
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
