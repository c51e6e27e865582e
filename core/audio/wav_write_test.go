package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-audio/wav"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/tests/golden"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func TestConversion(t *testing.T) {
	for _, c := range []struct {
		in   float32
		want int16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0}, {1, 32767}, {-1, -32768}, {1.5, 32767}, {-1.5, -32768},
		{inf, 32767}, {-inf, -32768}, {nan, 0}, {0.5, 16384}, {-0.5, -16384}, {32767.4 / 32768, 32767},
		{0.5 / 32768, 0}, {1.5 / 32768, 2}, {2.5 / 32768, 2}, {-0.5 / 32768, 0}, {-1.5 / 32768, -2}, // ties to even
		{0.51 / 32768, 1}, {-0.51 / 32768, -1},
	} {
		var b bytes.Buffer
		w := write(t, &b, PCM, []float32{c.in})
		assert.Equal(t, c.want, int16(binary.LittleEndian.Uint16(b.Bytes())), c.in)
		assert.Equal(t, c.in != c.in, w.NaNs() == 1)
		assert.Equal(t, c.in < -1 || c.in > 1, w.Clipped() == 1)
	}
	b := int24s.append([]byte{9}, []float32{1, -1, 0, -1.0 / (1 << 23)})
	assert.Equal(t, []byte{9, 0xff, 0xff, 0x7f, 0, 0, 0x80, 0, 0, 0, 0xff, 0xff, 0xff}, b)
	for x, want := range map[float32]float32{0.25: 0.25, inf: 1, -7: -1, -inf: -1} {
		b := float32s.append(nil, []float32{clean(x)})
		assert.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	assert.Zero(t, clean(nan))
}

// ramp has every interesting magnitude, and an odd length.
func ramp() []float32 {
	x := make([]float32, 1001)
	for i := range x {
		x[i] = float32(i-500) / 490
	}
	return x
}

func write(t *testing.T, w io.Writer, f Format, parts ...[]float32) *Writer {
	t.Helper()
	out, err := NewWriter(w, f, 24000)
	require.NoError(t, err)
	for _, p := range parts {
		require.NoError(t, out.Write(p))
	}
	require.NoError(t, out.Close())
	require.NoError(t, out.Close(), "closing again does nothing")
	assert.ErrorContains(t, out.Write(ramp()), "after close")
	return out
}

// stored are the bytes of the samples in a file of that format.
func stored(f Format, x []float32) []byte {
	cleaned := make([]float32, len(x))
	for i := range x {
		cleaned[i] = clean(x[i])
	}
	return formats[f].stored.append(nil, cleaned)
}

func TestFile(t *testing.T) {
	x := ramp()
	for _, f := range []Format{WAV16, WAV24, WAV32} {
		t.Run(f.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.wav")
			file, err := os.Create(path)
			require.NoError(t, err)
			write(t, file, f, x[:1], nil, x[1:400], x[400:])
			require.NoError(t, file.Close())

			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			want := stored(f, x)
			assert.Equal(t, want, raw[headerSize:headerSize+len(want)])
			assert.Zero(t, len(raw)%2, "chunks are padded to even sizes")
			assert.Equal(t, uint32(len(raw)-8), binary.LittleEndian.Uint32(raw[riffSizeAt:]))
			assert.Equal(t, uint32(len(want)), binary.LittleEndian.Uint32(raw[dataSizeAt:]))
			assert.Len(t, raw, headerSize+len(want)+len(want)%2)

			// A reader that isn't ours.
			d := wav.NewDecoder(bytes.NewReader(raw))
			buf, err := d.FullPCMBuffer()
			require.NoError(t, err)
			assert.Equal(t, []int{24000, 1, 8 * formats[f].stored.bytes(), formats[f].stored.tag()},
				[]int{int(d.SampleRate), int(d.NumChans), int(d.BitDepth), int(d.WavAudioFormat)})
			require.GreaterOrEqual(t, len(buf.Data), len(x))
			if f == WAV16 {
				for i, v := range x {
					require.Equal(t, int(quantize(min(max(v, -1), 1), 16)), buf.Data[i])
				}
			}

			clip, err := Load(path)
			require.NoError(t, err)
			assert.Equal(t, []int{24000, 1, len(x)}, []int{clip.Rate, clip.Channels, len(clip.Samples)})
			step := map[Format]float64{WAV16: 0x1p-15, WAV24: 0x1p-23, WAV32: 0}[f]
			for i, v := range x {
				require.InDelta(t, min(max(v, -1), 1), clip.Samples[i], step)
			}
		})
	}
}

