package golden

import "math"

// MaxAbs returns the largest absolute difference; NaN if there is a NaN or the lengths differ.
func MaxAbs(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	worst := 0.0
	for i := range want {
		if got[i] == want[i] { // also equal infinities
			continue
		}
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i]))) // max keeps a NaN
	}
	return worst
}

// Cosine returns the cosine of the angle between two vectors; 1 if they are equal, NaN if only one of them is zero,
// if there is a NaN or if the lengths differ.
func Cosine(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	if MaxAbs(got, want) == 0 {
		return 1
	}
	var dot, gg, ww float64
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		dot += g * w
		gg += g * g
		ww += w * w
	}
	return dot / math.Sqrt(gg*ww)
}

// SNR returns the signal-to-noise ratio in dB, 10 log10(Σ want² / Σ (got-want)²): +Inf if they are equal, NaN if
// there is a NaN or the lengths differ.
func SNR(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	if MaxAbs(got, want) == 0 {
		return math.Inf(1)
	}
	var signal, noise float64
	for i := range want {
		w, d := float64(want[i]), float64(got[i])-float64(want[i])
		signal += w * w
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}
