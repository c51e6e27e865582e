package audio

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/dylib"
	"github.com/libqwen/libqwen/tests/golden"
)

// sndfileWriter writes files by libsndfile's encoders.
type sndfileWriter struct {
	open  func(path string, mode int32, info *sfInfo) uintptr
	write func(file uintptr, src *float32, frames int64) int64
	close func(file uintptr) int32
}

// newSndfileWriter skips the test if there is no libsndfile.
func newSndfileWriter(t *testing.T) *sndfileWriter {
	t.Helper()
	lib, err := libsndfile()
	if err != nil {
		t.Skipf("not tested: %v", err)
	}
	t.Log(lib.sf_version_string())
	w := &sndfileWriter{}
	for name, fn := range map[string]any{"sf_open": &w.open, "sf_writef_float": &w.write, "sf_close": &w.close} {
		addr, err := dylib.Symbol(lib.handle, name)
		require.NoError(t, err)
		purego.RegisterFunc(fn, addr)
	}
	return w
}

// encode returns the content of a file, nil if the library does not write that format.
func (w *sndfileWriter) encode(t *testing.T, format int32, x []float32, rate, channels int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	file := w.open(path, 0x20, &sfInfo{rate: int32(rate), channels: int32(channels), format: format})
	if file == 0 {
		return nil
	}
	n := int64(len(x) / channels)
	require.Equal(t, n, w.write(file, &x[0], n))
	require.Zero(t, w.close(file))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// stereo is a clip of speech in two channels of unlike level.
func stereo(t *testing.T) *Clip {
	t.Helper()
	c, err := Load(golden.Path(t, "audio", "speech_24k.wav"))
	require.NoError(t, err)
	out := &Clip{Rate: c.Rate, Channels: 2}
	for _, x := range c.Samples {
		out.Samples = append(out.Samples, x, x/2)
	}
	return out
}

// containers are formats that libsndfile writes, with the least signal-to-noise ratio in dB of a speech clip.
var containers = []struct {
	name, encoding string
	format         int32
	snr            float64
	optional       bool // not every version has it
}{
	{"FLAC", "Signed 16 bit PCM", 0x170002, 75, false},
	{"FLAC", "Signed 24 bit PCM", 0x170003, 120, false},
	{"AIFF", "Signed 16 bit PCM", 0x020002, 75, false},
	{"AIFF-C", "32 bit float", 0x020006, 140, false},
	{"AIFF-C", "U-Law", 0x020010, 30, false},
	{"CAF", "Signed 24 bit PCM", 0x180003, 120, false},
	{"CAF", "16 bit ALAC", 0x180070, 75, false},
	{"AU", "Signed 16 bit PCM", 0x030002, 75, false},
	{"W64", "Signed 16 bit PCM", 0x0b0002, 75, false},
	{"WAV (big-endian)", "Signed 16 bit PCM", 0x20010002, 75, false},
	{"WAV", "IMA ADPCM", 0x010012, 20, false},
	{"WAV", "Microsoft ADPCM", 0x010013, 20, false},
	{"Ogg Vorbis", "Vorbis", 0x200060, 10, false},
	{"Ogg Opus", "Opus", 0x200064, 10, true},
	{"MP3", "MPEG Layer III", 0x230082, 15, true},

	// What we decode ourselves, from files that another program wrote.
	{"WAV", "8-bit unsigned integers", 0x010005, 25, false},
	{"WAV", "16-bit integers", 0x010002, 75, false},
	{"WAV", "24-bit integers", 0x010003, 120, false},
	{"WAV", "32-bit integers", 0x010004, 140, false},
	{"WAV", "32-bit floats", 0x010006, 200, false},
	{"WAV", "64-bit floats", 0x010007, 200, false},
	{"WAV", "A-law", 0x010011, 30, false},
	{"WAV", "µ-law", 0x010010, 30, false},
	{"WAV", "24-bit integers (extensible)", 0x130003, 120, false},
	{"WAV (RF64)", "32-bit floats (extensible)", 0x220006, 200, false},
}

func TestContainers(t *testing.T) {
	w := newSndfileWriter(t)
	in := stereo(t)
	for _, c := range containers {
		t.Run(c.name+" "+c.encoding, func(t *testing.T) {
			data := w.encode(t, c.format, in.Samples, in.Rate, 2)
			if data == nil && c.optional {
				t.Skip("this version does not write it")
			}
			clip, err := Decode(data, "clip")
			require.NoError(t, err)
			assert.Equal(t, []any{c.name, c.encoding, 24000, 2}, []any{clip.Container, clip.Encoding, clip.Rate, clip.Channels})
			assert.Empty(t, clip.Warnings)
			require.GreaterOrEqual(t, len(clip.Samples), len(in.Samples))
			assert.Less(t, clip.Frames(), in.Frames()+2500, "a last block may be padded")
			snr := golden.SNR(clip.Samples[:len(in.Samples)], in.Samples)
			assert.Greater(t, snr, c.snr)

			pcm, _, err := clip.Mono24k()
			require.NoError(t, err)
			assert.InDelta(t, in.Frames(), len(pcm), 2500)
		})
	}
}

// TestOwnDecoderEqualsSndfile: WAV files that both can read give the same bits.
func TestOwnDecoderEqualsSndfile(t *testing.T) {
	newSndfileWriter(t)
	for _, c := range codings {
		data, _ := c.ramps(3000)
		raw := riff(chunk("fmt ", classic(c.tag, 3, 16000, c.width, 8*c.width)), chunk("data", data))
		ours, err := DecodeWAV(raw)
		require.NoError(t, err)
		theirs, err := decodeSndfile(raw, "WAV")
		require.NoError(t, err)
		assert.Equal(t, theirs.Samples, ours.Samples, c.name)
	}
}

// TestDamagedContainers: a file cut anywhere, or with bytes changed, is an error or a clip, and the loss of the end is
// an error or a warning.
func TestDamagedContainers(t *testing.T) {
	w := newSndfileWriter(t)
	in := stereo(t)
	for _, c := range containers {
		if c.name == "WAV" || c.name == "MP3" { // libsndfile's MP3 decoder complains on standard error
			continue
		}
		data := w.encode(t, c.format, in.Samples[:20000], in.Rate, 2)
		if data == nil {
			continue
		}
		for i := range 10 {
			half := data[:len(data)*(i+1)/12]
			if clip, err := Decode(half, ""); err == nil {
				assert.NotEmpty(t, clip.Warnings, "%s, %d of %d bytes", c.name, len(half), len(data))
			}
			damaged := bytes.Clone(data)
			for k := range 20 {
				damaged[(k*k*7919+i*104729)%len(damaged)] ^= byte(1 << (k % 8))
			}
			if clip, err := Decode(damaged, ""); err == nil {
				assert.NoError(t, checkShape(clip.Rate, clip.Channels))
				_ = clip.Report().String()
			}
		}
	}
}

// TestSndfileLimits: lengths are checked before and while reading.
func TestSndfileLimits(t *testing.T) {
	w := newSndfileWriter(t)
	long := w.encode(t, 0x170002, make([]float32, (MaxSeconds+1)*1000), 1000, 1)
	require.NotEmpty(t, long)
	assert.Less(t, len(long), 1<<20)
	_, err := Decode(long, "long.flac")
	assert.ErrorContains(t, err, "1201 seconds of audio, more than 1200 are not read")

	// The header of a FLAC file of unknown length has a length of 0.
	unknown := bytes.Clone(long)
	unknown[21] &= 0xf0
	clear(unknown[22:26])
	_, err = Decode(unknown, "unknown.flac")
	assert.Error(t, err)

	slow := w.encode(t, 0x170002, make([]float32, 999), 999, 1)
	_, err = Decode(slow, "")
	assert.ErrorContains(t, err, "a rate of 999 Hz")
}

// TestSndfileAtOnce: files may be decoded at the same time.
func TestSndfileAtOnce(t *testing.T) {
	w := newSndfileWriter(t)
	in := stereo(t)
	data := w.encode(t, 0x170002, in.Samples, in.Rate, 2)
	want, err := Decode(data, "")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := Decode(data, "")
			assert.NoError(t, err)
			assert.Equal(t, want.Samples, got.Samples)
			_, err = Decode([]byte("fLaC and nothing more"), "")
			assert.ErrorContains(t, err, "this is FLAC, but libsndfile")
		})
	}
	wg.Wait()
}

