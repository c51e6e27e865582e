package audio

import (
	"fmt"
	"math"
)

// The spectrogram that the speaker encoder was trained on. The sample rate is 24 kHz, whatever the metadata of a
// model says.
const (
	MelRate  = 24000 // Hz
	MelBands = 128
	MelHop   = 256 // samples from one frame to the next

	melWindow = 1024 // samples of a frame
	melPad    = (melWindow - MelHop) / 2
	melTop    = MelRate / 2 // Hz: the upper end of the last band
	melFloor  = 1e-5        // least energy of a band
)

// MelMinSamples is the shortest signal that Mel takes: one that can be mirrored at its ends.
const MelMinSamples = melPad + 1

// MelFrames is the number of frames that Mel makes of a number of samples, MelMinSamples at least.
func MelFrames(samples int) int { return (samples+2*melPad-melWindow)/MelHop + 1 }

// Mel returns the logarithmic mel spectrogram of mono samples at 24 kHz, MelFrames rows of MelBands values.
//
// The signal is mirrored at both ends, then frames of 1024 samples under a periodic Hann window give magnitudes
// √(re² + im² + 1e-9); triangles on the Slaney scale, of equal area, gather these into bands up to 12 kHz, and the
// natural logarithm of at least 1e-5 is taken (mel_spectrogram of the official qwen-tts package). All is computed in
// float64. It is an error if there are too few samples or one is not finite.
func Mel(pcm []float32) ([]float32, error) {
	if len(pcm) < MelMinSamples {
		return nil, fmt.Errorf("mel: %d samples cannot be mirrored at their ends: at least %d are needed", len(pcm), MelMinSamples)
	}
	for i, x := range pcm {
		if x-x != 0 {
			return nil, fmt.Errorf("mel: sample %d is %v", i, x)
		}
	}
	var (
		out       = make([]float32, MelFrames(len(pcm))*MelBands)
		fft       = newRealFFT(melWindow)
		window    = hann(melWindow)
		bands     = melBands()
		frame     = make([]float64, melWindow)
		magnitude = make([]float64, melWindow/2+1)
	)
	for i := range len(out) / MelBands {
		for j, w := range window {
			frame[j] = w * float64(pcm[mirrored(i*MelHop-melPad+j, len(pcm))])
		}
		fft.power(magnitude, frame)
		for k, p := range magnitude {
			magnitude[k] = math.Sqrt(p + 1e-9)
		}
		for b, band := range bands {
			out[i*MelBands+b] = float32(math.Log(max(band.energy(magnitude), melFloor)))
		}
	}
	return out, nil
}

// mirrored is the sample of a signal of n samples that stands for number i when the signal is reflected about its
// first and its last sample.
func mirrored(i, n int) int {
	if i < 0 {
		return -i
	}
	if i >= n {
		return 2*(n-1) - i
	}
	return i
}

// hann is the periodic Hann window of n samples.
func hann(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(n))
	}
	return w
}

// band weighs the bins of a spectrum from the first on; the others do not count.
type band struct {
	first   int
	weights []float64
}

func (b band) energy(spectrum []float64) (sum float64) {
	for i, w := range b.weights {
		sum += w * spectrum[b.first+i]
	}
	return sum
}

// melBands are triangles over frequency, each from the peak of the one before to the peak of the one after, at equal
// distances in mel. Their area is 1.
func melBands() []band {
	edge := make([]float64, MelBands+2) // Hz
	for i := range edge {
		edge[i] = melToHz(hzToMel(melTop) * float64(i) / (MelBands + 1))
	}
	const bin = float64(MelRate) / melWindow // Hz
	bands := make([]band, MelBands)
	for i := range bands {
		low, peak, high := edge[i], edge[i+1], edge[i+2]
		b := &bands[i]
		b.first = int(math.Ceil(low / bin))
		for k := b.first; float64(k)*bin < high; k++ {
			f := float64(k) * bin
			b.weights = append(b.weights, 2/(high-low)*min((f-low)/(peak-low), (high-f)/(high-peak)))
		}
	}
	return bands
}

// The Slaney scale of mel is linear up to the knee and logarithmic above it: 27 mel more are 6.4 times the frequency.
const (
	kneeHz, kneeMel = 1000.0, 15.0
	stepMel, stepHz = 27.0, 6.4
)

func hzToMel(f float64) float64 {
	if f < kneeHz {
		return f * kneeMel / kneeHz
	}
	return kneeMel + stepMel*math.Log(f/kneeHz)/math.Log(stepHz)
}

func melToHz(m float64) float64 {
	if m < kneeMel {
		return m * kneeHz / kneeMel
	}
	return kneeHz * math.Pow(stepHz, (m-kneeMel)/stepMel)
}
