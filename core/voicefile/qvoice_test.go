package voicefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// voice is a small one with everything in it.
func voice() *Voice {
	v := &Voice{
		Model:      Identity{Name: "Qwen3-TTS-12Hz-1.7B-Base", Size: "1.7b", Width: 3, Codebooks: 2, CodebookSize: 2048},
		XVector:    []float32{1, -0.5, 0},
		Codes:      [][]int32{{1, 0x7ff}, {2, 0}, {0x400, 0x555}},
		Transcript: "Grüße,\n世界.",
		Tool:       "libqwen test",
	}
	v.Model.Speaker[0], v.Model.Codec[31] = 7, 9
	return v
}

func mustFormat(t testing.TB, v *Voice) []byte {
	t.Helper()
	data, err := FormatVoice(v)
	require.NoError(t, err)
	return data
}

// The format, written down byte by byte: files must stay readable.
func TestVoiceLayout(t *testing.T) {
	var body bytes.Buffer
	u32 := func(n int) { require.NoError(t, binary.Write(&body, binary.LittleEndian, uint32(n))) }
	text := func(s string) {
		u32(len(s))
		body.WriteString(s)
	}
	text("Qwen3-TTS-12Hz-1.7B-Base")
	text("1.7b")
	text("libqwen test")
	u32(3)
	u32(2)
	u32(2048)
	body.Write(append([]byte{7}, make([]byte, 31)...))
	body.Write(append(make([]byte, 31), 9))
	text("Grüße,\n世界.")
	text("\x00\x00\x80\x3f\x00\x00\x00\xbf\x00\x00\x00\x00")
	text(string(mustCodes(t)))

	want := []byte("\x89QVOICE\n\x01\x00\x00\x00")
	want = binary.LittleEndian.AppendUint32(want, uint32(body.Len()))
	want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(body.Bytes(), crc32.MakeTable(crc32.Castagnoli)))
	want = append(want, body.Bytes()...)
	assert.Equal(t, want, mustFormat(t, voice()))
}

func mustCodes(t *testing.T) []byte {
	t.Helper()
	data, err := FormatCodes(voice().Codes, 2, 2048)
	require.NoError(t, err)
	return data
}

func TestVoiceRoundTrip(t *testing.T) {
	bare := voice()
	bare.Codes, bare.Transcript, bare.Tool, bare.Model.Name, bare.Model.Size = nil, "", "", "", ""
	untold := voice()
	untold.Transcript = ""
	for name, v := range map[string]*Voice{"full": voice(), "x-vector only": bare, "no transcript": untold} {
		got, err := ParseVoice(mustFormat(t, v))
		require.NoError(t, err, name)
		assert.Equal(t, v, got, name)
	}
}

func TestVoiceFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "声.qvoice")
	require.NoError(t, WriteVoice(path, voice()))
	require.NoError(t, WriteVoice(path, voice()), "replaced")
	got, err := ReadVoice(path)
	require.NoError(t, err)
	assert.Equal(t, voice(), got)

	_, err = ReadVoice(filepath.Join(dir, "none.qvoice"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorAs(t, WriteVoice(filepath.Join(dir, "none", "x.qvoice"), voice()), new(*fs.PathError))
	bad := voice()
	bad.XVector = bad.XVector[:2]
	assert.ErrorContains(t, WriteVoice(path, bad), "x-vector: 2 values for a model of width 3")
	bad = voice()
	bad.Codes[1][0] = 2048
	assert.ErrorContains(t, WriteVoice(path, bad), "code 2048")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "failures leave nothing behind")
}

// Each kind of voice file in the place of another.
func TestMixedUpFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	qvoice := file("v.qvoice", mustFormat(t, voice()))
	wav := file("v.wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt "))
	gguf := file("v.gguf", []byte("GGUF\x03\x00\x00\x00"))
	spk := file("v.spk", FormatXVector(make([]float32, 2048)))
	rvq := file("v.rvq", make([]byte, 22*3))
	for path, kind := range map[string]string{qvoice: voiceKind, wav: "a WAV file", gguf: "a GGUF model"} {
		_, err := ReadXVector(path)
		assert.EqualError(t, err, path+" is "+kind+", not a .spk file")
		_, err = ReadCodes(path, 16, 2048)
		assert.EqualError(t, err, path+" is "+kind+", not a .rvq file")
		if path != qvoice {
			_, err = ReadVoice(path)
			assert.EqualError(t, err, path+" is "+kind+", not "+voiceKind)
		}
	}
	for _, path := range []string{spk, rvq} {
		_, err := ReadVoice(path)
		assert.EqualError(t, err, path+": voice: this is not "+voiceKind)
	}
	_, err := ReadCodes(spk, 16, 2048)
	assert.ErrorContains(t, err, "8192 bytes are no whole number of frames")
	_, err = ReadXVector(rvq)
	assert.ErrorContains(t, err, "66 bytes are no whole number of float32")
}

