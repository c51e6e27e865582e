package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

const (
	tinyTalker = "tiny-base-17"
	tinyCodec  = "tiny-tokenizer-12hz"
	codebooks  = 16
	entries    = 512
)

// tiny returns the flags that name the tiny codec, on one thread.
func tiny(t *testing.T, more ...string) []string {
	t.Helper()
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	return append([]string{"--model", golden.GGUF(t, tinyCodec, "F32"), "--threads", "1"}, more...)
}

// mustRun runs the command and wants it to succeed.
func mustRun(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t.Context(), args...)
	require.Equal(t, cli.ExitOK, code, stderr)
	return stdout, stderr
}

// clip copies a golden recording into a fresh folder.
func clip(t *testing.T, name string) (path string) {
	t.Helper()
	return file(t, t.TempDir(), name+".wav", testenv.Content(t, golden.Path(t, "audio", name+"_24k.wav")))
}

func file(t *testing.T, dir, name, data string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

// wavFile writes a mono float recording.
func wavFile(t *testing.T, name string, rate int, pcm []float32) string {
	t.Helper()
	var b bytes.Buffer
	w, err := audio.NewWriter(&b, audio.WAV32, rate)
	require.NoError(t, err)
	require.NoError(t, w.Write(pcm))
	require.NoError(t, w.Close())
	return file(t, t.TempDir(), name, b.String())
}

// The side files hold what the reference implementation computed of the same recording.
func TestEncodesLikeTheReference(t *testing.T) {
	in := clip(t, "sweep")
	talker := golden.GGUF(t, tinyTalker, "F32")
	stdout, stderr := mustRun(t, tiny(t, "-i", in, "--talker", talker)...)
	assert.Empty(t, stderr)
	rvq, spk := sibling(in, ".rvq"), sibling(in, ".spk")
	assert.Equal(t, []string{"sweep.rvq", "sweep.spk", "sweep.wav"}, testenv.Names(t, filepath.Dir(in)))

	codes, err := voicefile.ReadCodes(rvq, codebooks, entries)
	require.NoError(t, err)
	z := golden.Load(t, "codec_enc_sweep")
	want, shape := z.I32("codes")
	gaps, _ := z.F32("rvq_gap") // [codebooks, frames]
	require.Len(t, codes, shape[0])
	compared := 0
	for f, frame := range codes {
		for k, code := range frame {
			if gaps[k*shape[0]+f] <= 1e-3 {
				break // a near tie: what follows depends on it
			}
			assert.Equal(t, want[f*shape[1]+k], code, "frame %d, codebook %d", f, k)
			compared++
		}
	}
	assert.Greater(t, compared, 100)

	x, err := voicefile.ReadXVector(spk)
	require.NoError(t, err)
	wantX, _ := golden.Load(t, "spk_tiny-base-17_sweep").F32("xvector")
	golden.Check(t, "xvector", x, wantX)
	assert.Equal(t, rvq+": "+describeCodes(codes)+"\n"+spk+": vector of 256 values\n", stdout)
}

func TestDecodesWhatItEncoded(t *testing.T) {
	in := clip(t, "speech")
	dir := filepath.Dir(in)
	rvq := filepath.Join(dir, "other.rvq")
	mustRun(t, tiny(t, "-i", in, "-o", rvq)...)
	assert.Equal(t, []string{"other.rvq", "speech.wav"}, testenv.Names(t, dir), "no talker, no vector")
	packed := testenv.Content(t, rvq)
	assert.Len(t, packed, 25*codebooks*9/8, "9 bits for 512 entries")

	stdout, _ := mustRun(t, tiny(t, "-i", rvq)...)
	wav := filepath.Join(dir, "other.wav")
	assert.Equal(t, wav+": 48000 samples, 2.00 s\n", stdout)
	for format, size := range map[string]int{"wav16": 2, "wav24": 3, "wav32": 4} {
		mustRun(t, tiny(t, "-i", rvq, "--format", format)...)
		assert.Len(t, testenv.Content(t, wav), 44+25*1920*size, "replaced, as %s", format)
		streamed, stderr := mustRun(t, tiny(t, "-i", rvq, "--format", format, "-o", "-")...)
		assert.Empty(t, stderr)
		assert.Equal(t, testenv.Content(t, wav)[44:], streamed[44:], "nothing else on stdout")
	}

	code, _, stderr := run(t.Context(), tiny(t, "-i", rvq, "--no-clobber")...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "exists")
	assert.Equal(t, packed, testenv.Content(t, rvq))
}

// TestDecodesLikeTheReference packs the reference's codes and compares the audio.
func TestDecodesLikeTheReference(t *testing.T) {
	z := golden.Load(t, "codec_dec_stages_T4")
	flat, shape := z.I32("codes")
	codes := make([][]int32, shape[0])
	for i := range codes {
		codes[i] = flat[i*shape[1] : (i+1)*shape[1]]
	}
	rvq := filepath.Join(t.TempDir(), "T4.rvq")
	require.NoError(t, voicefile.WriteCodes(rvq, codes, codebooks, entries))
	out, _ := mustRun(t, tiny(t, "-i", rvq, "-o", "-", "--format", "wav32")...)
	got, err := audio.DecodeWAV([]byte(out))
	require.NoError(t, err)
	want, _ := z.F32("wav")
	assert.GreaterOrEqual(t, golden.SNR(got.Samples, want), 80.0)
}

func TestOneVoiceFile(t *testing.T) {
	in := clip(t, "speech")
	dir := filepath.Dir(in)
	talker := golden.GGUF(t, tinyTalker, "F32")
	text := file(t, dir, "speech.txt", "\ufeffThe quick brown fox jumps.\r\n")
	qvoice := filepath.Join(dir, "声.qvoice")
	stdout, stderr := mustRun(t, tiny(t, "-i", in, "--talker", talker, "--voice", qvoice, "--ref-text", text)...)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "voice for Qwen3-TTS-12Hz-1.7B-Base (1.7b, width 256): vector of 256 values, 25 frames of 16 codes, 2.00 s, transcript of 26 characters")
	assert.ElementsMatch(t, []string{"speech.txt", "speech.wav", "声.qvoice"}, testenv.Names(t, dir), "instead of side files")

	v, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Equal(t, "The quick brown fox jumps.", v.Transcript)
	assert.Equal(t, cli.Banner(version), v.Tool)
	first := testenv.Content(t, qvoice)

	// With -o, both; they hold the same.
	rvq := filepath.Join(dir, "x.rvq")
	_, stderr = mustRun(t, tiny(t, "-i", in, "--talker", golden.GGUF(t, tinyTalker, "Q8_0"), "--voice", qvoice, "-o", rvq)...)
	assert.Contains(t, stderr, "without --ref-text")
	codes, err := voicefile.ReadCodes(rvq, codebooks, entries)
	require.NoError(t, err)
	x, err := voicefile.ReadXVector(filepath.Join(dir, "x.spk"))
	require.NoError(t, err)
	w, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	assert.Equal(t, v.Codes, codes)
	assert.Equal(t, w.XVector, x)
	assert.Empty(t, w.Transcript)
	assert.NoError(t, w.Check(v.Model), "the precision of the file does not matter")

	// A voice decodes like its codes.
	file(t, dir, "声.qvoice", first)
	fromVoice, _ := mustRun(t, tiny(t, "-i", qvoice, "-o", "-")...)
	fromCodes, _ := mustRun(t, tiny(t, "-i", rvq, "-o", "-")...)
	assert.Equal(t, fromCodes, fromVoice)

	// Its description, as text and as JSON, and whether it fits.
	stdout, _ = mustRun(t, "--check", qvoice)
	assert.Contains(t, stdout, "voice for Qwen3-TTS-12Hz-1.7B-Base")
	stdout, _ = mustRun(t, tiny(t, "--check", qvoice, "--json", "--talker", talker)...)
	var report voiceReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.Equal(t, 25, report.Frames)
	assert.Equal(t, "1.7b", report.Size)
	assert.Len(t, report.Codec, 64)
	code, _, stderr := run(t.Context(), tiny(t, "--check", qvoice, "--talker", golden.GGUF(t, "tiny-base-06", "F32"))...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "voice of Qwen3-TTS-12Hz-1.7B-Base (1.7b, width 256) does not fit Qwen3-TTS-12Hz-0.6B-Base (0.6b, width 128)")
}

