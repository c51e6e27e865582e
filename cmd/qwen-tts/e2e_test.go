package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/npy"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

const samplesPerFrame = 1920

// tiny returns the flags that name a tiny checkpoint, on one thread.
func tiny(t *testing.T, model string, more ...string) []string {
	t.Helper()
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	return append([]string{
		"--model", golden.GGUF(t, model, "F32"),
		"--codec", golden.GGUF(t, "tiny-tokenizer-12hz", "F32"),
		"--threads", "1"}, more...)
}

func vivian(t *testing.T, more ...string) []string {
	t.Helper()
	return tiny(t, "tiny-customvoice-17", append([]string{"--speaker", "vivian", "--seed", "7"}, more...)...)
}

// mustRun runs the command and wants it to succeed.
func mustRun(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t.Context(), stdin, args...)
	require.Equal(t, cli.ExitOK, code, stderr)
	return stdout, stderr
}

func decode(t *testing.T, wav string) []float32 {
	t.Helper()
	clip, err := audio.DecodeWAV([]byte(wav))
	require.NoError(t, err)
	require.Equal(t, core.SampleRate, clip.Rate)
	require.Equal(t, 1, clip.Channels)
	return clip.Samples
}

// assertClose wants the same audio: kernels may round by the width of a graph, and that may move an integer by one.
func assertClose(t *testing.T, want, got []float32) {
	t.Helper()
	assert.LessOrEqual(t, golden.MaxAbs(got, want), 2e-6+1.0/(1<<15))
}

func riffSizes(wav string) (riff, data uint32) {
	return binary.LittleEndian.Uint32([]byte(wav[4:])), binary.LittleEndian.Uint32([]byte(wav[40:]))
}

// The command reproduces the reference implementation: codes equal, audio within rounding.
func TestSpeaksLikeTheReference(t *testing.T) {
	const name = "cv17_en_vivian"
	c, want := golden.Cases(t)[name], golden.Load(t, name)
	dir := t.TempDir()
	out, dump := filepath.Join(dir, "出力.wav"), filepath.Join(dir, "dump")
	_, stderr := mustRun(t, c.Text, tiny(t, c.Model, "--speaker", c.Speaker, "--lang", c.Language, "--greedy",
		"--max-new", "24", "--format", "wav32", "--dump", dump, "-o", out)...)
	assert.Contains(t, stderr, "finish_reason length")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)

	codes, err := npy.Read(filepath.Join(dump, "codes.npy"))
	require.NoError(t, err)
	wantCodes, shape := want.I32("codes")
	assert.Equal(t, shape, codes.Shape)
	assert.Equal(t, wantCodes, codes.I32)

	wantWAV, _ := want.F32("wav")
	assert.GreaterOrEqual(t, golden.SNR(decode(t, testenv.Content(t, out)), wantWAV), 80.0)
	assert.ElementsMatch(t, []string{"出力.wav", "dump"}, testenv.Names(t, dir), "nothing else is left")
}

// A voice in side files: the x-vector and the codes of the reference, and its transcript.
func TestSpeaksWithVoiceFiles(t *testing.T) {
	const name = "base17_icl_textshort_stream"
	c, want := golden.Cases(t)[name], golden.Load(t, name)
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	xvector, _ := want.F32("ref_xvector")
	flat, shape := want.I32("ref_codes")
	ref := make([][]int32, shape[0])
	for i := range ref {
		ref[i] = flat[i*shape[1] : (i+1)*shape[1]]
	}
	rvq, err := voicefile.FormatCodes(ref, shape[1], 512)
	require.NoError(t, err)

	mustRun(t, c.Text, tiny(t, c.Model, "--lang", c.Language, "--greedy", "--max-new", "12", "--dump", dir,
		"--ref-spk", file("voice.spk", voicefile.FormatXVector(xvector)),
		"--ref-rvq", file("voice.rvq", rvq),
		"--ref-text", file("voice.txt", []byte("\ufeff"+c.RefText+"\r\n")),
		"-o", filepath.Join(dir, "out.wav"))...)
	codes, err := npy.Read(filepath.Join(dir, "codes.npy"))
	require.NoError(t, err)
	wantCodes, _ := want.I32("codes")
	assert.Equal(t, wantCodes, codes.I32)
}