// TestWithoutSndfile: a process without the library names the file's kind and what to install; WAV files work.
func TestWithoutSndfile(t *testing.T) {
	if os.Getenv("QWEN_TEST_WITHOUT_SNDFILE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWithoutSndfile$")
		cmd.Env = append(os.Environ(), "QWEN_TEST_WITHOUT_SNDFILE=1", SndfileEnv+"="+filepath.Join(t.TempDir(), "none.so"))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
		return
	}
	_, err := Decode([]byte("fLaC...."), "clip.flac")
	assert.ErrorIs(t, err, ErrNoLibrary)
	assert.ErrorContains(t, err, "audio: clip.flac: this is FLAC: it needs libsndfile, which was not found: "+SndfileEnv)
	adpcm := riff(chunk("fmt ", classic(0x11, 1, 24000, 1, 4)), chunk("data", make([]byte, 8)))
	_, err = Decode(adpcm, "clip.wav")
	assert.ErrorContains(t, err, "IMA ADPCM")
	_, err = Decode(riff(chunk("fmt ", classic(1, 1, 24000, 2, 16)), chunk("data", nil)), "")
	assert.NoError(t, err)
}

// TestNotSndfile: a library that isn't libsndfile is refused.
func TestNotSndfile(t *testing.T) {
	_, err := bindSndfile(filepath.Join(t.TempDir(), "none.so"))
	assert.Error(t, err)
	for _, libc := range []string{"libc.so.6", "libSystem.B.dylib", "kernel32.dll"} {
		if _, err := bindSndfile(libc); err != nil && bytes.Contains([]byte(err.Error()), []byte("no libsndfile")) {
			return
		}
	}
	t.Skip("no C library was found to try with")
}

func TestMemory(t *testing.T) {
	m := &memory{data: []byte("abcdef")}
	buf := make([]byte, 9)
	assert.EqualValues(t, 4, m.seek(-2, 2))
	assert.EqualValues(t, 2, m.read(buf))
	assert.Equal(t, "ef", string(buf[:2]))
	assert.EqualValues(t, 0, m.read(buf[:1]))
	assert.EqualValues(t, 1, m.seek(1, 0))
	assert.EqualValues(t, 3, m.seek(2, 1))
	for _, bad := range []struct {
		offset int64
		whence int32
	}{{-1, 0}, {7, 0}, {1, 2}, {0, 3}, {0, -1}, {math.MaxInt64, 1}, {math.MinInt64, 1}, {math.MaxInt64, 2}} {
		assert.EqualValues(t, -1, m.seek(bad.offset, bad.whence), bad)
	}
	assert.EqualValues(t, 0, m.read(nil))
	assert.EqualValues(t, 0, m.write(buf))
	assert.EqualValues(t, 3, m.pos)
}
