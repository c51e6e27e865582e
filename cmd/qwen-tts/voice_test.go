package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// cloning returns the flags of a short, repeatable synthesis with a base model.
func cloning(t *testing.T, more ...string) []string {
	t.Helper()
	return tiny(t, "tiny-base-17", append([]string{"--seed", "3", "--max-new", "5", "--format", "wav32"}, more...)...)
}

// transcriptFile writes a transcript that fits the golden recording.
func transcriptFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "speech.txt")
	require.NoError(t, os.WriteFile(path, []byte("The quick brown fox jumps.\n"), 0o600))
	return path
}

// A recording, the voice kept of it, and that voice taken apart into side files all speak alike.
func TestAKeptVoiceSpeaksLikeItsRecording(t *testing.T) {
	dir := t.TempDir()
	speech := golden.Path(t, "audio", "speech_24k.wav")
	text, qvoice := transcriptFile(t), filepath.Join(dir, "声.qvoice")
	speak := func(more ...string) []float32 {
		out, stderr := mustRun(t, "Hello there.", cloning(t, append([]string{"-o", "-"}, more...)...)...)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "the length only: %s", stderr)
		return decode(t, out)
	}
	continued := speak("--ref-wav", speech, "--ref-text", text, "--save-voice", qvoice)
	assert.Equal(t, continued, speak("--ref-wav", speech, "--ref-text", text), "keeping changes nothing")
	assert.Equal(t, continued, speak("--voice", qvoice))
	vector := speak("--ref-wav", speech)
	assert.NotEqual(t, continued, vector)
	assert.Equal(t, vector, speak("--voice", qvoice, "--x-vector-only"))
	assert.Equal(t, vector, speak("--ref-wav", speech, "--ref-text", text, "--x-vector-only"))

	v, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Equal(t, "The quick brown fox jumps.", v.Transcript)
	assert.Len(t, v.Codes, 25)
	assert.Equal(t, cli.Banner(version), v.Tool)
	spk, rvq := filepath.Join(dir, "v.spk"), filepath.Join(dir, "v.rvq")
	require.NoError(t, voicefile.WriteXVector(spk, v.XVector))
	require.NoError(t, voicefile.WriteCodes(rvq, v.Codes, 16, 512))
	again := filepath.Join(dir, "again.qvoice")
	assert.Equal(t, continued, speak("--ref-spk", spk, "--ref-rvq", rvq, "--ref-text", text, "--save-voice", again))
	assert.Equal(t, testenv.Content(t, qvoice), testenv.Content(t, again), "side files become the same voice")
	assert.Equal(t, vector, speak("--ref-spk", spk))

	// Without -o the voice is all that is made, and stdin is not read.
	only := filepath.Join(dir, "only.qvoice")
	stdout, stderr := mustRun(t, "", cloning(t, "--ref-wav", speech, "--save-voice", only)...)
	assert.Empty(t, stdout+stderr)
	w, err := voicefile.ReadVoice(only)
	require.NoError(t, err)
	assert.Empty(t, w.Transcript)
	assert.Equal(t, v.Codes, w.Codes, "for whoever has the transcript")
	assert.Equal(t, vector, speak("--voice", only))
	assert.Equal(t, continued, speak("--voice", only, "--ref-text", text))
}

func TestAVoiceFitsEveryPrecisionOfItsModelOnly(t *testing.T) {
	qvoice := filepath.Join(t.TempDir(), "v.qvoice")
	mustRun(t, "", cloning(t, "--ref-wav", golden.Path(t, "audio", "speech_24k.wav"), "--save-voice", qvoice)...)
	args := []string{"--voice", qvoice, "--max-new", "2", "-o", "-"}
	quantised := tiny(t, "tiny-base-17", args...)
	quantised[1], quantised[3] = golden.GGUF(t, "tiny-base-17", "Q8_0"), golden.GGUF(t, "tiny-tokenizer-12hz", "Q8_0")
	mustRun(t, "Hello.", quantised...)

	code, stdout, stderr := run(t.Context(), "Hello.", tiny(t, "tiny-base-06", args...)...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "voice of Qwen3-TTS-12Hz-1.7B-Base (1.7b, width 256) does not fit Qwen3-TTS-12Hz-0.6B-Base (0.6b, width 128)")
	assert.Empty(t, stdout)

	code, _, stderr = run(t.Context(), "Hello.", tiny(t, "tiny-customvoice-17", append(args, "--speaker", "vivian")...)...)
	assert.Equal(t, cli.ExitUsage, code, "a speaker and a voice")
	assert.Contains(t, stderr, "--speaker and --voice exclude each other")
	code, _, stderr = run(t.Context(), "Hello.", tiny(t, "tiny-customvoice-17", args...)...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "--voice: this is a custom_voice model; only a base model clones")
	code, _, stderr = run(t.Context(), "Hello.", tiny(t, "tiny-voicedesign-17", append(args, "--instruct", "calm")...)...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "only a base model clones")
}