// A recording gives the voice that the reference implementation extracts from it.
func TestSpeaksWithARecording(t *testing.T) {
	const name = "base17_xvec_nonstream"
	c, want := golden.Cases(t)[name], golden.Load(t, name)
	dir := t.TempDir()
	mustRun(t, c.Text, tiny(t, c.Model, "--lang", c.Language, "--text-layout", "whole", "--greedy", "--max-new", "8", "--dump", dir,
		"--ref-wav", golden.Path(t, "audio", "speech_24k.wav"), "-o", filepath.Join(dir, "out.wav"))...)
	codes, err := npy.Read(filepath.Join(dir, "codes.npy"))
	require.NoError(t, err)
	wantCodes, _ := want.I32("codes")
	assert.Equal(t, wantCodes, codes.I32)
}

func TestStreamEqualsFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.wav")
	mustRun(t, "Hello there.", vivian(t, "--max-new", "9", "-o", out)...)
	stream, _ := mustRun(t, "Hello there.\n", vivian(t, "--max-new", "9", "-o", "-")...)

	file := testenv.Content(t, out)
	assertClose(t, decode(t, file), decode(t, stream))
	require.Len(t, file, 44+2*9*samplesPerFrame)
	riff, data := riffSizes(file)
	assert.EqualValues(t, len(file)-8, riff)
	assert.EqualValues(t, len(file)-44, data)
	riff, data = riffSizes(stream)
	assert.EqualValues(t, math.MaxUint32, riff, "the size of a stream is not known")
	assert.EqualValues(t, math.MaxUint32, data)
}

func TestSeedAndSamplingFlagsMatter(t *testing.T) {
	speak := func(more ...string) string {
		out, _ := mustRun(t, "", vivian(t, append([]string{"--text", "Hello.", "--max-new", "4", "-o", "-"}, more...)...)...)
		return out
	}
	base := speak()
	assert.Equal(t, base, speak(), "a seed replays")
	assert.Equal(t, base, speak("--seed", "7", "--temp", "0.9", "--top-k", "50", "--top-p", "1", "--rep-pen", "1.05",
		"--sub-temp", "0.9", "--sub-top-k", "50", "--sub-top-p", "1"), "these are the defaults")
	greedy := speak("--greedy")
	assert.Equal(t, greedy, speak("--greedy", "--seed", "8"))
	assert.Equal(t, greedy, speak("--temp", "0", "--sub-temp", "0"))
	for _, flags := range [][]string{
		{"--seed", "8"}, {"--greedy"}, {"--temp", "0"}, {"--sub-temp", "0"}, {"--top-k", "2"}, {"--sub-top-k", "2"},
		{"--top-p", "0.1"}, {"--sub-top-p", "0.1"}, {"--lang", "german"}, {"--text-layout", "streamed"}, {"--instruct", "angry"},
	} {
		assert.NotEqual(t, base, speak(flags...), "%v", flags)
	}
}

func TestStreamByLine(t *testing.T) {
	args := vivian(t, "--max-new", "3", "--greedy", "-o", "-", "--format", "wav24")
	stream, stderr := mustRun(t, "First line.\r\n\r\nSecond line.", slices.Concat(args, []string{"--stream-by-line"})...)
	for _, line := range []string{"First line.", "Second line."} {
		riff, _ := riffSizes(stream)
		require.LessOrEqual(t, int(riff)+8, len(stream))
		wav := stream[:riff+8]
		stream = stream[riff+8:]
		alone, _ := mustRun(t, line, args...)
		assertClose(t, decode(t, alone), decode(t, wav))
	}
	assert.Empty(t, stream)
	assert.Equal(t, 2, strings.Count(stderr, "finish_reason length"))
}

func TestFormats(t *testing.T) {
	for format, size := range map[string]int{"wav16": 2, "wav24": 3, "wav32": 4} {
		out, _ := mustRun(t, "Hi", vivian(t, "--max-new", "2", "-o", "-", "--format", format)...)
		assert.Len(t, out, 44+2*samplesPerFrame*size, format)
		assert.Len(t, decode(t, out), 2*samplesPerFrame, format)
	}
}