func TestVoiceOfAnotherCodec(t *testing.T) {
	in := clip(t, "sweep")
	qvoice := sibling(in, ".qvoice")
	mustRun(t, tiny(t, "-i", in, "--talker", golden.GGUF(t, tinyTalker, "F32"), "--voice", qvoice)...)
	other := golden.Rigged(t, golden.GGUF(t, tinyCodec, "F32"), golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
		if ti.Name == "tok_dec.vq_first.0.codebook" {
			data[3] ^= 0x80
		}
		return true
	}})
	args := tiny(t, "-i", qvoice)
	args[1] = other
	code, _, stderr := run(t.Context(), args...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "another speech tokenizer")

	bare, err := voicefile.ReadVoice(qvoice)
	require.NoError(t, err)
	bare.Codes = nil
	require.NoError(t, voicefile.WriteVoice(qvoice, bare))
	code, _, stderr = run(t.Context(), tiny(t, "-i", qvoice)...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "no codes")
}

func TestSelfTest(t *testing.T) {
	stdout, stderr := mustRun(t, tiny(t)...)
	assert.Empty(t, stderr)
	assert.Regexp(t, `(?s)^load +16 codebooks of 512, 1920 samples a frame, .*\nencoder .* 25 frames, \d+ of them distinct.*\ndecoder  48000 samples, peak -.*\nok\n$`, stdout)
	stdout, stderr = mustRun(t, tiny(t, "--talker", golden.GGUF(t, tinyTalker, "F32"), "-v")...)
	assert.Contains(t, stdout, "speaker  vector of 256 values")
	assert.Contains(t, stderr, "Qwen3-TTS-12Hz-1.7B-Base")

	// A codec whose codes never change: every entry of each codebook of the encoder is the same.
	flat := golden.Rigged(t, golden.GGUF(t, tinyCodec, "F32"), golden.Rig{Tensor: func(ti *gguf.TensorInfo, data []byte) bool {
		if strings.HasPrefix(ti.Name, "tok_enc.") && strings.HasSuffix(ti.Name, ".codebook") {
			row := 4 * ti.Shape[0]
			for i := row; i < int64(len(data)); i += row {
				copy(data[i:], data[:row])
			}
		}
		return true
	}})
	args := tiny(t)
	args[1] = flat
	code, stdout, stderr := run(t.Context(), args...)
	assert.Equal(t, cli.ExitFailure, code)
	assert.Contains(t, stderr, "self-test: encoder: all frames of a gliding tone have the same codes")
	assert.NotContains(t, stdout, "\nok\n")
	_, stderr = mustRun(t, append(args, "-i", clip(t, "speech"))...)
	assert.Contains(t, stderr, "warning", "also when it encodes")
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	speech := clip(t, "speech")
	talker := golden.GGUF(t, tinyTalker, "F32")
	codec := golden.GGUF(t, tinyCodec, "F32")
	put := func(name, data string) string { return file(t, dir, name, data) }
	wav := testenv.Content(t, speech)
	silence := wavFile(t, "silence.wav", 24000, make([]float32, 24000))
	short := wavFile(t, "short.wav", 24000, glide(1919))
	long := wavFile(t, "long.wav", 8000, glide((core.MaxReferenceSeconds+1)*8000))
	nan := wavFile(t, "nan.wav", 24000, glide(24000))
	data := []byte(testenv.Content(t, nan))
	binary.LittleEndian.PutUint32(data[44+4*777:], math.Float32bits(float32(math.NaN())))
	require.NoError(t, os.WriteFile(nan, data, 0o600))
	good := filepath.Join(dir, "good.qvoice")
	mustRun(t, tiny(t, "-i", speech, "--talker", talker, "--voice", good)...)
	qvoice := testenv.Content(t, good)

	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no such recording":   {[]string{"-i", filepath.Join(dir, "none.wav")}, cli.ExitIO, "none.wav"},
		"no such codes":       {[]string{"-i", filepath.Join(dir, "none.rvq")}, cli.ExitIO, "none.rvq"},
		"no such voice":       {[]string{"-i", filepath.Join(dir, "none.qvoice")}, cli.ExitIO, "none.qvoice"},
		"no such transcript":  {[]string{"-i", speech, "--talker", talker, "--voice", filepath.Join(dir, "v.qvoice"), "--ref-text", "none.txt"}, cli.ExitIO, "none.txt"},
		"empty transcript":    {[]string{"-i", speech, "--talker", talker, "--voice", filepath.Join(dir, "v.qvoice"), "--ref-text", put("e.txt", "\n")}, cli.ExitUsage, "transcript is empty"},
		"no such folder":      {[]string{"-i", speech, "-o", filepath.Join(dir, "none", "x.rvq")}, cli.ExitIO, "no such file"},
		"a folder":            {[]string{"-i", dir}, cli.ExitIO, "directory"},
		"empty recording":     {[]string{"-i", put("empty.wav", "")}, cli.ExitUsage, "empty"},
		"text as recording":   {[]string{"-i", put("notes.wav", "These are my notes.\n")}, cli.ExitUsage, "notes.wav"},
		"header only":         {[]string{"-i", put("head.wav", wav[:44])}, cli.ExitUsage, "head.wav"},
		"silence":             {[]string{"-i", silence}, cli.ExitUsage, "silent"},
		"too short":           {[]string{"-i", short}, cli.ExitUsage, "1920 samples"},
		"too long":            {[]string{"-i", long}, cli.ExitUsage, "long"},
		"not finite":          {[]string{"-i", nan}, cli.ExitUsage, "1 of 24000 samples are NaN"},
		"model as recording":  {[]string{"-i", codec}, cli.ExitUsage, "GGUF"},
		"codes empty":         {[]string{"-i", put("empty.rvq", "")}, cli.ExitUsage, "empty"},
		"codes truncated":     {[]string{"-i", put("cut.rvq", strings.Repeat("\x00", 37))}, cli.ExitUsage, "37 bytes"},
		"recording as codes":  {[]string{"-i", put("wav.rvq", wav)}, cli.ExitUsage, "is a WAV file, not a .rvq file"},
		"voice as codes":      {[]string{"-i", put("voice.rvq", qvoice)}, cli.ExitUsage, "is a .qvoice file, not a .rvq file"},
		"vector as voice":     {[]string{"-i", put("spk.qvoice", strings.Repeat("\x00\x00\x80\x3f", 256))}, cli.ExitUsage, "not a .qvoice file"},
		"recording as voice":  {[]string{"-i", put("wav.qvoice", wav)}, cli.ExitUsage, "is a WAV file"},
		"voice truncated":     {[]string{"-i", put("cut.qvoice", qvoice[:200])}, cli.ExitUsage, "truncated"},
		"voice damaged":       {[]string{"-i", put("bad.qvoice", qvoice[:200]+"X"+qvoice[201:])}, cli.ExitUsage, "checksum"},
		"voice of the future": {[]string{"-i", put("new.qvoice", qvoice[:8]+"\x07"+qvoice[9:])}, cli.ExitUsage, "version 7"},
		"custom voice model":  {[]string{"-i", speech, "--talker", golden.GGUF(t, "tiny-customvoice-17", "F32")}, cli.ExitMode, "custom_voice"},
		"codec as talker":     {[]string{"-i", speech, "--talker", codec}, cli.ExitModel, "talker"},
		"threads":             {[]string{"-i", speech, "--threads", "-1"}, cli.ExitUsage, "thread"},
	} {
		t.Run(name, func(t *testing.T) {
			before := testenv.Names(t, dir)
			code, _, stderr := run(t.Context(), tiny(t, tc.args...)...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, stderr, tc.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Equal(t, before, testenv.Names(t, dir), "nothing is left behind")
		})
	}

	args := tiny(t, "-i", speech)
	args[1] = talker
	code, _, stderr := run(t.Context(), args...)
	assert.Equal(t, cli.ExitModel, code, "a talker as codec")
	assert.Contains(t, stderr, "tiny-base-17")
}

