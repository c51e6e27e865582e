package audio

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/tests/golden"
)

func resample(tb testing.TB, x []float32, from, to int) []float32 {
	tb.Helper()
	y, err := Resample(x, from, to)
	require.NoError(tb, err)
	return y
}

// TestResampleEqualsSoxr compares with soxr's HQ setting: the error, as far as it lies in the pass band, is at least
// 100 dB below the signal, and all of it 80 dB. (Above the pass band the two filters need not agree.)
func TestResampleEqualsSoxr(t *testing.T) {
	arrays := golden.Load(t, "resample")
	for _, rate := range []int{16000, 44100} {
		in, _ := arrays.F32(fmt.Sprintf("in_%d", rate))
		want, _ := arrays.F32(fmt.Sprintf("out_%d_to_24000", rate))
		got := resample(t, in, rate, 24000)
		require.Len(t, got, len(want))
		all := golden.SNR(got, want)
		passed := lowSNR(got, want, passBand*float64(min(rate, 24000))/24000)
		t.Logf("%d Hz: %.1f dB, pass band %.1f dB", rate, all, passed)
		assert.Greater(t, all, 80.0)
		assert.Greater(t, passed, 100.0)
	}
}

// lowSNR is the signal-to-noise ratio of what lies below a fraction of the Nyquist frequency.
func lowSNR(got, want []float32, fraction float64) float64 {
	noise := make([]float32, len(want))
	for i := range want {
		noise[i] = got[i] - want[i]
	}
	signalLow, _ := split(want, fraction)
	noiseLow, _ := split(noise, fraction)
	return 10 * math.Log10(signalLow/noiseLow)
}

// split returns the power below and above a fraction of the Nyquist frequency, in a window.
func split(x []float32, fraction float64) (low, high float64) {
	n := 1
	for n < len(x) {
		n *= 2
	}
	z := make([]complex128, n)
	for i := range x {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(len(x)))
		z[i] = complex(w*w*float64(x[i]), 0)
	}
	fft(z)
	for k := range n / 2 {
		if float64(k) < fraction*float64(n)/2 {
			low += norm(z[k])
		} else {
			high += norm(z[k])
		}
	}
	return low, high
}

// fft transforms in place; the length is a power of 2.
func fft(x []complex128) {
	n := len(x)
	if n == 1 {
		return
	}
	even, odd := make([]complex128, n/2), make([]complex128, n/2)
	for i := range even {
		even[i], odd[i] = x[2*i], x[2*i+1]
	}
	fft(even)
	fft(odd)
	for k := range even {
		w := cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n)) * odd[k]
		x[k], x[k+n/2] = even[k]+w, even[k]-w
	}
}

// chirp is a sweep from f0 to f1 Hz in that many seconds, at a rate, faded in and out over 50 ms.
func chirp(rate int, seconds, f0, f1 float64) []float32 {
	x := make([]float32, int(seconds*float64(rate)))
	for i := range x {
		t := float64(i) / float64(rate)
		fade := min(1, t/0.05, (seconds-t)/0.05)
		x[i] = float32(0.9 * fade * fade * (3 - 2*fade) * math.Sin(2*math.Pi*(f0*t+(f1-f0)*t*t/2/seconds)))
	}
	return x
}

// TestChirps: a sweep through the pass band at any rate becomes the sweep that would have been recorded at the other
// rate. An error of one sample a second would leave a signal-to-noise ratio of a few dB.
func TestChirps(t *testing.T) {
	for _, rate := range []int{8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 96000, 1000, 44101, 23999, 768000, 767999} {
		top := 0.7 * float64(min(rate, 24000)) / 2 // fading adds some more
		want := chirp(24000, 0.5, 20, top)
		got := resample(t, chirp(rate, 0.5, 20, top), rate, 24000)
		require.InDelta(t, len(want), len(got), 1)
		snr := commonSNR(got, want)
		t.Logf("%d Hz to 24000: %.1f dB", rate, snr)
		assert.Greater(t, snr, 80.0, rate)

		if rate > 96000 {
			continue
		}
		want = chirp(rate, 0.5, 20, top)
		got = resample(t, chirp(24000, 0.5, 20, top), 24000, rate)
		snr = commonSNR(got, want)
		assert.Greater(t, snr, 80.0, "24000 Hz to %d: %.1f dB", rate, snr)
	}
}