// TestStream: what can't seek gets one header with open sizes, then exactly the samples.
func TestStream(t *testing.T) {
	x := ramp()
	for _, f := range []Format{WAV16, WAV24, WAV32} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		go func() {
			defer w.Close()
			write(t, w, f, x[:7], x[7:])
		}()
		piped, err := io.ReadAll(r)
		require.NoError(t, err)

		var plain bytes.Buffer
		write(t, &plain, f, x)
		assert.Equal(t, plain.Bytes(), piped)
		assert.Equal(t, uint32(math.MaxUint32), binary.LittleEndian.Uint32(piped[riffSizeAt:]))
		assert.Equal(t, uint32(math.MaxUint32), binary.LittleEndian.Uint32(piped[dataSizeAt:]))

		file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
		require.NoError(t, err)
		defer file.Close()
		write(t, file, f, x)
		exact, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		n := len(piped)
		assert.Equal(t, exact[8:dataSizeAt], piped[8:dataSizeAt], "the same header but for the sizes")
		assert.Equal(t, exact[headerSize:n], piped[headerSize:])

		clip, err := DecodeWAV(piped)
		require.NoError(t, err)
		assert.Len(t, clip.Samples, len(x))
	}
}

// TestSeveralInOneFile: offsets count from where each WAV file starts.
func TestSeveralInOneFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	require.NoError(t, err)
	defer file.Close()
	write(t, file, WAV16, ramp()[:3])
	write(t, file, WAV16, ramp()[3:5])
	write(t, file, WAV16)
	raw, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	for _, n := range []int{3, 2, 0} {
		clip, err := DecodeWAV(raw)
		require.NoError(t, err)
		assert.Len(t, clip.Samples, n)
		raw = raw[headerSize+2*n:]
	}
	assert.Empty(t, raw)
}

// TestInterrupted: without Close the file can be read all the same.
func TestInterrupted(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	require.NoError(t, err)
	defer file.Close()
	w, err := NewWriter(file, WAV16, 24000)
	require.NoError(t, err)
	require.NoError(t, w.Write(ramp()))
	clip, err := Load(file.Name())
	require.NoError(t, err)
	assert.Len(t, clip.Samples, 1001)
}

// TestBeyond4GiB: sizes that don't fit saturate.
func TestBeyond4GiB(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	require.NoError(t, err)
	defer file.Close()
	w, err := NewWriter(file, WAV16, 24000)
	require.NoError(t, err)
	w.dst.(*wavFile).bytes = 5 << 30 // as if so much had been written
	require.NoError(t, w.Close())
	raw, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, uint32(math.MaxUint32), binary.LittleEndian.Uint32(raw[riffSizeAt:]))
	assert.Equal(t, uint32(math.MaxUint32), binary.LittleEndian.Uint32(raw[dataSizeAt:]))
}

func TestNaNsAreCounted(t *testing.T) {
	var plain bytes.Buffer
	assert.Equal(t, 2, write(t, &plain, WAV16, []float32{nan, 1}, []float32{nan}).NaNs())
	file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	require.NoError(t, err)
	defer file.Close()
	assert.Equal(t, 1, write(t, file, WAV32, []float32{nan, 1}).NaNs())
}

// full is a destination that fails after some bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.left {
		return 0, errFull
	}
	f.left -= len(b)
	return len(b), nil
}

var errFull = errors.New("disk full")

func TestWriteErrors(t *testing.T) {
	_, err := NewWriter(&full{10}, WAV16, 24000)
	assert.ErrorIs(t, err, errFull)
	w, err := NewWriter(&full{headerSize + 10}, WAV16, 24000)
	require.NoError(t, err)
	assert.ErrorIs(t, w.Write(ramp()), errFull)

	_, err = NewWriter(io.Discard, Format(9), 24000)
	assert.ErrorContains(t, err, "Format(9)")
	for _, rate := range []int{0, -1, math.MaxInt32} {
		_, err = NewWriter(io.Discard, WAV16, rate)
		assert.ErrorContains(t, err, "out of range")
	}

	file, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	require.NoError(t, err)
	w, err = NewWriter(file, WAV16, 24000)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.ErrorIs(t, w.Write(ramp()), os.ErrClosed)
	assert.ErrorIs(t, w.Close(), os.ErrClosed)
}

// TestGoldenAudio: a file of another writer, read, written and read again, keeps every sample.
func TestGoldenAudio(t *testing.T) {
	clip, err := Load(golden.Path(t, "audio", "speech_24k.wav"))
	require.NoError(t, err)
	assert.Equal(t, []int{24000, 1, 49234}, []int{clip.Rate, clip.Channels, len(clip.Samples)})
	var plain bytes.Buffer
	write(t, &plain, WAV16, clip.Samples)
	again, err := DecodeWAV(plain.Bytes())
	require.NoError(t, err)
	assert.Equal(t, clip.Samples, again.Samples)
}

func BenchmarkStream(b *testing.B) {
	w, err := NewWriter(io.Discard, WAV16, 24000)
	require.NoError(b, err)
	frame := make([]float32, 1920)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
}