// A file's format follows from its name, a stream's from --format; what is heard is the same length.
func TestCodedFormats(t *testing.T) {
	if err := audio.MP3.Check(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a.mp3", "a.opus", "a.flac", "a.ogg"} {
		path := filepath.Join(dir, name)
		mustRun(t, "Hi", vivian(t, "--max-new", "5", "-o", path)...)
		clip, err := audio.Load(path)
		require.NoError(t, err)
		assert.Equal(t, 5*samplesPerFrame, clip.Frames(), name)
	}
	assert.ElementsMatch(t, []string{"a.mp3", "a.opus", "a.flac", "a.ogg"}, testenv.Names(t, dir))
	out, _ := mustRun(t, "Hi", vivian(t, "--max-new", "5", "-o", "-", "--format", "flac")...)
	clip, err := audio.Decode([]byte(out), "")
	require.NoError(t, err)
	assert.Equal(t, []any{"FLAC", 5 * samplesPerFrame}, []any{clip.Container, clip.Frames()})
	out, _ = mustRun(t, "Hi", vivian(t, "--max-new", "5", "-o", "-", "--format", "pcm")...)
	assert.Len(t, out, 2*5*samplesPerFrame)
}

const tale = "It rained. Dr. Smith stayed in bed.\n\nThen the sun came out! He went out."

// taleArgs speak the tale in pieces of at most 26 characters, three frames each.
func taleArgs(t *testing.T, more ...string) []string {
	return vivian(t, append([]string{"--long", "--piece-chars", "26", "--max-new", "3"}, more...)...)
}

// A long text is one file of all its pieces, as each would be by itself; what was cut off is told by its piece.
func TestLong(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.wav")
	_, stderr := mustRun(t, tale, taleArgs(t, "-o", out)...)
	pieces := []string{"It rained.", "Dr. Smith stayed in bed.", "Then the sun came out!", "He went out."}
	var want []float32
	for i, piece := range pieces {
		alone, _ := mustRun(t, piece, vivian(t, "--max-new", "3", "-o", "-")...)
		want = append(want, decode(t, alone)...)
		assert.Contains(t, stderr, fmt.Sprintf("warning: piece %d of 4: %s: cut off at 3 frames", i+1, piece))
		assert.Contains(t, stderr, "or raise --max-new", "which was given")
	}
	assertClose(t, want, decode(t, testenv.Content(t, out)))
	assert.Equal(t, 4, strings.Count(stderr, "\n"), stderr)

	stream, stderr := mustRun(t, tale, taleArgs(t, "-o", "-", "--progress")...)
	assertClose(t, want, decode(t, stream))
	assert.Contains(t, stderr, "qwen-tts: piece 2 of 4: Dr. Smith stayed in bed.\n")
	assert.Contains(t, stderr, "qwen-tts: 4 pieces, 12 frames, 0.96 s of audio in")

	code, _, stderr := run(t.Context(), tale, taleArgs(t, "-o", out, "--dump", t.TempDir())...)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "--dump: holds one synthesis, the text has 4 pieces")
}

// One encoder writes all pieces.
func TestLongAsMP3(t *testing.T) {
	if err := audio.MP3.Check(); err != nil {
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "out.mp3")
	mustRun(t, tale, taleArgs(t, "-o", out)...)
	clip, err := audio.Load(out)
	require.NoError(t, err)
	assert.Equal(t, 12*samplesPerFrame, clip.Frames())
}

func TestSpeed(t *testing.T) {
	if err := audio.CheckSpeed(2); err != nil {
		t.Skip(err)
	}
	args := vivian(t, "--max-new", "25", "-o", "-")
	normal, _ := mustRun(t, "Hello.", args...)
	for flag, times := range map[string]float64{"2": 2, "0.5": .5, "1": 1} {
		out, _ := mustRun(t, "Hello.", append(args, "--speed", flag)...)
		n := audio.Scaled(25*samplesPerFrame, times)
		assert.InDelta(t, n, len(decode(t, out)), 0.02*float64(n), flag)
		assert.Equal(t, times == 1, out == normal)
	}
	lines, _ := mustRun(t, "One.\nTwo.\n", append(args, "--speed", "2", "--stream-by-line")...)
	riff, _ := riffSizes(lines)
	assert.Less(t, int(riff), 44+2*25*samplesPerFrame*6/10)
}

// Without libsonic a speed is refused before anything is loaded, and the message says what to install.
func TestSpeedWithoutLibrary(t *testing.T) {
	if os.Getenv("QWEN_TEST_WITHOUT_SONIC") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSpeedWithoutLibrary$")
		cmd.Env = append(os.Environ(), "QWEN_TEST_WITHOUT_SONIC=1", audio.SonicEnv+"="+filepath.Join(t.TempDir(), "none.so"))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
		return
	}
	code, _, stderr := run(t.Context(), "Hello.", "--model", "m", "--codec", "c", "-o", filepath.Join(t.TempDir(), "x.wav"), "--speed", "1.5")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, stderr, "--speed 1.5: it needs libsonic, which was not found")
}

