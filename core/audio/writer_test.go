package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/tests/golden"
)

func TestParseFormat(t *testing.T) {
	for name, want := range map[string]Format{"wav": WAV16, "wav16": WAV16, "WAV24": WAV24, "wav32": WAV32, "pcm": PCM,
		"flac": FLAC, "MP3": MP3, "opus": Opus, "vorbis": Vorbis, "ogg": Vorbis} {
		f, err := ParseFormat(name)
		require.NoError(t, err)
		assert.Equal(t, want, f, name)
	}
	for f := range formats {
		again, err := ParseFormat(Format(f).String())
		require.NoError(t, err)
		assert.Equal(t, Format(f), again)
		assert.Contains(t, formatList, Format(f).String())
	}
	for _, name := range []string{"aac", "", "mp3 "} {
		_, err := ParseFormat(name)
		assert.EqualError(t, err, fmt.Sprintf("audio format %q is not written: choose one of %s", name, formatList))
	}
	assert.Equal(t, "Format(-7)", Format(-7).String())
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a.wav": WAV16, "a.WAVE": WAV16, "out": WAV16, "/dev/null": WAV16, "x.mp3/y": WAV16,
		"b/a.MP3": MP3, "a.opus": Opus, "a.ogg": Vorbis, "a.oga": Vorbis, "a.flac": FLAC, "a.pcm": PCM, "a.raw": PCM, "a.mp3.wav": WAV16, "a.": WAV16, "a.b/c": WAV16} {
		f, err := FormatOf(path)
		require.NoError(t, err)
		assert.Equal(t, want, f, path)
	}
	for _, path := range []string{"a.m4a", "a.AAC", "a.aiff", "a.txt", ".hidden", "a.wav.part", "a.wav24"} {
		_, err := FormatOf(path)
		assert.ErrorContains(t, err, "files are not written: choose one of "+endingList)
	}
	for f := range formats {
		of, err := FormatOf("x" + Format(f).Ending())
		require.NoError(t, err)
		assert.Equal(t, Format(f).ContentType(), of.ContentType())
		assert.Contains(t, endingList, Format(f).Ending())
		assert.Equal(t, Format(f).IsWAV(), of.IsWAV())
	}
}

// coded are the formats that libsndfile writes.
var coded = []struct {
	format    Format
	container string
	snr       float64 // least, in dB, of a speech clip
	latency   int     // most samples that Write has taken and not handed on, of 24 kHz
	delay     int     // samples that precede the first one where the destination cannot seek
}{
	{FLAC, "FLAC", 80, 1152, 0},
	{MP3, "MP3", 20, 4000, 1681},
	{Opus, "Ogg Opus", 5, 2400, 0},
	{Vorbis, "Ogg Vorbis", 15, 20000, 0},
}

// speech is a clip of ten seconds.
func speech(t *testing.T) []float32 {
	t.Helper()
	clip, err := Load(golden.Path(t, "audio", "speech_24k.wav"))
	require.NoError(t, err)
	var x []float32
	for len(x) < 240000 {
		x = append(x, clip.Samples...)
	}
	return x[:240000]
}

func needSndfile(t *testing.T) {
	t.Helper()
	if _, err := libsndfile(); err != nil {
		t.Skipf("not tested: %v", err)
	}
}

// TestCodedFormats: what comes back is as long as what was written, and sounds like it; also where headers cannot be
// mended.
func TestCodedFormats(t *testing.T) {
	needSndfile(t)
	x := speech(t)
	for _, c := range coded {
		t.Run(c.format.String(), func(t *testing.T) {
			if err := c.format.Check(); err != nil {
				t.Skip(err)
			}
			var whole Buffer
			write(t, &whole, c.format, x[:1], nil, x[1:5000], x[5000:])
			clip, err := Decode(whole.Bytes(), "")
			require.NoError(t, err)
			assert.Equal(t, []any{c.container, 24000, 1, len(x)}, []any{clip.Container, clip.Rate, clip.Channels, clip.Frames()})
			assert.Empty(t, clip.Warnings)
			assert.Greater(t, golden.SNR(clip.Samples, x), c.snr)

			var streamed bytes.Buffer
			write(t, &streamed, c.format, x[:1], nil, x[1:5000], x[5000:])
			clip, err = Decode(streamed.Bytes(), "")
			require.NoError(t, err)
			assert.Empty(t, clip.Warnings)
			require.GreaterOrEqual(t, clip.Frames(), c.delay+len(x))
			assert.LessOrEqual(t, clip.Frames(), c.delay+len(x)+1152)
			got := clip.Samples[c.delay:][:len(x)]
			assert.Greater(t, golden.SNR(got, x), c.snr)
			for _, silent := range [][]float32{clip.Samples[:c.delay], clip.Samples[c.delay+len(x):]} {
				for _, v := range silent {
					require.InDelta(t, 0, v, 0.02, "no click before or after")
				}
			}
		})
	}
}

