package audio

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMelEqualsTheReference: the reference computes in float32, whose rounding moves the energies by up to 1e-7. In the
// logarithm of bands next to the floor of 1e-5 this is up to 7e-3, elsewhere it is small.
func TestMelEqualsTheReference(t *testing.T) {
	for _, clip := range []string{"speech", "sweep"} {
		want, shape := golden.Load(t, "spk_tiny-base-17_"+clip).F32("mel")
		pcm := golden.PCM(t, clip)
		got, err := Mel(pcm)
		require.NoError(t, err)
		assert.Equal(t, shape, []int{MelFrames(len(pcm)), MelBands})
		golden.Check(t, "mel", got, want)

		energy, logarithm := 0.0, 0.0
		for i, w := range want {
			energy = max(energy, math.Abs(math.Exp(float64(got[i]))-math.Exp(float64(w)))/max(1, math.Exp(float64(w))))
			if w > -7 {
				logarithm = max(logarithm, math.Abs(float64(got[i]-w)))
			}
		}
		t.Logf("%s: energies within %.2g, logarithms above -7 within %.2g", clip, energy, logarithm)
		assert.Less(t, energy, 3e-7)
		assert.Less(t, logarithm, 1e-4)
	}
}

func TestMelRefuses(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		pcm  []float32
		want string
	}{
		"nothing":   {nil, "mel: 0 samples cannot be mirrored at their ends: at least 385 are needed"},
		"too short": {make([]float32, 384), "mel: 384 samples cannot be mirrored at their ends: at least 385 are needed"},
		"NaN":       {append(make([]float32, 500), inf-inf, 0), "mel: sample 500 is NaN"},
		"infinite":  {append(make([]float32, 999), -inf), "mel: sample 999 is -Inf"},
	} {
		_, err := Mel(c.pcm)
		assert.EqualError(t, err, c.want, name)
	}
}

func TestMelFrames(t *testing.T) {
	for samples, frames := range map[int]int{385: 1, 511: 1, 512: 2, 767: 2, 768: 3, 24000: 93} {
		mel, err := Mel(make([]float32, samples))
		require.NoError(t, err)
		assert.Len(t, mel, frames*MelBands)
		for _, x := range mel {
			require.Equal(t, float32(math.Log(1e-5)), x, "silence is at the floor")
		}
	}
}

// TestMelOfATone: a tone is in the band that its frequency belongs to, all the way to its ends, where it is mirrored.
func TestMelOfATone(t *testing.T) {
	for _, hz := range []float64{100, 440, 1000, 5000, 11000} {
		pcm := make([]float32, 4000)
		for i := range pcm {
			pcm[i] = float32(math.Cos(2 * math.Pi * hz * float64(i) / MelRate))
		}
		mel, err := Mel(pcm)
		require.NoError(t, err)
		for at := 0; at < len(mel); at += MelBands {
			loudest := 0
			for b, x := range mel[at : at+MelBands] {
				if x > mel[at+loudest] {
					loudest = b
				}
			}
			peak := melToHz(hzToMel(melTop) * float64(loudest+1) / (MelBands + 1))
			assert.InDelta(t, hzToMel(hz), hzToMel(peak), 0.6, "%g Hz, frame %d", hz, at/MelBands)
		}
	}
}

func TestMelOfTheLoudest(t *testing.T) {
	pcm := make([]float32, 1000)
	for i := range pcm {
		pcm[i] = math.MaxFloat32 * float32(i%2*2-1)
	}
	mel, err := Mel(pcm)
	require.NoError(t, err)
	for _, x := range mel {
		require.Zero(t, x-x)
	}
}

// TestMelBands: the triangles cover the bins between the first peak and the last without a gap, and their areas are 1,
// as far as bins can tell.
func TestMelBands(t *testing.T) {
	bands := melBands()
	require.Len(t, bands, MelBands)
	for i, b := range bands {
		area := 0.0
		for _, w := range b.weights {
			assert.GreaterOrEqual(t, w, 0.0)
			area += w * MelRate / melWindow
		}
		assert.InDelta(t, 1, area, 0.4, "band %d", i)
		assert.LessOrEqual(t, b.first+len(b.weights), melWindow/2+1)
		if i > 0 {
			assert.LessOrEqual(t, b.first, bands[i-1].first+len(bands[i-1].weights))
		}
	}
	for _, hz := range []float64{0, 27, 999.5, 1000, 1001, 12000} {
		assert.InDelta(t, hz, melToHz(hzToMel(hz)), 1e-9)
	}
}

func TestRealFFT(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 8, 64, 1024} {
		x, got := make([]float64, n), make([]float64, n/2+1)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		f := newRealFFT(n)
		f.power(got, x)
		for k := range got {
			sum := complex128(0)
			for i, v := range x {
				sum += complex(v, 0) * cmplx.Rect(1, -2*math.Pi*float64(k*i%n)/float64(n))
			}
			require.InDelta(t, norm(sum), got[k], 1e-10*float64(n), "%d samples, bin %d", n, k)
		}
	}
}

func BenchmarkMel(b *testing.B) {
	pcm := make([]float32, 60*MelRate)
	for i := range pcm {
		pcm[i] = float32(math.Sin(float64(i) * float64(i) / 1e5))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Mel(pcm); err != nil {
			b.Fatal(err)
		}
	}
}
