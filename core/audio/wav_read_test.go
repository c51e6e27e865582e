package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// le builds little-endian bytes: strings and byte slices as they are, integers by their width.
func le(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	return b
}

func chunk(id string, body []byte) []byte {
	b := le(id, uint32(len(body)), body)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

func riff(chunks ...[]byte) []byte {
	body := bytes.Join(chunks, nil)
	return le("RIFF", uint32(4+len(body)), "WAVE", body)
}

// classic is a fmt chunk of 16 bytes.
func classic(tag, channels int, rate uint32, width, bits int) []byte {
	return le(uint16(tag), uint16(channels), rate, rate*uint32(channels*width), uint16(channels*width), uint16(bits))
}

// extensible is a fmt chunk of 40 bytes.
func extensible(tag, channels int, rate uint32, width, valid int) []byte {
	return le(classic(tagExtensible, channels, rate, width, 8*width), uint16(22), uint16(valid), uint32(0), guidOf(tag))
}

func guidOf(tag int) []byte {
	return le(uint32(tag), uint16(0), uint16(0x10), []byte{0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71})
}

// coding is an encoding as the tests know it: they write sample k of a ramp over all its codes, and know its value.
type coding struct {
	name       string
	tag, width int
	put        func(k int) (code []byte, value float64)
}

var codings = []coding{
	{"u8", 1, 1, func(k int) ([]byte, float64) { v := uint8(k * 7); return []byte{v}, (float64(v) - 128) / 128 }},
	{"s16", 1, 2, func(k int) ([]byte, float64) { v := int16(k * 1021); return le(v), float64(v) / 32768 }},
	{"s24", 1, 3, func(k int) ([]byte, float64) {
		v := int32(k*0x10f2c3) << 8 >> 8
		return le(v)[:3], float64(v) / (1 << 23)
	}},
	{"s32", 1, 4, func(k int) ([]byte, float64) { v := int32(uint32(k * 0x3a2c1d1)); return le(v), float64(v) / (1 << 31) }},
	{"f32", 3, 4, func(k int) ([]byte, float64) { v := float32(k-300) / 271; return le(v), float64(v) }},
	{"f64", 3, 8, func(k int) ([]byte, float64) { v := float64(k-300) / 271; return le(v), v }},
	{"alaw", 6, 1, func(k int) ([]byte, float64) { return []byte{byte(k)}, alawTable()[byte(k)] / 32768 }},
	{"mulaw", 7, 1, func(k int) ([]byte, float64) { return []byte{byte(k)}, mulawTable()[byte(k)] / 32768 }},
}

// alawTable is A-law built from its steps: from a first level of 8, 31 steps of 16, then 16 of each doubled size. From
// one segment to the next the step is the mean of the two.
func alawTable() (t [256]float64) {
	level, step := 8.0, 16.0
	for i := range 128 {
		code := byte(i) ^ 0x55
		t[code|0x80], t[code&0x7f] = level, -level
		if i%16 == 15 && i > 15 { // the first two segments have the same step
			level += step * 1.5
			step *= 2
		} else {
			level += step
		}
	}
	return t
}

// mulawTable is µ-law built from its steps: 0, 8, 16, … with 16 levels of each step size, which doubles.
func mulawTable() (t [256]float64) {
	level, step := 0.0, 8.0
	for i := range 128 {
		t[^byte(i)], t[^byte(i)&0x7f] = level, -level
		if i%16 == 15 {
			level += step * 1.5
			step *= 2
		} else {
			level += step
		}
	}
	return t
}

// ramps returns the bytes and the values of n samples.
func (c coding) ramps(n int) (data []byte, want []float32) {
	for k := range n {
		code, value := c.put(k)
		data, want = append(data, code...), append(want, float32(value))
	}
	return data, want
}

// TestWAVMatrix: every encoding, in a classic and an extensible format chunk, with several channels, and in files with
// every oddity, is decoded to exactly the values that were written.
func TestWAVMatrix(t *testing.T) {
	list := chunk("LIST", []byte("INFOabc"))
	formats := map[string]func(c coding, channels int) []byte{
		"classic": func(c coding, channels int) []byte { return classic(c.tag, channels, 22050, c.width, 8*c.width) },
		"classic 18": func(c coding, channels int) []byte {
			return le(classic(c.tag, channels, 22050, c.width, 8*c.width), uint16(0))
		},
		"extensible": func(c coding, channels int) []byte { return extensible(c.tag, channels, 22050, c.width, 8*c.width) },
		"cbSize 0": func(c coding, channels int) []byte {
			f := extensible(c.tag, channels, 22050, c.width, 8*c.width)
			f[16] = 0
			return f
		},
		"40 bytes of a classic tag": func(c coding, channels int) []byte {
			return le(classic(c.tag, channels, 22050, c.width, 8*c.width), make([]byte, 24))
		},
		"wrong alignment": func(c coding, channels int) []byte {
			f := classic(c.tag, channels, 22050, c.width, 8*c.width)
			f[fmtAlign], f[fmtAlign+1] = 0xff, 0xff
			return f
		},
	}
	files := map[string]func(format, data []byte) []byte{
		"plain":       func(f, d []byte) []byte { return riff(chunk("fmt ", f), chunk("data", d)) },
		"LIST before": func(f, d []byte) []byte { return riff(list, chunk("fmt ", f), list, chunk("data", d)) },
		"LIST after":  func(f, d []byte) []byte { return riff(chunk("fmt ", f), chunk("data", d), list) },
		"fmt last":    func(f, d []byte) []byte { return riff(chunk("data", d), chunk("fmt ", f)) },
		"unpadded": func(f, d []byte) []byte {
			return riff(list[:len(list)-1], chunk("fmt ", f), list[:len(list)-1], chunk("data", d))
		},
		"BWF": func(f, d []byte) []byte {
			return riff(chunk("bext", make([]byte, 603)), chunk("fmt ", f), chunk("data", d))
		},
		"size 0":        func(f, d []byte) []byte { return riff(chunk("fmt ", f), le("data", uint32(0), d)) },
		"size unknown":  func(f, d []byte) []byte { return riff(chunk("fmt ", f), le("data", uint32(math.MaxUint32), d)) },
		"size too much": func(f, d []byte) []byte { return riff(chunk("fmt ", f), le("data", uint32(len(d)+999), d)) },
		"RIFF size 0": func(f, d []byte) []byte {
			b := riff(chunk("fmt ", f), chunk("data", d))
			clear(b[4:8])
			return b
		},
		"RF64": func(f, d []byte) []byte {
			ds64 := le(uint64(0), uint64(len(d)), uint64(0), uint32(0))
			return le("RF64", uint32(math.MaxUint32), "WAVE", chunk("ds64", ds64), chunk("fmt ", f),
				"data", uint32(math.MaxUint32), d, make([]byte, len(d)%2), list)
		},
		"BW64": func(f, d []byte) []byte {
			return le("BW64", uint32(math.MaxUint32), "WAVE", chunk("ds64", make([]byte, 28)), chunk("fmt ", f), chunk("data", d))
		},
	}
	for _, c := range codings {
		for formatName, format := range formats {
			for _, channels := range []int{1, 2, 6, 64} {
				data, want := c.ramps(channels * 11)
				for fileName, file := range files {
					clip, err := DecodeWAV(file(format(c, channels), data))
					what := fmt.Sprintf("%s, %s, %d channels, %s", c.name, formatName, channels, fileName)
					require.NoError(t, err, what)
					require.Equal(t, want, clip.Samples, what)
					require.Equal(t, []int{22050, channels}, []int{clip.Rate, clip.Channels}, what)
					require.Equal(t, fileName == "size too much" || formatName == "wrong alignment", len(clip.Warnings) > 0, what)
				}
			}
		}
	}
}

// TestEveryCode: every code of one and two bytes, and a ramp through the others, is decoded exactly.
func TestEveryCode(t *testing.T) {
	for _, c := range codings {
		data, want := c.ramps(1 << 16)
		clip, err := DecodeWAV(riff(chunk("fmt ", classic(c.tag, 1, 8000, c.width, 8*c.width)), chunk("data", data)))
		require.NoError(t, err)
		require.Equal(t, want, clip.Samples, c.name)
		assert.Equal(t, "WAV", clip.Container)
		assert.NotEmpty(t, clip.Encoding)
		if c.tag != tagFloat {
			largest := float32(-1)
			for _, x := range want {
				largest = max(largest, x)
			}
			assert.InDelta(t, largest, clip.full, 2e-4, c.name)
			assert.GreaterOrEqual(t, clip.full, largest, c.name)
		}
	}
}

// TestG711 has values of the standard.
func TestG711(t *testing.T) {
	for b, want := range map[byte]int{0x00: -32124, 0x80: 32124, 0x7f: 0, 0xff: 0, 0xfe: 8, 0x7e: -8} {
		assert.Equal(t, want, mulaw(b), b)
	}
	for b, want := range map[byte]int{0x2a: -32256, 0xaa: 32256, 0x55: -8, 0xd5: 8, 0xd4: 24} {
		assert.Equal(t, want, alaw(b), b)
	}
}

// TestWAVAgainstGoAudio: integers of files that another library wrote.
func TestWAVAgainstGoAudio(t *testing.T) {
	for _, bits := range []int{8, 16, 24, 32} {
		file := &seekable{}
		e := wav.NewEncoder(file, 44100, bits, 2, tagPCM)
		buf := &goaudio.IntBuffer{Format: &goaudio.Format{NumChannels: 2, SampleRate: 44100}, SourceBitDepth: bits}
		var want []float32
		for k := range 500 {
			v := int(int64(k)*2654435761%(1<<bits) - 1<<(bits-1))
			want = append(want, float32(float64(v)/math.Ldexp(1, bits-1)))
			if bits == 8 {
				v += 128
			}
			buf.Data = append(buf.Data, v)
		}
		require.NoError(t, e.Write(buf))
		require.NoError(t, e.Close())
		clip, err := DecodeWAV(file.b)
		require.NoError(t, err)
		assert.Equal(t, want, clip.Samples, bits)
		assert.Empty(t, clip.Warnings)
	}
}

// seekable is a file in memory.
type seekable struct {
	b  []byte
	at int
}

func (s *seekable) Write(p []byte) (int, error) {
	s.b = append(s.b, make([]byte, max(0, s.at+len(p)-len(s.b)))...)
	s.at += copy(s.b[s.at:], p)
	return len(p), nil
}

func (s *seekable) Seek(offset int64, whence int) (int64, error) {
	s.at = [...]int{0, s.at, len(s.b)}[whence] + int(offset)
	return int64(s.at), nil
}

// TestBitsInContainers: samples of fewer bits than their bytes have lie in the upper ones.
func TestBitsInContainers(t *testing.T) {
	for name, format := range map[string][]byte{
		"12 bits in 16":                classic(1, 1, 24000, 2, 12),
		"24 bits in 32":                classic(1, 1, 24000, 4, 24),
		"extensible: 20 valid in 24":   extensible(1, 1, 24000, 3, 20),
		"extensible: 24 valid in 32":   extensible(1, 1, 24000, 4, 24),
		"extensible: no valid bits":    extensible(1, 1, 24000, 3, 0),
		"extensible: too many valid":   extensible(1, 1, 24000, 3, 99),
		"extensible: ambisonic PCM":    le(extensible(1, 1, 24000, 3, 24)[:fmtSubFormat], uint16(1), subFormats[1]),
		"more bytes than a fmt can be": le(extensible(1, 1, 24000, 3, 24), make([]byte, 1000)),
	} {
		width := int(format[fmtAlign])
		data := make([]byte, 2*width)
		data[width-1], data[2*width-1] = 0x40, 0xc0
		clip, err := DecodeWAV(riff(chunk("fmt ", format), chunk("data", data)))
		require.NoError(t, err, name)
		assert.Equal(t, []float32{0.5, -0.5}, clip.Samples, name)
		assert.Empty(t, clip.Warnings, name)
	}
	clip, err := DecodeWAV(riff(chunk("fmt ", extensible(1, 1, 24000, 4, 24)), chunk("data", make([]byte, 8))))
	require.NoError(t, err)
	assert.Equal(t, "32-bit integers (24 of them valid, extensible)", clip.Encoding)
}

func TestWAVRefusals(t *testing.T) {
	data := chunk("data", make([]byte, 16))
	with := func(format []byte) []byte { return riff(chunk("fmt ", format), data) }
	for want, raw := range map[string][]byte{
		"no RIFF/WAVE header":            nil,
		"no RIFF":                        []byte("GGUF........"),
		"RIFF/WAVE":                      []byte("RIFF....WAVX"),
		"no fmt chunk":                   riff(data),
		"no data chunk":                  riff(chunk("fmt ", classic(1, 1, 24000, 2, 16))),
		"no fmt":                         riff(),
		"fmt chunk of 14 bytes, want 16": with(classic(1, 1, 24000, 2, 16)[:14]),
		"extensible fmt chunk of 18 bytes, want 40":         with(extensible(1, 1, 24000, 2, 16)[:18]),
		"0 channels, must be 1 to 64":                       with(classic(1, 0, 24000, 2, 16)),
		"65 channels":                                       with(classic(1, 65, 24000, 2, 16)),
		"65535 channels":                                    with(classic(1, 65535, 24000, 2, 16)),
		"a rate of 0 Hz, must be 1000 to 768000":            with(classic(1, 1, 0, 2, 16)),
		"a rate of 999 Hz":                                  with(classic(1, 1, 999, 2, 16)),
		"a rate of 768001 Hz":                               with(classic(1, 1, 768001, 2, 16)),
		"a rate of 2147483647 Hz":                           with(classic(1, 1, math.MaxUint32, 2, 16)),
		"wave format 0x0007 with 16 bits: the encoding":     with(classic(7, 1, 24000, 2, 16)),
		"wave format 0x0003 with 16 bits":                   with(classic(3, 1, 24000, 2, 16)),
		"wave format 0x0001 with 0 bits":                    with(classic(1, 1, 24000, 2, 0)),
		"wave format 0x0001 with 64 bits":                   with(classic(1, 1, 24000, 8, 64)),
		"wave format 0x0001 with 65535 bits":                with(classic(1, 1, 24000, 2, 65535)),
		"wave format 0x0011 (IMA ADPCM) with 4 bits":        with(classic(0x11, 1, 24000, 1, 4)),
		"wave format 0x0055 (MP3) with 0 bits":              with(classic(0x55, 2, 24000, 1, 0)),
		"16 bits, sub-format 00000092-0000-0010-8000-00aa0": with(extensible(0x92, 1, 24000, 2, 16)),
		"0xfffe (extensible) with 16 bits, sub-format 01020304-0506-0708-090a-0b0c0d0e0f10": with(
			le(extensible(1, 1, 24000, 2, 16)[:fmtSubFormat], []byte{4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16})),
	} {
		_, err := DecodeWAV(raw)
		assert.ErrorContains(t, err, want)
	}
}

// TestWAVEnds: data that is empty, cut in a sample or in a frame.
func TestWAVEnds(t *testing.T) {
	stereo := chunk("fmt ", classic(1, 2, 24000, 2, 16))
	for name, c := range map[string]struct {
		file []byte
		want int
	}{
		"nothing after the header":     {riff(stereo, le("data", uint32(0))), 0},
		"empty, then another chunk":    {riff(stereo, le("data", uint32(0)), chunk("LIST", []byte("INFOabcd"))), 0},
		"cut in a sample":              {riff(stereo, le("data", uint32(400), make([]byte, 11))), 4},
		"cut in a frame":               {riff(stereo, chunk("data", make([]byte, 14))), 6},
		"a second data chunk":          {riff(stereo, chunk("data", make([]byte, 8)), chunk("data", make([]byte, 80))), 4},
		"a second fmt chunk":           {riff(stereo, chunk("fmt ", nil), chunk("data", make([]byte, 8))), 4},
		"a chunk beyond the end":       {riff(stereo, chunk("data", make([]byte, 8)), le("LIST", uint32(1<<31), "x")), 4},
		"RF64 that promises more":      {le("RF64", uint32(0), "WAVE", chunk("ds64", le(uint64(0), uint64(1<<62))), stereo, "data", uint32(math.MaxUint32), make([]byte, 8)), 4},
		"RF64 of 2^64-1":               {le("RF64", uint32(0), "WAVE", chunk("ds64", le(uint64(0), uint64(math.MaxUint64))), stereo, "data", uint32(math.MaxUint32), make([]byte, 8)), 4},
		"RF64 with a ds64 of 3 bytes":  {le("RF64", uint32(0), "WAVE", chunk("ds64", []byte("abc")), stereo, "data", uint32(math.MaxUint32), make([]byte, 8)), 4},
		"text after streamed samples":  {riff(stereo, le("data", uint32(math.MaxUint32), make([]byte, 8), "tail")), 6},
		"three bytes where data would": {riff(stereo, le("data", uint32(0), "abc")), 0},
	} {
		clip, err := DecodeWAV(c.file)
		require.NoError(t, err, name)
		assert.Len(t, clip.Samples, c.want, name)
	}
}

// TestWAVTooLong: a length beyond the limit is refused before memory is taken.
func TestWAVTooLong(t *testing.T) {
	data := make([]byte, MaxSeconds*1000+1)
	_, err := DecodeWAV(riff(chunk("fmt ", classic(1, 1, 1000, 1, 8)), chunk("data", data)))
	assert.ErrorContains(t, err, "1200 seconds of audio, more than 1200 are not read")
	_, err = DecodeWAV(riff(chunk("fmt ", classic(1, 1, 1000, 1, 8)), chunk("data", data[1:])))
	assert.NoError(t, err)
	assert.ErrorContains(t, checkLength(MaxValues/2+1, 768000, 2), "2 channels of 67108865 samples")
	assert.NoError(t, checkLength(MaxValues/2, 768000, 2))
}

func FuzzWAV(f *testing.F) {
	for _, c := range codings {
		data, _ := c.ramps(9)
		f.Add(riff(chunk("fmt ", classic(c.tag, 3, 24000, c.width, 8*c.width)), chunk("data", data)))
		f.Add(riff(chunk("LIST", []byte("odd")), chunk("fmt ", extensible(c.tag, 1, 24000, c.width, 8*c.width)), le("data", uint32(0), data)))
	}
	f.Add(le("RF64", uint32(0), "WAVE", chunk("ds64", le(uint64(0), uint64(8))), chunk("fmt ", classic(1, 1, 8000, 2, 16)),
		"data", uint32(math.MaxUint32), make([]byte, 8)))
	f.Add(riff(chunk("fmt ", classic(0x11, 1, 24000, 1, 4)), chunk("data", make([]byte, 8))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		clip, err := DecodeWAV(raw)
		if err != nil {
			return
		}
		assert.NoError(t, checkShape(clip.Rate, clip.Channels))
		assert.LessOrEqual(t, len(clip.Samples), len(raw))
		assert.Zero(t, len(clip.Samples)%clip.Channels)
		assert.NotEmpty(t, clip.Encoding)
		assert.NotEmpty(t, clip.Report().String())
	})
}