func TestEveryDamageIsSeen(t *testing.T) {
	data := mustFormat(t, voice())
	for i := range data {
		for _, flip := range []byte{1, 0x80} {
			damaged := bytes.Clone(data)
			damaged[i] ^= flip
			_, err := ParseVoice(damaged)
			require.Error(t, err, "byte %d", i)
		}
		_, err := ParseVoice(data[:i])
		require.Error(t, err, "%d bytes", i)
	}
}

func TestVoiceHeaderRefuses(t *testing.T) {
	data := mustFormat(t, voice())
	parse := func(change func(d []byte) []byte) error {
		_, err := ParseVoice(change(bytes.Clone(data)))
		return err
	}
	assert.EqualError(t, parse(func([]byte) []byte { return nil }), "voice: this is not a .qvoice file")
	assert.EqualError(t, parse(func(d []byte) []byte { d[8] = 2; return d }),
		"voice: version 2 was written by a newer libqwen; this one reads version 1")
	assert.ErrorContains(t, parse(func(d []byte) []byte { d[8] = 0; return d }), "version 0")
	assert.ErrorContains(t, parse(func(d []byte) []byte { return d[:100] }), fmt.Sprintf("truncated: 80 of %d bytes", len(data)-20))
	assert.ErrorContains(t, parse(func(d []byte) []byte { return append(d, 0, 0) }), "2 bytes follow its end")
	assert.ErrorContains(t, parse(func(d []byte) []byte { d[30] ^= 1; return d }), "checksum")
	assert.ErrorContains(t, parse(func(d []byte) []byte { // what a transfer as text does
		return bytes.Replace(d, []byte("\n"), []byte("\r\n"), 1)
	}), "not a .qvoice file")
}

// Bodies with a right checksum and wrong contents, as a program with a fault (or of ill will) would write them.
func TestVoiceBodyRefuses(t *testing.T) {
	body := mustFormat(t, voice())[voiceHeader:]
	at := map[string]int{} // offsets of the fields
	at["name"] = 0
	at["size"] = at["name"] + 4 + len("Qwen3-TTS-12Hz-1.7B-Base")
	at["tool"] = at["size"] + 4 + len("1.7b")
	at["width"] = at["tool"] + 4 + len("libqwen test")
	at["codebooks"] = at["width"] + 4
	at["codebook size"] = at["codebooks"] + 4
	at["transcript"] = at["codebook size"] + 4 + 64
	at["x-vector"] = at["transcript"] + 4 + len("Grüße,\n世界.")
	at["codes"] = at["x-vector"] + 4 + 12
	require.Equal(t, len(body), at["codes"]+4+9)

	set := func(field string, n uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[at[field]:], n)
			return b
		}
	}
	for name, tc := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"empty":                 {func([]byte) []byte { return nil }, "name: length: 4 bytes, but 0 are left"},
		"name without end":      {set("name", math.MaxUint32), "name: length: 4294967295 is more than"},
		"name too long":         {set("name", 257), "name: length: 257 is more than 256"},
		"name swallows":         {set("name", 30), "more than"},
		"name not printable":    {func(b []byte) []byte { b[5] = 0x1b; return b }, "name: byte 1 is not of a printable"},
		"name not UTF-8":        {func(b []byte) []byte { b[5] = 0xff; return b }, "name: byte 1 is not of a printable"},
		"no width":              {set("width", 0), "width: 0"},
		"width":                 {set("width", 4), "x-vector: 3 values for a model of width 4"},
		"width huge":            {set("width", 1<<31), "width: 2147483648 is more than"},
		"no codebooks":          {set("codebooks", 0), "cannot pack 0 codebooks"},
		"codebooks huge":        {set("codebooks", math.MaxInt32), "cannot pack"},
		"codebooks more":        {set("codebooks", math.MaxUint32), "codebooks: 4294967295 is more than"},
		"codebook size":         {set("codebook size", 1), "cannot pack"},
		"codebook size small":   {set("codebook size", 1025), "codes:"},
		"codes do not divide":   {set("codebooks", 5), "no whole number of frames"},
		"transcript too long":   {set("transcript", 1<<16+1), "transcript: length: 65537 is more than"},
		"transcript past end":   {set("transcript", 1000), "transcript: 1000 bytes, but"},
		"transcript not UTF-8":  {func(b []byte) []byte { b[at["transcript"]+4] = 0xc0; return b }, "transcript: not UTF-8"},
		"x-vector empty":        {func(b []byte) []byte { return slice(b, at["x-vector"], 16, "\x00\x00\x00\x00") }, "x-vector: the file is empty"},
		"x-vector odd":          {set("x-vector", 11), ""},
		"x-vector count":        {set("x-vector", 1<<31-1), "x-vector: length: 2147483647 is more than"},
		"x-vector NaN":          {func(b []byte) []byte { copy(b[at["x-vector"]+4:], "\x00\x00\xc0\x7f"); return b }, "value 0 is NaN"},
		"codes past end":        {set("codes", 10), "codes: 10 bytes, but 9 are left"},
		"codes before end":      {set("codes", 8), "1 bytes follow the codes"},
		"codes padding not 0":   {func(b []byte) []byte { b[len(b)-1] |= 0x80; return b }, "unused bits"},
		"bytes after the codes": {func(b []byte) []byte { return append(b, 0) }, "1 bytes follow the codes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseVoice(seal(tc.change(bytes.Clone(body))))
			require.Error(t, err)
			assert.ErrorContains(t, err, tc.want)
			assert.True(t, strings.HasPrefix(err.Error(), "voice: "), err)
		})
	}
}