// ending is a copy of the tiny VoiceDesign model that ends its speech soon.
func ending(t *testing.T) string {
	t.Helper()
	const eos = 614
	return golden.Rigged(t, golden.GGUF(t, "tiny-voicedesign-17", "F32"), golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
		if ti.Name == "talker.codec_head.weight" {
			row := data[4*ti.Shape[0]*eos : 4*ti.Shape[0]*(eos+1)]
			for i := 0; i < len(row); i += 4 {
				x := math.Float32frombits(binary.LittleEndian.Uint32(row[i:]))
				binary.LittleEndian.PutUint32(row[i:], math.Float32bits(-1e4*x))
			}
		}
		return true
	}})
}

// One command: design, keep, speak. Then the kept voice speaks alike.
func TestDesignedVoice(t *testing.T) {
	dir := t.TempDir()
	qvoice := filepath.Join(dir, "sailor.qvoice")
	design := cloning(t, "--lang", "german", "--design", "An old sailor, hoarse and calm.", "--base", golden.GGUF(t, "tiny-base-17", "F32"), "--save-voice", qvoice)
	design[1] = ending(t)
	out := filepath.Join(dir, "out.wav")
	_, stderr := mustRun(t, "Moin.", slices.Concat(design, []string{"-o", out, "-v"})...)
	assert.Regexp(t, `anchor: [2-4] frames`, stderr)
	assert.Contains(t, stderr, "warning: --design: the voice's recording; another --seed may make a better one: the transcript has", "so few frames cannot hold it")

	v, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Equal(t, "Qwen3-TTS-12Hz-1.7B-Base", v.Model.Name, "it is the base model's")
	assert.Contains(t, v.Transcript, "Guten Abend")
	assert.GreaterOrEqual(t, len(v.Codes), 2)
	spoken, _ := mustRun(t, "Moin.", cloning(t, "--lang", "german", "--voice", qvoice, "-o", "-")...)
	assertClose(t, decode(t, testenv.Content(t, out)), decode(t, spoken))

	// The same again, without speaking and with another text: the seed makes the voice.
	before := testenv.Content(t, qvoice)
	stdout, _ := mustRun(t, "", design...)
	assert.Empty(t, stdout)
	assert.Equal(t, before, testenv.Content(t, qvoice))
	mustRun(t, "", slices.Concat(design, []string{"--anchor-text", "Ahoi."})...)
	v, err = voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Equal(t, "Ahoi.", v.Transcript)

	// Without a file: design and speak.
	i := slices.Index(design, "--save-voice")
	spoken, _ = mustRun(t, "Moin.", slices.Concat(design[:i], []string{"-o", "-"})...)
	assertClose(t, decode(t, testenv.Content(t, out)), decode(t, spoken))
}

// A model that finds no end spoke something else than the text, or not all of it: the transcript would be wrong.
func TestDesignedVoiceWithoutEnd(t *testing.T) {
	qvoice := filepath.Join(t.TempDir(), "v.qvoice")
	args := cloning(t, "--design", "A child.", "--base", golden.GGUF(t, "tiny-base-17", "F32"), "--save-voice", qvoice)
	args[1] = golden.GGUF(t, "tiny-voicedesign-17", "F32")
	_, stderr := mustRun(t, "", args...)
	assert.Contains(t, stderr, "did not end the anchor text within 5 frames")
	v, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Empty(t, v.Transcript)
}

func TestDesignFailures(t *testing.T) {
	dir := t.TempDir()
	qvoice := filepath.Join(dir, "v.qvoice")
	base, design := golden.GGUF(t, "tiny-base-17", "F32"), golden.GGUF(t, "tiny-voicedesign-17", "F32")
	for name, tc := range map[string]struct {
		model, base string
		more        []string
		code        int
		want        string
	}{
		"base as model":       {base, base, nil, cli.ExitMode, "--model must be a voice_design model, this is a base model"},
		"design as base":      {design, design, nil, cli.ExitMode, "--base must be a base model, this is a voice_design model"},
		"no such base":        {design, filepath.Join(dir, "none.gguf"), nil, cli.ExitModel, "none.gguf"},
		"codec as base":       {design, golden.GGUF(t, "tiny-tokenizer-12hz", "F32"), nil, cli.ExitModel, "tiny-tokenizer-12hz"},
		"no default anchor":   {design, base, []string{"--lang", "Deutsch"}, cli.ExitUsage, "--anchor-text is missing"},
		"unspeakable anchor":  {design, base, []string{"--anchor-text", " "}, cli.ExitUsage, "text"},
		"no such folder":      {design, base, []string{"--save-voice", filepath.Join(dir, "none", "v.qvoice")}, cli.ExitIO, "--save-voice"},
		"unknown language":    {design, base, []string{"--lang", "klingon", "--anchor-text", "Qapla'."}, cli.ExitUsage, "klingon"},
		"a folder as a voice": {design, base, []string{"--save-voice", dir}, cli.ExitIO, "directory"},
	} {
		t.Run(name, func(t *testing.T) {
			args := tiny(t, "tiny-base-17", append([]string{"--design", "A child.", "--base", tc.base, "--save-voice", qvoice, "--seed", "1", "--max-new", "2", "-v"}, tc.more...)...)
			args[1] = tc.model
			code, _, stderr := run(t.Context(), "", args...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, stderr, tc.want)
			assert.Empty(t, testenv.Names(t, dir), "nothing is left behind")
			if tc.code == cli.ExitMode || tc.code == cli.ExitModel {
				assert.NotContains(t, stderr, "anchor:", "a wrong model is noticed before anything is spoken")
			}
		})
	}
}

