package audio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSniff: files are known by their first bytes. Only headers are needed; the rest of the data is random.
func TestSniff(t *testing.T) {
	ogg := func(packet string) string {
		return "OggS\x00\x02" + string(make([]byte, 20)) + "\x02\x1e\x01" + packet
	}
	for head, want := range map[string]kind{
		"RIFF\x24\x00\x00\x00WAVEfmt ":                      {name: "WAV", by: byUs},
		"RF64\xff\xff\xff\xffWAVEds64":                      {name: "WAV (RF64)", by: byUs},
		"BW64\xff\xff\xff\xffWAVEds64":                      {name: "WAV (BW64)", by: byUs},
		"RIFX\x00\x00\x00\x24WAVEfmt ":                      {name: "WAV (big-endian)", by: bySndfile},
		"fLaC\x00\x00\x00\x22":                              {name: "FLAC", by: bySndfile},
		"FORM\x00\x00\x10\x00AIFFCOMM":                      {name: "AIFF", by: bySndfile},
		"FORM\x00\x00\x10\x00AIFCFVER":                      {name: "AIFF-C", by: bySndfile},
		"caff\x00\x01\x00\x00desc":                          {name: "CAF", by: bySndfile},
		".snd\x00\x00\x00\x18":                              {name: "AU", by: bySndfile},
		ogg("\x01vorbis"):                                   {name: "Ogg Vorbis", by: bySndfile},
		ogg("OpusHead"):                                     {name: "Ogg Opus", by: bySndfile},
		ogg("\x7fFLAC"):                                     {name: "Ogg FLAC", by: bySndfile},
		ogg("Speex   "):                                     {name: "Ogg Speex", hint: convert},
		ogg("\x80theora"):                                   {name: "an Ogg Theora video", hint: convert},
		ogg("fishead"):                                      {name: "an Ogg file of unknown content", hint: convert},
		"OggS":                                              {name: "an Ogg file of unknown content", hint: convert},
		"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x00":   {name: "MP3", by: bySndfile},
		"ID3\x04\x00\x00\x00\x00\x00\x02..fLaC":             {name: "FLAC", by: bySndfile},
		"ID3\x04\x00\x00\x00\x00\x00\x02..\xff\xf1\x50\x80": {name: "AAC audio", hint: convert},
		"ID3\x04\x00\x00\x7f\x7f\x7f\x7f":                   {name: "MP3", by: bySndfile},
		"ID3":                                               {name: "MP3", by: bySndfile},
		"\xff\xfb\x90\x64":                                  {name: "MP3", by: bySndfile},
		"\xff\xf3\x84\xc4":                                  {name: "MP3", by: bySndfile}, // MPEG 2
		"\xff\xe3\x18\xc4":                                  {name: "MP3", by: bySndfile}, // MPEG 2.5
		"\xff\xf1\x50\x80":                                  {name: "AAC audio", hint: convert},
		"\x00\x00\x00\x20ftypM4A \x00":                      {name: "M4A audio (AAC or ALAC in MP4)", hint: convert},
		"\x00\x00\x00\x20ftypisom\x00":                      {name: "an MP4 file", hint: convert},
		"\x00\x00\x00\x14ftypqt  ":                          {name: "a QuickTime file", hint: convert},
		"\x00\x00\x00\x14ftyp3gp4":                          {name: "a 3GP file", hint: convert},
		"\x1a\x45\xdf\xa3\x01":                              {name: "a WebM or Matroska file", hint: convert},
		"#!AMR\n<":                                          {name: "AMR audio", hint: convert},
		"RIFF\x24\x00\x00\x00AVI LIST":                      {name: "an AVI video", hint: convert},
		"RIFF\x24\x00\x00\x00ABCD":                          {name: "a RIFF file, but no WAV file"},
		"MThd\x00\x00\x00\x06":                              {name: "a MIDI file", hint: "it holds notes, not sound: render it to WAV first"},
		"PK\x03\x04\x14":                                    {name: "a ZIP archive", hint: unpack},
		"GGUF\x03\x00\x00\x00":                              {name: "a GGUF model"},
		"\xff\xd8\xff\xe0":                                  {name: "a JPEG picture"},
		"":                                                  {name: "an empty file"},
		"\x00\x00\x00\x00\x00":                              {name: "5 zero bytes"},
		"Hello, world.\n":                                   {name: "a text file"},
		"\ufeffHello":                                       {name: "a text file"},
		"这是参考文本。":                                           {name: "a text file"},
		"\xff\xfeH\x00":                                     {name: "a text file (UTF-16)"},
		"\n <!DOCTYPE html><html>":                          {name: "an HTML page", hint: "perhaps the answer of a site instead of the file: download it again"},
		"<html>":                                            {name: "an HTML page", hint: "perhaps the answer of a site instead of the file: download it again"},
		"version https://git-lfs.github.com/spec/":          {name: "a Git LFS pointer", hint: "fetch the file itself with `git lfs pull`"},
		"<?xml version":                                     {name: "an XML file"},
		"{\"error\": 404}":                                  {name: "a JSON file"},
		"\x01\x02\xff\xfb\x90":                              {name: "of an unknown format (it begins with 01 02 ff fb 90)", hint: "if it holds bare samples, give them a WAV header"},
		"\xff\xff\xff\xff":                                  {name: "of an unknown format (it begins with ff ff ff ff)", hint: "if it holds bare samples, give them a WAV header"},
	} {
		assert.Equal(t, want, sniff([]byte(head)), "%q", head)
	}
	long := bytes.Repeat([]byte("é"), sniffBytes) // the part looked at ends in a character
	assert.Equal(t, kind{name: "a text file"}, sniff(append([]byte("x"), long...)))
}

