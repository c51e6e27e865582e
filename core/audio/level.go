package audio

import "math"

const (
	levelWindow = 100 // windows a second: silence is looked for in 10 ms
	silentLevel = -70 // dBFS: windows below it are silent, whatever the rest
	quietBelow  = 40  // dB: windows that far below the loudest one are silent
	trimBelow   = 30  // dB: TrimSilence cuts windows that far below the loudest one
)

// decibels of an amplitude; -Inf for 0.
func decibels(amplitude float64) float64 { return 20 * math.Log10(amplitude) }

// levels are measured over all channels. Values that are not finite count as such and as nothing else.
type levels struct {
	peak, rms   float64
	nonFinite   int
	clipped     int // samples in runs of at least minRun at full scale
	clippedRuns int
}

// minRun samples of one channel in a row at full scale are clipping; fewer may be a peak.
const minRun = 3

func (c *Clip) levels() levels {
	l, sum := levels{}, 0.0
	full := float64(c.full)
	if full == 0 {
		full = 1 - 0x1p-15
	}
	for ch := range c.Channels {
		run := 0
		for i := ch; i < len(c.Samples); i += c.Channels {
			x := math.Abs(float64(c.Samples[i]))
			if math.IsNaN(x) || math.IsInf(x, 0) {
				l.nonFinite++
				continue
			}
			l.peak, sum = max(l.peak, x), sum+x*x
			if x < full {
				run = 0
				continue
			}
			run++
			l.addClipped(run)
		}
	}
	if n := len(c.Samples) - l.nonFinite; n > 0 {
		l.rms = math.Sqrt(sum / float64(n))
	}
	return l
}

// addClipped counts a run that has grown to that length.
func (l *levels) addClipped(run int) {
	switch {
	case run == minRun:
		l.clippedRuns++
		l.clipped += run
	case run > minRun:
		l.clipped++
	}
}

// Mono is the mean of the channels. With one channel it is c.Samples itself.
func (c *Clip) Mono() []float32 {
	if c.Channels == 1 {
		return c.Samples
	}
	mono := make([]float32, c.Frames())
	for i := range mono {
		sum := 0.0
		for _, x := range c.Samples[i*c.Channels : (i+1)*c.Channels] {
			sum += float64(x)
		}
		mono[i] = float32(sum / float64(c.Channels))
	}
	return mono
}

// windowLevels are the levels of 10 ms each, in dBFS, around a constant offset. The last one may be shorter.
func windowLevels(mono []float32, rate int, offset float64) []float64 {
	size := max(1, rate/levelWindow)
	levels := make([]float64, 0, len(mono)/size+1)
	for len(mono) > 0 {
		w := mono[:min(size, len(mono))]
		sum := 0.0
		for _, x := range w {
			sum += (float64(x) - offset) * (float64(x) - offset)
		}
		levels = append(levels, decibels(math.Sqrt(sum/float64(len(w)))))
		mono = mono[len(w):]
	}
	return levels
}

// sounding returns the range of samples from the first window with sound to the last one, which is empty if there is
// none. A window is silent if it lies the given number of dB below the loudest.
func sounding(mono []float32, rate int, offset, below float64) (from, to int) {
	levels := windowLevels(mono, rate, offset)
	loudest := math.Inf(-1)
	for _, l := range levels {
		loudest = max(loudest, l)
	}
	limit := max(loudest-below, silentLevel)
	size := max(1, rate/levelWindow)
	first, last := -1, 0
	for i, l := range levels {
		if l >= limit {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 0, 0
	}
	return first * size, min((last+1)*size, len(mono))
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(max(len(x), 1))
}

func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(len(x), 1)))
}