// A recording that bears the name of its codes' audio is not decoded over itself through a link.
func TestTheInputIsNeverReplaced(t *testing.T) {
	in := clip(t, "speech")
	link := sibling(in, ".rvq")
	require.NoError(t, os.Symlink(in, link))
	before := testenv.Content(t, in)
	code, _, stderr := run(t.Context(), tiny(t, "-i", in)...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "is the input and would be replaced")
	assert.Equal(t, before, testenv.Content(t, in))
}

func TestTrim(t *testing.T) {
	quiet := append(append(make([]float32, 24000), glide(3*24000)...), make([]float32, 24000)...)
	in := wavFile(t, "quiet.wav", 24000, quiet)
	stdout, stderr := mustRun(t, tiny(t, "-i", in)...)
	assert.Contains(t, stdout, "62 frames")
	assert.NotContains(t, stderr, "trimmed")
	stdout, stderr = mustRun(t, tiny(t, "-i", in, "--trim-ref")...)
	assert.Regexp(t, `3\d frames`, stdout)
	assert.Regexp(t, `quiet.wav: trimmed (1\.9\d|2\.0\d) of 5.00 s`, stderr)
}

// Any rate and number of channels is taken; what is done about it can be asked for.
func TestCheck(t *testing.T) {
	in := wavFile(t, "half.wav", 12000, glide(2*12000))
	text := file(t, t.TempDir(), "t.txt", strings.Repeat("far too much text for two seconds ", 10))
	stdout, stderr := mustRun(t, "--check", in)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "12000 Hz")
	assert.Contains(t, stdout, "resample 12000 Hz to 24000 Hz (48000 samples); encode 25 frames of 1920 samples")
	assert.Len(t, testenv.Names(t, filepath.Dir(in)), 1, "nothing is written")

	stdout, _ = mustRun(t, "--check", in, "--ref-text", text, "--json", "--trim-ref")
	var r clipReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.True(t, r.Usable)
	assert.Equal(t, 12000, r.Rate)
	assert.Equal(t, 25, r.Frames)
	assert.Contains(t, r.Transcript, "characters")
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "another text")
	assert.Contains(t, r.Steps[0], "trim")
	assert.Empty(t, r.Errors)

	stdout, _ = mustRun(t, tiny(t, "-i", in)...)
	assert.Contains(t, stdout, "25 frames")
	_, stderr = mustRun(t, tiny(t, "-i", in, "--talker", golden.GGUF(t, tinyTalker, "F32"), "--voice", sibling(in, ".qvoice"), "--ref-text", text)...)
	assert.Contains(t, stderr, "another text", "the warning comes with the work, too")
}