// commonSNR compares as much as both have: half a second need not be a whole number of samples.
func commonSNR(got, want []float32) float64 {
	n := min(len(got), len(want))
	return golden.SNR(got[:n], want[:n])
}

// TestNoAliases: tones from the new Nyquist frequency up leave nothing behind, neither do the images of tones when the
// rate rises.
func TestNoAliases(t *testing.T) {
	for _, rate := range []int{32000, 44100, 44101, 48000, 96000, 192000, 767999} {
		for _, times := range []float64{1.0, 1.01, 1.1, 1.7, 2} {
			f := times * 12000
			if f >= float64(rate)/2 {
				continue
			}
			y := resample(t, chirp(rate, 0.15, f, f), rate, 24000)
			assert.Less(t, decibels(rms(y)/0.6), -100.0, "%d Hz, tone of %.0f Hz", rate, f)
		}
	}
	for _, rate := range []int{8000, 11025, 16000, 22050, 23999} {
		for _, times := range []float64{0.1, 0.5, 0.9} {
			f := times * float64(rate) / 2
			y := resample(t, chirp(rate, 0.3, f, f), rate, 24000)
			low, high := split(y, float64(rate)/24000)
			assert.Less(t, 10*math.Log10(high/low), -100.0, "%d Hz, tone of %.0f Hz", rate, f)
		}
	}
}

// TestImpulse: an impulse stays where it was, symmetric, and constants keep their value.
func TestImpulse(t *testing.T) {
	for _, rate := range []int{8000, 48000, 44100, 12345} {
		x := make([]float32, rate)
		at := rate / 2 / 5 * 5
		x[at] = 1
		y := resample(t, x, rate, 24000)
		peak := 0
		for i := range y {
			if y[i] > y[peak] {
				peak = i
			}
		}
		assert.InDelta(t, float64(at)*24000/float64(rate), float64(peak), 0.51, rate)
		if at*24000%rate == 0 {
			for d := range 100 {
				assert.InDelta(t, y[peak-d], y[peak+d], 1e-7)
			}
		}
		for i := range x {
			x[i] = 0.5
		}
		y = resample(t, x, rate, 24000)
		for _, v := range y[1000 : len(y)-1000] {
			require.InDelta(t, 0.5, v, 2e-6)
		}
	}
}

func TestResampleLengths(t *testing.T) {
	for _, c := range []struct{ n, from, want int }{
		{0, 48000, 0}, {1, 48000, 1}, {2, 48000, 1}, {3, 48000, 2}, {1, 8000, 3}, {17640, 44100, 9600}, {44101, 44100, 24001},
		{44100, 44100, 24000}, {1, 768000, 1}, {33, 768000, 2}, {1, 1000, 24}, {5, 24000, 5},
	} {
		assert.Len(t, resample(t, make([]float32, c.n), c.from, 24000), c.want, c)
	}
	for _, rate := range []int{0, -1, 999, 768001} {
		_, err := Resample(nil, rate, 24000)
		assert.ErrorContains(t, err, fmt.Sprintf("a rate of %d Hz", rate))
		_, err = Resample(nil, 24000, rate)
		assert.Error(t, err)
	}
	_, err := Resample(make([]float32, 200_000), 1000, 768000)
	assert.ErrorContains(t, err, "would become 153600000")
}

// TestResampleInParts: a signal's start does not depend on what follows beyond the filter's reach, and every run has
// the same bits.
func TestResampleInParts(t *testing.T) {
	x := chirp(44100, 1, 50, 10000)
	whole, again := resample(t, x, 44100, 24000), resample(t, x, 44100, 24000)
	assert.Equal(t, whole, again)
	part := resample(t, x[:22050], 44100, 24000)
	assert.Equal(t, whole[:11800], part[:11800])
}

// TestFilterTablesAreBounded: no ratio makes a large table.
func TestFilterTablesAreBounded(t *testing.T) {
	for _, c := range [][2]int{{767999, 24000}, {1001, 24000}, {24000, 767999}, {1000, 767999}, {767999, 1000}, {44100, 24000}} {
		r := newResampler(c[0], c[1])
		assert.LessOrEqual(t, len(r.bank)*len(r.bank[0]), 500_000, c)
	}
}

func BenchmarkResample(b *testing.B) {
	for _, rate := range []int{16000, 44100, 44101, 48000, 192000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			x := make([]float32, 10*rate)
			b.ReportAllocs()
			for b.Loop() {
				resample(b, x, rate, 24000)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/10, "s/s")
		})
	}
}