// TestRefusals: what cannot be read is named, with what to do.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	for want, data := range map[string]string{
		"m4a: this is M4A audio (AAC or ALAC in MP4); it is not read here: convert it to WAV": "\x00\x00\x00\x20ftypM4A \x00",
		"text: this is a text file, not audio":                                                "This is the transcript.",
		"none: this is an empty file, not audio":                                              "",
		"riff: wav: no fmt chunk":                                                             "RIFF\x00\x00\x00\x00WAVE",
	} {
		path := filepath.Join(dir, want[:bytes.IndexByte([]byte(want), ':')])
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		_, err := Load(path)
		assert.ErrorContains(t, err, "audio: "+dir)
		assert.ErrorContains(t, err, want)
	}
	_, err := Load(dir)
	assert.ErrorContains(t, err, dir+": is a directory")
	_, err = Load(filepath.Join(dir, "missing.wav"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Decode([]byte("RIFF"), "")
	assert.EqualError(t, err, "audio: this is a RIFF file, but no WAV file, not audio")

	large := filepath.Join(dir, "large.wav")
	f, err := os.Create(large)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(maxFileBytes+1)) // sparse
	require.NoError(t, f.Close())
	_, err = Load(large)
	assert.ErrorContains(t, err, "has 1073741825 bytes, more than 1073741824 are not read")
}

func TestCutOff(t *testing.T) {
	form := []byte("FORM\x00\x00\x00\x04AIFF")
	assert.False(t, cutOff(form))
	assert.True(t, cutOff(form[:11]))
	page := func(flags byte) string { return "OggS\x00" + string(flags) + "........" }
	assert.False(t, cutOff([]byte(page(2)+page(4))))
	assert.True(t, cutOff([]byte(page(2)+page(0))))
	assert.True(t, cutOff([]byte(page(2)+"OggS")))
	assert.False(t, cutOff([]byte("fLaC")))
	assert.True(t, cutOff([]byte("RIFX\x00\x00\x00\x05WAVE")))
	assert.False(t, cutOff([]byte(".snd\x00\x00\x00\x18\xff\xff\xff\xff")))
	assert.True(t, cutOff([]byte(".snd\x00\x00\x00\x18\x00\x00\x00\x01")))
	assert.True(t, cutOff([]byte("riff............\x20\x00\x00\x00\x00\x00\x00\x00")))
}

func FuzzSniff(f *testing.F) {
	for _, m := range magics {
		f.Add([]byte(m.pattern))
	}
	for _, s := range []string{"", "ID3\x04\x00\x00\x00\x00\x00\x02..fLaC", "OggS", "\xff\xfb\x90\x64", "text", "\xff\xfe", "FORM\x00\x00\x00\x04AIFF"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k := sniff(data)
		assert.NotEmpty(t, k.name)
		if k.by == byNobody {
			assert.Error(t, k.refusal())
		}
		cutOff(data)
	})
}