func TestVoiceFileFailures(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.qvoice")
	speech := golden.Path(t, "audio", "speech_24k.wav")
	mustRun(t, "", cloning(t, "--ref-wav", speech, "--save-voice", good)...)
	put := func(name, data string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	data := testenv.Content(t, good)
	v, err := voicefile.ReadVoice(good)
	require.NoError(t, err)
	v.Codes = nil
	bare := filepath.Join(dir, "bare.qvoice")
	require.NoError(t, voicefile.WriteVoice(bare, v))
	short := filepath.Join(dir, "short.spk")
	require.NoError(t, voicefile.WriteXVector(short, v.XVector[:128]))
	for name, tc := range map[string]struct {
		flags []string
		code  int
		want  string
	}{
		"no such voice":          {[]string{"--voice", filepath.Join(dir, "none.qvoice")}, cli.ExitIO, "none.qvoice"},
		"truncated":              {[]string{"--voice", put("cut.qvoice", data[:99])}, cli.ExitUsage, "truncated"},
		"damaged":                {[]string{"--voice", put("bad.qvoice", data[:99]+"!"+data[100:])}, cli.ExitUsage, "checksum"},
		"newer":                  {[]string{"--voice", put("new.qvoice", data[:8]+"\x02"+data[9:])}, cli.ExitUsage, "newer libqwen"},
		"a recording":            {[]string{"--voice", speech}, cli.ExitUsage, "is a WAV file, not a .qvoice file"},
		"text":                   {[]string{"--voice", put("v.txt", "voice")}, cli.ExitUsage, "not a .qvoice file"},
		"a voice as --ref-spk":   {[]string{"--ref-spk", good}, cli.ExitUsage, "is a .qvoice file, not a .spk file"},
		"a voice as --ref-wav":   {[]string{"--ref-wav", good}, cli.ExitUsage, "good.qvoice"},
		"a recording as codes":   {[]string{"--ref-spk", short, "--ref-text", put("t.txt", "Hi."), "--ref-rvq", speech}, cli.ExitUsage, "is a WAV file, not a .rvq file"},
		"vector of another size": {[]string{"--ref-spk", short}, cli.ExitUsage, "128 values"},
		"kept vector of another": {[]string{"--ref-spk", short, "--save-voice", filepath.Join(dir, "x.qvoice")}, cli.ExitUsage, "128 values for a model of width 256"},
		"text without codes":     {[]string{"--voice", bare, "--ref-text", put("t.txt", "Hi.")}, cli.ExitUsage, "has no codes"},
		"empty transcript":       {[]string{"--ref-wav", speech, "--ref-text", put("e.txt", "")}, cli.ExitUsage, "transcript is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t.Context(), "Hello.", tiny(t, "tiny-base-17", slices.Concat(tc.flags, []string{"-o", "-"})...)...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, stderr, tc.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.LessOrEqual(t, len(stdout), 44, "at most a header")
			assert.NoFileExists(t, filepath.Join(dir, "x.qvoice"))
		})
	}
}

func TestAnchorText(t *testing.T) {
	for lang, want := range map[string]string{
		"auto": "Good evening", "": "Good evening", "English": "Good evening", "zh-CN": "晚上好", "DE": "Guten", "fr_CA": "Bonsoir", "korean": "안녕",
	} {
		text, err := (&options{lang: lang}).anchorText()
		require.NoError(t, err, lang)
		assert.Contains(t, text, want)
	}
	text, err := (&options{lang: "klingon", anchor: "nuqneH"}).anchorText()
	require.NoError(t, err)
	assert.Equal(t, "nuqneH", text)
	_, err = (&options{lang: "klingon"}).anchorText()
	assert.ErrorContains(t, err, "klingon")
}