// TestLatency: what was handed on can be decoded, and holds all samples but the last few.
func TestLatency(t *testing.T) {
	needSndfile(t)
	const frame = 1920
	x := speech(t)
	for _, c := range coded {
		t.Run(c.format.String(), func(t *testing.T) {
			if err := c.format.Check(); err != nil {
				t.Skip(err)
			}
			var out bytes.Buffer
			w, err := NewWriter(&out, c.format, 24000)
			require.NoError(t, err)
			most := 0
			for n := frame; n <= 60*frame; n += frame {
				require.NoError(t, w.Write(x[n-frame:n]))
				decoded := 0
				if c.format == MP3 { // whole frames of 240 bytes; libsndfile's decoder complains about what is cut off
					decoded = 576*(out.Len()/240) - c.delay
				} else if clip, err := Decode(out.Bytes(), ""); err == nil {
					decoded = clip.Frames()
				}
				most = max(most, n-decoded)
			}
			w.Discard()
			t.Logf("%d samples, %.0f ms", most, float64(most)/24)
			assert.LessOrEqual(t, most, c.latency)
		})
	}
}

// TestDiscard: nothing more is written, and the writer has ended.
func TestDiscard(t *testing.T) {
	for f := range formats {
		if Format(f).Check() != nil {
			continue
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, Format(f), 24000)
		require.NoError(t, err)
		require.NoError(t, w.Write(ramp()))
		n := out.Len()
		w.Discard()
		w.Discard()
		assert.NoError(t, w.Close())
		assert.ErrorContains(t, w.Write(ramp()), "after close")
		assert.Equal(t, n, out.Len(), Format(f))
	}
	if lib, err := libsndfile(); err == nil {
		assert.Empty(t, lib.files.open, "every file was closed")
	}
}

// TestEmptyFiles: audio without samples is a file of its kind, too.
func TestEmptyFiles(t *testing.T) {
	for f := range formats {
		if Format(f).Check() != nil || Format(f) == PCM {
			continue
		}
		var out Buffer
		write(t, &out, Format(f))
		assert.NotEmpty(t, out.Bytes(), Format(f))
		assert.NotEqual(t, byNobody, sniff(out.Bytes()).by, Format(f))
	}
}

// TestFailingDestination: the error of a destination comes back, wherever it fails.
func TestFailingDestination(t *testing.T) {
	x := speech(t)[:48000]
	for f := range formats {
		if Format(f).Check() != nil {
			continue
		}
		var whole bytes.Buffer
		var parts [][]float32
		for at := 0; at < len(x); at += 1000 {
			parts = append(parts, x[at:at+1000])
		}
		write(t, &whole, Format(f), parts...)
		for _, left := range []int{0, 100, whole.Len() / 2, whole.Len() - 1} {
			w, err := NewWriter(&full{left}, Format(f), 24000)
			for _, part := range parts {
				if err == nil {
					err = w.Write(part)
				}
			}
			if err == nil {
				err = w.Close()
			}
			assert.ErrorIs(t, err, errFull, "%v, %d bytes", Format(f), left)
			if w != nil {
				w.Discard()
			}
		}
	}
}

// TestWritersAtOnce: writers do not disturb each other.
func TestWritersAtOnce(t *testing.T) {
	needSndfile(t)
	x := speech(t)[:48000]
	var want Buffer
	write(t, &want, FLAC, x)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var got Buffer
			write(t, &got, FLAC, x[:30000], x[30000:])
			assert.Equal(t, want.Bytes(), got.Bytes())
		})
	}
	wg.Wait()
}