func TestListSpeakers(t *testing.T) {
	t.Setenv(ggml.EnvDir, t.TempDir()) // neither ggml nor a codec is needed
	out, stderr := mustRun(t, "", "--model", golden.GGUF(t, "tiny-customvoice-17", "F32"), "--list-speakers")
	assert.Contains(t, strings.Split(out, "\n"), "vivian")
	assert.Empty(t, stderr)
	out, stderr = mustRun(t, "", tiny(t, "tiny-base-17", "--list-speakers")...)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "base")
}

func TestListDevices(t *testing.T) {
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	out, _ := mustRun(t, "", "--list-devices")
	assert.Contains(t, out, "CPU")
	assert.Contains(t, out, "0.2", "ggml's version")
}

func TestFailuresOfTheRequest(t *testing.T) {
	custom, base := tiny(t, "tiny-customvoice-17", "-o", "-"), tiny(t, "tiny-base-17", "-o", "-")
	design := tiny(t, "tiny-voicedesign-17", "-o", "-")
	empty := filepath.Join(t.TempDir(), "empty.spk")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	speech := golden.Path(t, "audio", "speech_24k.wav")
	for name, tc := range map[string]struct {
		model []string
		flags []string
		code  int
		want  string
	}{
		"no speaker":         {custom, nil, cli.ExitMode, "vivian"},
		"speaker of base":    {base, []string{"--speaker", "vivian"}, cli.ExitMode, "--speaker: this is a base model"},
		"design, no style":   {design, nil, cli.ExitMode, "--instruct: a voice_design"},
		"x-vector of custom": {custom, []string{"--speaker", "vivian", "--ref-spk", empty}, cli.ExitUsage, "exclude each other"},
		"empty x-vector":     {base, []string{"--ref-spk", empty}, cli.ExitUsage, "empty"},
		"no such language":   {base, []string{"--lang", "klingon"}, cli.ExitUsage, "klingon"},
		"temperature":        {base, []string{"--temp", "NaN"}, cli.ExitUsage, "--temp: nan"},
		"sub temperature":    {base, []string{"--sub-temp", "-1"}, cli.ExitUsage, "--sub-temp: -1"},
		"top-p":              {base, []string{"--top-p", "0"}, cli.ExitUsage, "--top-p: 0"},
		"top-k":              {base, []string{"--top-k", "-2"}, cli.ExitUsage, "--top-k: -2"},
		"penalty":            {base, []string{"--rep-pen", "+Inf"}, cli.ExitUsage, "--rep-pen: +inf"},
		"max-new":            {base, []string{"--max-new", "0"}, cli.ExitUsage, "--max-new: 0"},
		"max-new huge":       {base, []string{"--max-new", "2147483647"}, cli.ExitUsage, "max"},
		"no such speed":      {custom, []string{"--speaker", "vivian", "--speed", "5"}, cli.ExitUsage, "--speed: 5 is not in 0.25..4"},
		"speed NaN":          {custom, []string{"--speaker", "vivian", "--speed", "NaN"}, cli.ExitUsage, "--speed: nan is not in"},
		"no such file":       {base, []string{"--ref-spk", "none.spk"}, cli.ExitIO, "none.spk"},
		"no such transcript": {base, []string{"--ref-spk", empty, "--ref-text", "none.txt"}, cli.ExitIO, "none.txt"},
		"transcript itself":  {base, []string{"--ref-wav", speech, "--ref-text", "Hello there."}, cli.ExitIO, "(the transcript is read from a file)"},
		"speaker as voice":   {custom, []string{"--voice", "vivian"}, cli.ExitIO, "--speaker names a speaker of the model"},
		"no such recording":  {base, []string{"--ref-wav", "none.wav"}, cli.ExitIO, "none.wav"},
		"no recording":       {base, []string{"--ref-wav", empty}, cli.ExitUsage, "empty"},
		"clip of custom":     {custom, []string{"--speaker", "vivian", "--ref-wav", speech}, cli.ExitUsage, "speaker"},
		"device":             {base, []string{"--device", "tpu:3"}, cli.ExitUsage, "no such device; ggml finds cpu"},
		"threads":            {base, []string{"--threads", "-3"}, cli.ExitUsage, "thread"},
		"chunk":              {base, []string{"--codec-chunk-dur", "-1"}, cli.ExitUsage, "chunk"},
		"context":            {base, []string{"--context", "-1"}, cli.ExitUsage, "context"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t.Context(), "Hello.", slices.Concat(tc.model, tc.flags)...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, strings.ToLower(stderr), tc.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.LessOrEqual(t, len(stdout), 44, "at most a header")
		})
	}
	for _, text := range []string{"", " \n", "\u3000"} {
		code, _, stderr := run(t.Context(), text, slices.Concat(base, []string{"--max-new", "2"})...)
		assert.Equal(t, cli.ExitUsage, code, "%q: %s", text, stderr)
		assert.Contains(t, stderr, "text")
	}
}