func TestCheckOfWhatIsNotUsable(t *testing.T) {
	silence := wavFile(t, "silence.wav", 24000, make([]float32, 24000))
	code, stdout, stderr := run(t.Context(), "--check", silence, "--json")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "silent")
	var r clipReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.False(t, r.Usable)
	assert.Nil(t, r.Peak)
	assert.NotEmpty(t, r.Errors)

	long := wavFile(t, "long.wav", 1000, glide((core.MaxReferenceSeconds+1)*1000))
	code, stdout, stderr = run(t.Context(), "--check", long)
	assert.Equal(t, cli.ExitUsage, code, "the check knows the limit of what is extracted")
	assert.Contains(t, stderr, "too long")
	assert.Contains(t, stdout, "error")

	code, _, stderr = run(t.Context(), "--check", filepath.Join(t.TempDir(), "none.wav"))
	assert.Equal(t, cli.ExitIO, code)
	assert.Contains(t, stderr, "none.wav")
}

func TestInterrupted(t *testing.T) {
	in := clip(t, "speech_long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Interrupted{Signal: os.Interrupt})
	code, _, stderr := run(ctx, tiny(t, "-i", in)...)
	assert.Equal(t, 130, code)
	assert.Equal(t, "qwen-codec: stopped\n", stderr)
	assert.Len(t, testenv.Names(t, filepath.Dir(in)), 1, "nothing is left behind")
}

func TestFullDisk(t *testing.T) {
	rvq := file(t, t.TempDir(), "x.rvq", strings.Repeat("\x01", 18*10))
	full := errors.New("no space left on device")
	var stderr bytes.Buffer
	a := &app{stdout: failing{full}, stderr: &stderr}
	assert.Equal(t, cli.ExitIO, a.run(t.Context(), tiny(t, "-i", rvq, "-o", "-")))
	assert.Contains(t, stderr.String(), full.Error())
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// TestONNXVocoder: it decodes what the GGUF file encoded, and tests itself; it cannot encode.
func TestONNXVocoder(t *testing.T) {
	testenv.ONNXRuntime(t)
	flags := tiny(t)
	wav := clip(t, "speech")
	mustRun(t, append(flags, "-i", wav)...)
	codes := strings.TrimSuffix(wav, ".wav") + ".rvq"
	dir := t.TempDir()
	ggmlWAV, onnxWAV := filepath.Join(dir, "ggml.wav"), filepath.Join(dir, "onnx.wav")
	mustRun(t, append(flags, "-i", codes, "--format", "wav32", "-o", ggmlWAV)...)
	vocoder := []string{"--model", golden.ONNX(t, "tiny-vocoder"), "--threads", "1", "--onnx-provider", "cpu"}
	mustRun(t, append(vocoder, "-i", codes, "--format", "wav32", "-o", onnxWAV)...)
	want, err := audio.Load(ggmlWAV)
	require.NoError(t, err)
	got, err := audio.Load(onnxWAV)
	require.NoError(t, err)
	assert.Greater(t, golden.SNR(got.Samples, want.Samples), 60.0)

	stdout, _ := mustRun(t, vocoder...)
	assert.Contains(t, stdout, "decoder  48000 samples")
	code, _, stderr := run(t.Context(), append(vocoder, "-i", wav)...)
	assert.Equal(t, cli.ExitMode, code)
	assert.Contains(t, stderr, "an ONNX vocoder has no encoder")
	vocoder[len(vocoder)-1] = "abacus"
	code, _, stderr = run(t.Context(), vocoder...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, `unknown execution provider "abacus"`)
}