// TestSecondFile: what libsndfile mends at the end counts from where its file begins.
func TestSecondFile(t *testing.T) {
	needSndfile(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	require.NoError(t, err)
	defer file.Close()
	x := speech(t)[:5000]
	write(t, file, FLAC, x)
	at, err := file.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	write(t, file, FLAC, x)
	raw, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, raw[:at], raw[at:])
	samples := binary.BigEndian.Uint64(raw[18:]) & (1<<36 - 1) // of STREAMINFO
	assert.EqualValues(t, len(x), samples)
}

// TestNonsenseIsWritten: NaN and what lies outside [-1, 1] do no harm in any format.
func TestNonsenseIsWritten(t *testing.T) {
	for f := range formats {
		if Format(f).Check() != nil {
			continue
		}
		var out Buffer
		w := write(t, &out, Format(f), []float32{nan, inf, -inf, 3, -3, 1}, make([]float32, 4800))
		assert.Equal(t, []int{1, 4}, []int{w.NaNs(), w.Clipped()})
	}
}

// TestWritingWithoutSndfile: the error names the package; WAV and PCM need none.
func TestWritingWithoutSndfile(t *testing.T) {
	if os.Getenv("QWEN_TEST_WITHOUT_SNDFILE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWritingWithoutSndfile$")
		cmd.Env = append(os.Environ(), "QWEN_TEST_WITHOUT_SNDFILE=1", SndfileEnv+"="+filepath.Join(t.TempDir(), "none.so"))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
		return
	}
	for f := range formats {
		err := Format(f).Check()
		if formats[f].sndfile == nil {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, ErrNoLibrary)
		assert.ErrorContains(t, err, Format(f).String()+": it needs libsndfile, which was not found: "+SndfileEnv)
	}
}

func TestOldSndfile(t *testing.T) {
	for _, c := range []struct {
		version string
		older   bool
	}{{"1.0.31", true}, {"1.1.0", false}, {"1.1.0pre1", false}, {"1.2.2-exp", false}, {"2", false}, {"0.9.9", true}, {"?", true}} {
		assert.Equal(t, c.older, olderThan(c.version, "1.1.0"), c.version)
	}
	old := &sndfile{sf_version_string: func() string { return "libsndfile-1.0.31" }}
	err := old.cannotWrite(&mp3Format, io.EOF)
	assert.ErrorIs(t, err, ErrNoLibrary)
	assert.ErrorContains(t, err, "libsndfile 1.0.31 is too old, 1.1.0 or later is needed")
	err = old.cannotWrite(&flacFormat, io.EOF)
	assert.EqualError(t, err, "libsndfile-1.0.31 cannot write it: EOF")
}

func TestBuffer(t *testing.T) {
	var b Buffer
	fmt.Fprint(&b, "abcdef")
	at, err := b.Seek(-2, io.SeekEnd)
	require.NoError(t, err)
	assert.EqualValues(t, 4, at)
	fmt.Fprint(&b, "XYZ")
	assert.Equal(t, "abcdXYZ", string(b.Bytes()))
	_, err = b.Seek(1, io.SeekStart)
	require.NoError(t, err)
	at, err = b.Seek(1, io.SeekCurrent)
	require.NoError(t, err)
	assert.EqualValues(t, 2, at)
	fmt.Fprint(&b, "-")
	assert.Equal(t, "ab-dXYZ", string(b.Bytes()))
	for _, bad := range []int64{-1, 8} {
		_, err = b.Seek(bad, io.SeekStart)
		assert.Error(t, err)
	}
}

// BenchmarkFormats writes seconds of speech, frame by frame.
func BenchmarkFormats(b *testing.B) {
	clip, err := Load(golden.Path(b, "audio", "speech_24k.wav"))
	require.NoError(b, err)
	for f := range formats {
		w, err := NewWriter(discard{}, Format(f), 24000)
		if err != nil {
			continue
		}
		b.Run(Format(f).String(), func(b *testing.B) {
			at := 0
			for b.Loop() {
				for range 12 { // 0.96 s
					if at+1920 > len(clip.Samples) {
						at = 0
					}
					require.NoError(b, w.Write(clip.Samples[at:at+1920]))
					at += 1920
				}
			}
		})
		w.Discard()
	}
}