func TestSwappedModels(t *testing.T) {
	args := tiny(t, "tiny-base-17", "-o", "-")
	args[1], args[3] = args[3], args[1]
	code, _, stderr := run(t.Context(), "Hello.", args...)
	assert.Equal(t, cli.ExitModel, code)
	assert.Contains(t, stderr, "tiny-tokenizer-12hz")
}

func TestInterruptedWhileSpeaking(t *testing.T) {
	dir := t.TempDir()
	for _, to := range []string{"-", filepath.Join(dir, "out.wav")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var stdout, stderr bytes.Buffer
		a := &app{stdin: strings.NewReader("A long story. "), stdout: &stdout, stderr: onWrite{&stderr, func() {
			cancel(cli.Interrupted{Signal: os.Interrupt}) // when the progress bar first moves
		}}}
		code := a.run(ctx, vivian(t, "--max-new", "500", "--progress", "-o", to))
		assert.Equal(t, 130, code)
		assert.Contains(t, stderr.String(), "qwen-tts: stopped\n")
		assert.Less(t, stdout.Len(), 44+10*2*samplesPerFrame, "it stops within a frame or two")
		assert.Empty(t, testenv.Names(t, dir))
	}
}

// onWrite calls a function with each write.
type onWrite struct {
	io.Writer
	call func()
}

func (w onWrite) Write(p []byte) (int, error) {
	w.call()
	return w.Writer.Write(p)
}

func TestFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	var stderr bytes.Buffer
	a := &app{stdin: strings.NewReader("Hello."), stdout: failAfter{limit: 5000, err: full, n: new(int)}, stderr: &stderr}
	code := a.run(t.Context(), vivian(t, "--max-new", "20", "-o", "-"))
	assert.Equal(t, cli.ExitIO, code)
	assert.Contains(t, stderr.String(), full.Error())
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
}

// failAfter fails once it has got more than limit bytes.
type failAfter struct {
	limit int
	err   error
	n     *int
}

func (w failAfter) Write(p []byte) (int, error) {
	if *w.n += len(p); *w.n > w.limit {
		return 0, w.err
	}
	return len(p), nil
}

func TestVerboseAndProgress(t *testing.T) {
	_, stderr := mustRun(t, "Hello.", vivian(t, "--max-new", "3", "-o", "-", "-v", "--progress")...)
	for _, want := range []string{"[Perf]", "RTF", "3 frames, 0.24 s of audio", "seed 7", "custom_voice"} {
		assert.Contains(t, stderr, want)
	}
}

// TestONNXVocoder: speech by an ONNX vocoder is that of the codec's GGUF file.
func TestONNXVocoder(t *testing.T) {
	testenv.ONNXRuntime(t)
	flags := vivian(t, "--max-new", "6", "--format", "wav32", "-o", "-")
	want, _ := mustRun(t, "Hello.", flags...)
	got, _ := mustRun(t, "Hello.", append(flags, "--codec", golden.ONNX(t, "tiny-vocoder"), "--onnx-provider", "cpu")...)
	assert.Greater(t, golden.SNR(decode(t, got), decode(t, want)), 60.0)
	code, _, stderr := run(t.Context(), "Hello.", append(flags, "--codec", golden.ONNX(t, "tiny-vocoder"), "--onnx-provider", "cann")...)
	assert.Equal(t, cli.ExitModel, code)
	assert.Contains(t, stderr, "cann is not part of this ONNX Runtime")
}

