package voicefile

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestXVectorRoundTrip(t *testing.T) {
	x := []float32{0, 1, -2.5, math.SmallestNonzeroFloat32, math.MaxFloat32}
	data := FormatXVector(x)
	require.Len(t, data, 20)
	assert.Equal(t, []byte{0, 0, 0x80, 0x3f}, data[4:8], "little-endian IEEE 754")
	got, err := ParseXVector(data)
	require.NoError(t, err)
	assert.Equal(t, x, got)
}

func TestXVectorRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "empty"},
		"odd size":  {make([]byte, 1023), "1023 bytes"},
		"NaN":       {FormatXVector([]float32{1, float32(math.NaN())}), "value 1 is NaN"},
		"infinity":  {FormatXVector([]float32{float32(math.Inf(-1))}), "value 0 is -Inf"},
		"one short": {FormatXVector([]float32{1, 2})[:7], "7 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseXVector(tc.data)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// The bits of a file written by hand: two codebooks of 2048 entries, three frames.
func TestCodesLayout(t *testing.T) {
	codes := [][]int32{{1, 0x7ff}, {2, 0}, {0x400, 0x555}}
	// Codebook 0 first: 1, 2, 0x400; then 0x7ff, 0, 0x555. Each from its lowest bit, 11 bits on.
	var want [9]byte
	for i, code := range []int{1, 2, 0x400, 0x7ff, 0, 0x555} {
		for b := range 11 {
			if code>>b&1 == 1 {
				want[(11*i+b)/8] |= 1 << ((11*i + b) % 8)
			}
		}
	}
	data, err := FormatCodes(codes, 2, 2048)
	require.NoError(t, err)
	assert.Equal(t, want[:], data)
	got, err := ParseCodes(data, 2, 2048)
	require.NoError(t, err)
	assert.Equal(t, codes, got)
}

// A file of another implementation's making (Python, one big integer): 16 codebooks of 2048, code k, t is
// (677k + 1091t + 13) mod 2048.
func TestCodesVector(t *testing.T) {
	want, err := hex.DecodeString("0d80e22464556f9c5d5533dde5ff0f05112a729fcca88961eefa5d1807484ddb6235" +
		"c5cb6eb5df4130fc49d80523e959549b7c063ec14db1a6d744ad9259dcefcf07")
	require.NoError(t, err)
	codes := newCodes(3, 16)
	for frame := range codes {
		for k := range codes[frame] {
			codes[frame][k] = int32((677*k + 1091*frame + 13) % 2048)
		}
	}
	path := filepath.Join(t.TempDir(), "v.rvq")
	require.NoError(t, WriteCodes(path, codes, 16, 2048))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, data)
	got, err := ReadCodes(path, 16, 2048)
	require.NoError(t, err)
	assert.Equal(t, codes, got)
}

func TestCodesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, entries := range []int{2, 5, 512, 2048, 2049, 1 << 20} {
		for _, codebooks := range []int{8, 16, 17} {
			for _, frames := range []int{1, 2, 25, 100} {
				codes := newCodes(frames, codebooks)
				for _, frame := range codes {
					for k := range frame {
						frame[k] = rng.Int32N(int32(entries))
					}
				}
				data, err := FormatCodes(codes, codebooks, entries)
				require.NoError(t, err)
				got, err := ParseCodes(data, codebooks, entries)
				require.NoError(t, err)
				require.Equal(t, codes, got, "entries %d, codebooks %d, frames %d", entries, codebooks, frames)
			}
		}
	}
}

func TestCodesRefuses(t *testing.T) {
	one, err := FormatCodes(newCodes(1, 16), 16, 2048)
	require.NoError(t, err)
	require.Len(t, one, 22, "16 codes of 11 bits")

	parse := func(data []byte, codebooks, entries int) error {
		_, err := ParseCodes(data, codebooks, entries)
		return err
	}
	assert.ErrorContains(t, parse(nil, 16, 2048), "empty")
	assert.ErrorContains(t, parse(one[:21], 16, 2048), "21 bytes")
	assert.ErrorContains(t, parse(append(one, 0), 16, 2048), "23 bytes")
	assert.ErrorContains(t, parse([]byte{0xff, 0xff, 0xff}, 4, 33), "frame 0, codebook 0: code 63 is not below 33")
	assert.ErrorContains(t, parse([]byte{0, 0x80}, 3, 16), "unused bits")
	assert.ErrorContains(t, parse(one, 0, 2048), "cannot pack")
	assert.ErrorContains(t, parse(one, 1, 2), "cannot pack", "seven frames would hide in one byte")
	assert.ErrorContains(t, parse(one, math.MaxInt, math.MaxInt), "cannot pack")

	_, err = FormatCodes([][]int32{{1, 2}, {3}}, 2, 2048)
	assert.ErrorContains(t, err, "frame 1 has 1 codes, want 2")
	_, err = FormatCodes([][]int32{{1, 2048}}, 2, 2048)
	assert.ErrorContains(t, err, "frame 0, codebook 1: code 2048")
	_, err = FormatCodes([][]int32{{-1, 0}}, 2, 2048)
	assert.ErrorContains(t, err, "code -1")
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	spk := filepath.Join(dir, "声.spk")
	require.NoError(t, WriteXVector(spk, []float32{1, 2, 3}))
	x, err := ReadXVector(spk)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3}, x)

	codes := [][]int32{{1, 2, 3, 4}, {5, 6, 7, 8}}
	rvq := filepath.Join(dir, "voice.rvq")
	require.NoError(t, WriteCodes(rvq, codes, 4, 512))
	assert.ErrorContains(t, WriteCodes(rvq, codes, 5, 512), "frame 0 has 4 codes, want 5")
	got, err := ReadCodes(rvq, 4, 512)
	require.NoError(t, err)
	assert.Equal(t, codes, got)

	_, err = ReadXVector(filepath.Join(dir, "none.spk"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadCodes(dir, 4, 512)
	assert.Error(t, err, "a folder")
	_, err = ReadCodes(spk, 4, 512)
	assert.ErrorContains(t, err, spk, "the error names the file")

	big := filepath.Join(dir, "big.spk")
	require.NoError(t, os.WriteFile(big, nil, 0o600))
	require.NoError(t, os.Truncate(big, maxFile+4))
	_, err = ReadXVector(big)
	assert.ErrorContains(t, err, "larger than 16 MiB")
}

// Whatever parses must come back byte for byte.
func FuzzParseCodes(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}, 16, 2048)
	f.Add([]byte{0}, 1, 256)
	f.Add([]byte{}, 0, 0)
	f.Add([]byte{0xff}, -1, math.MaxInt)
	f.Fuzz(func(t *testing.T, data []byte, codebooks, entries int) {
		codes, err := ParseCodes(data, codebooks, entries)
		if err != nil {
			return
		}
		again, err := FormatCodes(codes, codebooks, entries)
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}

func FuzzParseXVector(f *testing.F) {
	f.Add(FormatXVector([]float32{1, -2, 0.5}))
	f.Add([]byte{0, 0, 0xc0, 0x7f})
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ParseXVector(data)
		if err != nil {
			return
		}
		require.Equal(t, data, FormatXVector(x))
	})
}