// slice replaces n bytes of b.
func slice(b []byte, from, n int, by string) []byte {
	return append(append(bytes.Clone(b[:from]), by...), b[from+n:]...)
}

func TestFormatVoiceRefuses(t *testing.T) {
	for want, change := range map[string]func(v *Voice){
		"width: 0 is not in":    func(v *Voice) { v.Model.Width = 0 },
		"width: 65537":          func(v *Voice) { v.Model.Width = 1<<16 + 1 },
		"value 1 is +Inf":       func(v *Voice) { v.XVector[1] = float32(math.Inf(1)) },
		"cannot pack -1":        func(v *Voice) { v.Model.Codebooks = -1 },
		"frame 2 has 1 codes":   func(v *Voice) { v.Codes[2] = v.Codes[2][:1] },
		"name: longer than 256": func(v *Voice) { v.Model.Name = strings.Repeat("x", 257) },
		"tool: byte 1":          func(v *Voice) { v.Tool = "a\nb" },
		"transcript: longer":    func(v *Voice) { v.Transcript = strings.Repeat("x", 1<<16+1) },
		"transcript: not UTF-8": func(v *Voice) { v.Transcript = "\xff" },
		"12000 frames of codes": func(v *Voice) { v.Model.Codebooks, v.Codes = 1024, newCodes(12000, 1024) },
	} {
		v := voice()
		change(v)
		_, err := FormatVoice(v)
		assert.ErrorContains(t, err, want)
	}
}

func TestCheck(t *testing.T) {
	v := voice()
	v.Model.Width = 2048
	assert.NoError(t, v.Check(v.Model))
	other := v.Model
	other.Name, other.Size = "a fine-tune", ""
	assert.NoError(t, v.Check(other), "names do not decide")
	other.Speaker, other.Codec = [32]byte{}, [32]byte{}
	assert.NoError(t, v.Check(other), "a model whose fingerprints are not known")

	small := Identity{Name: "Qwen3-TTS-12Hz-0.6B-Base", Size: "0.6b", Width: 1024, Codebooks: 2, CodebookSize: 2048}
	err := v.Check(small)
	assert.ErrorIs(t, err, ErrMismatch)
	assert.EqualError(t, err, "voice of Qwen3-TTS-12Hz-1.7B-Base (1.7b, width 2048) does not fit Qwen3-TTS-12Hz-0.6B-Base (0.6b, width 1024)")

	for want, change := range map[string]func(*Identity){
		"its frames have 2 codes of 2048, the model's 16 of 2048": func(i *Identity) { i.Codebooks = 16 },
		"its frames have 2 codes of 2048, the model's 2 of 512":   func(i *Identity) { i.CodebookSize = 512 },
		"their speaker encoders differ":                           func(i *Identity) { i.Speaker[5]++ },
		"its codes are those of another speech tokenizer":         func(i *Identity) { i.Codec[5]++ },
		"does not fit a model without name (width 2048)":          func(i *Identity) { i.Name, i.Size, i.Speaker[0] = "", "", 1 },
	} {
		other := v.Model
		change(&other)
		err := v.Check(other)
		assert.ErrorIs(t, err, ErrMismatch)
		assert.ErrorContains(t, err, want)
	}
	codec := Identity{Codebooks: 2, CodebookSize: 2048, Codec: v.Model.Codec} // without a talker
	assert.NoError(t, v.Check(codec))
	codec.Codec[0]++
	assert.ErrorContains(t, v.Check(codec), "does not fit a model without name: its codes")

	v.Codes = nil
	other = v.Model
	other.Codebooks, other.Codec[0] = 3, 77
	assert.NoError(t, v.Check(other), "without codes the codec does not matter")
}

// Whatever parses must come back byte for byte.
func FuzzParseVoice(f *testing.F) {
	f.Add(mustFormat(f, voice()))
	f.Add([]byte(voiceMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseVoice(data)
		if err != nil {
			return
		}
		require.Equal(t, data, mustFormat(t, v))
	})
}

// FuzzVoiceBody gets past the checksum.
func FuzzVoiceBody(f *testing.F) {
	f.Add(mustFormat(f, voice())[voiceHeader:])
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := ParseVoice(seal(body))
		if err != nil {
			return
		}
		require.NoError(t, v.Check(v.Model))
		require.Equal(t, seal(body), mustFormat(t, v))
	})
}