// TestProfile: a table, or a line of JSON, on stderr for each synthesis.
func TestProfile(t *testing.T) {
	_, stderr := mustRun(t, "Hi.", vivian(t, "--max-new", "3", "--profile", "-o", filepath.Join(t.TempDir(), "out.wav"))...)
	assert.Contains(t, stderr, "\npredictor ")
	assert.Contains(t, stderr, "3 frames, 0.24 s of audio, RTF ")
	_, stderr = mustRun(t, "Hi.\nHo.\n", vivian(t, "--max-new", "3", "--profile=json", "--stream-by-line", "-o", "-")...)
	lines := slices.DeleteFunc(strings.Split(stderr, "\n"), func(l string) bool { return !strings.HasPrefix(l, "{") })
	require.Len(t, lines, 2, stderr)
	for _, l := range lines {
		var p core.Profile
		require.NoError(t, json.Unmarshal([]byte(l), &p))
		assert.Equal(t, 3, p.Frames)
		assert.Positive(t, p.Predictor)
		assert.Positive(t, p.RTF)
	}
}

// TestTheSecondFamily: split files by flags, and a folder whose modes the other flags choose from.
func TestTheSecondFamily(t *testing.T) {
	dir := t.TempDir()
	talker, predictor, tokenizer := golden.Second(t, "tiny-customvoice-17", "F32").Write(t, dir, "qwen3-tts-1.7b-customvoice")
	golden.Second(t, "tiny-voicedesign-17", "F32").Write(t, dir, "qwen3-tts-1.7b-voicedesign")
	golden.Second(t, "tiny-base-17", "F32").Write(t, dir, "qwen3-tts-1.7b-base")
	codec := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	want, _ := mustRun(t, "Hi.", vivian(t, "--max-new", "3", "-o", "-")...)
	usual := []string{"--max-new", "3", "--threads", "1", "--seed", "7", "-o", "-"}
	split := []string{"--model", talker, "--predictor", predictor, "--tokenizer", tokenizer, "--codec", codec, "--speaker", "vivian"}
	got, _ := mustRun(t, "Hi.", append(split, usual...)...)
	assert.Equal(t, want, got)

	folder := append([]string{"--model", dir, "--codec", codec}, usual...)
	got, _ = mustRun(t, "Hi.", append(folder, "--speaker", "vivian")...)
	assert.Equal(t, want, got)
	mustRun(t, "Hi.", append(folder, "--instruct", "calm")...)
	mustRun(t, "Hi.", append(folder, "--mode", "base")...)
	mustRun(t, "Hi.", append(folder, "--design", "calm", "--base", dir, "--anchor-text", "One two three four five.")...)
	speakers, _ := mustRun(t, "", "--model", dir, "--list-speakers")
	assert.Contains(t, speakers, "vivian\n")
	require.NoError(t, os.Symlink(codec, filepath.Join(dir, "qwen-tokenizer-12hz-F32.gguf")))
	got, _ = mustRun(t, "Hi.", append([]string{"--model", dir, "--mode", "CustomVoice", "--speaker", "vivian"}, usual...)...)
	assert.Equal(t, want, got)

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{folder, cli.ExitMode, "has models for base, custom_voice, voice_design: say which"},
		{append(folder, "--mode", "karaoke"), cli.ExitUsage, `mode: "karaoke" is not base`},
		{append(split, append(usual, "--mode", "base")...), cli.ExitMode, "this is a custom_voice model, base was asked for"},
	} {
		code, _, stderr := run(t.Context(), "Hi.", c.args...)
		assert.Equal(t, c.code, code, stderr)
		assert.Contains(t, stderr, c.want)
	}
}

// A checkpoint's directory holds both models, and needs no conversion.
func TestSpeaksWithACheckpoint(t *testing.T) {
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	dir := filepath.Join(golden.Checkpoints(t), "tiny-customvoice-17")
	say := func(args ...string) []byte {
		out := filepath.Join(t.TempDir(), "out.wav")
		code, _, stderr := run(context.Background(), "Good morning!", append(args, "--speaker", "vivian", "--seed", "3", "--max-new", "3", "-o", out)...)
		require.Zero(t, code, stderr)
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		return data
	}
	want := say("--model", golden.GGUF(t, "tiny-customvoice-17", "BF16"), "--codec", golden.GGUF(t, "tiny-tokenizer-12hz", "F32"))
	assert.Equal(t, want, say("--model", dir))
}
