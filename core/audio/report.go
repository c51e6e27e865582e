package audio

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Report says what a clip is worth as a reference. Levels are in dB; 0 dBFS is an amplitude of 1.
type Report struct {
	Container, Encoding string
	Rate, Channels      int
	Frames              int     // samples of one channel
	Seconds             float64 // length

	Peak, RMS   float64 // dBFS, over all channels; -Inf if all is zero
	Clipped     int     // samples in runs at full scale
	ClippedRuns int
	NonFinite   int // samples that are NaN or infinite

	// These describe the mean of the channels. They are zero if there are samples that are not finite.
	MixLoss float64 // dB by which mixing lowers the level: 0 for equal channels, 3 for unlike ones, more if they cancel
	DC      float64 // the mean of all samples
	Lead    float64 // seconds of silence at the start
	Tail    float64 // and at the end
	Sound   float64 // seconds between those

	Samples24k int      // length after resampling to ReferenceRate
	Codes      int      // frames of codes: whole hops
	Steps      []string // what is done to make a reference of it
	Transcript string   // length and pace of the transcript, see AddTranscript

	Warnings []string
	Errors   []string // reasons why it cannot be used
}

// Limits of what is warned about.
const (
	cancelLoss   = 20   // dB
	quietRMS     = -45  // dBFS
	overload     = 1.05 // peak
	offsetLimit  = 0.01
	edgeSilence  = 1.0 // seconds
	clippingRuns = 3
)

// Report examines the clip.
func (c *Clip) Report() *Report {
	r, _ := c.examine()
	return r
}

// Err is nil if the clip can be used as a reference.
func (r *Report) Err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	return errors.New("reference: " + strings.Join(r.Errors, "; "))
}

// AddTranscript judges what is said to be spoken in the clip, see Plausible.
func (r *Report) AddTranscript(text string) {
	n := utf8.RuneCountInString(strings.TrimSpace(text))
	r.Transcript = fmt.Sprintf("%d characters", n)
	if r.Sound > 0 {
		r.Transcript += fmt.Sprintf(", %.1f a second of sound", float64(n)/r.Sound)
	}
	r.Warnings = append(r.Warnings, Plausible(text, r.Sound)...)
}

// examine fills a report; it also returns the mix of the channels, nil if the clip cannot be mixed.
func (c *Clip) examine() (*Report, []float32) {
	r := &Report{
		Container: c.Container, Encoding: c.Encoding, Rate: c.Rate, Channels: c.Channels,
		Frames: c.Frames(), Seconds: c.Seconds(), Warnings: append([]string(nil), c.Warnings...),
	}
	if err := checkShape(c.Rate, c.Channels); err != nil {
		r.fail("%v", err)
		return r, nil
	}
	r.examineLength()
	r.examineLevels(c.levels())
	if r.NonFinite > 0 {
		return r, nil
	}
	mono := c.Mono()
	r.examineMix(mono)
	r.plan()
	return r, mono
}

func (r *Report) fail(format string, args ...any) {
	r.Errors = append(r.Errors, fmt.Sprintf(format, args...))
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *Report) examineLength() {
	r.Samples24k = int(resampledLen(r.Frames, r.Rate, ReferenceRate))
	r.Codes = r.Samples24k / ReferenceHop
	switch {
	case r.Codes == 0:
		r.fail("%d samples at %d Hz are %.3f s, at least %.3f (%d samples at %d Hz) are needed", r.Frames, r.Rate, r.Seconds,
			float64(ReferenceHop)/ReferenceRate, ReferenceHop, ReferenceRate)
	case r.Seconds > MaxReferenceSeconds:
		r.fail("%.1f s are too long, at most %d are taken: cut out 3 to 15 seconds of clear speech", r.Seconds, MaxReferenceSeconds)
	case r.Seconds > LongReferenceSeconds:
		r.warn("%.1f s are long: 3 to 15 seconds of clear speech clone as well and take less time", r.Seconds)
	}
}

func (r *Report) examineLevels(l levels) {
	r.Peak, r.RMS, r.NonFinite, r.Clipped, r.ClippedRuns = decibels(l.peak), decibels(l.rms), l.nonFinite, l.clipped, l.clippedRuns
	if r.NonFinite > 0 {
		r.fail("%d of %d samples are NaN or infinite", r.NonFinite, r.Frames*r.Channels)
	}
	if l.peak > overload {
		r.warn("the peak is %.4g, %.1f dB above full scale", l.peak, r.Peak)
	}
	if r.ClippedRuns >= clippingRuns {
		r.warn("%d samples in %d runs are clipped", r.Clipped, r.ClippedRuns)
	}
}

// examineMix examines the mean of the channels.
func (r *Report) examineMix(mono []float32) {
	mixed := decibels(rms(mono))
	if r.Channels > 1 && !math.IsInf(r.RMS, -1) {
		r.MixLoss = r.RMS - mixed
	}
	r.DC = mean(mono)
	from, to := sounding(mono, r.Rate, r.DC, quietBelow)
	rate := float64(r.Rate)
	r.Sound = float64(to-from) / rate
	if to == 0 && r.Frames > 0 {
		r.silent()
		return
	}
	r.Lead, r.Tail = float64(from)/rate, float64(len(mono)-to)/rate
	if r.MixLoss > cancelLoss {
		r.warn("the channels cancel: mixing them loses %.1f dB; use one of them", r.MixLoss)
	}
	if mixed < quietRMS {
		r.warn("the level is low: %.1f dBFS", mixed)
	}
	if math.Abs(r.DC) > offsetLimit {
		r.warn("the samples have a constant offset of %.3f", r.DC)
	}
	if r.Lead > edgeSilence || r.Tail > edgeSilence {
		r.warn("%.1f s at the start and %.1f s at the end are silent: the speech may come out with such pauses", r.Lead, r.Tail)
	}
}

// silent is for a mix without sound.
func (r *Report) silent() {
	if r.MixLoss > cancelLoss && r.RMS >= silentLevel {
		r.fail("the channels cancel: mixing them leaves silence; use one of them")
		return
	}
	r.fail("it is silent (peak %.1f dBFS)", r.Peak)
}

// plan lists what is done to the clip.
func (r *Report) plan() {
	if r.Channels > 1 {
		r.step("mix %d channels to 1", r.Channels)
	}
	if r.Rate != ReferenceRate {
		r.step("resample %d Hz to %d Hz (%d samples)", r.Rate, ReferenceRate, r.Samples24k)
	}
	r.step("encode %d frames of %d samples", r.Codes, ReferenceHop)
	if rest := r.Samples24k % ReferenceHop; rest > 0 {
		r.step("leave the last %d samples out of the codes", rest)
	}
}

func (r *Report) step(format string, args ...any) {
	r.Steps = append(r.Steps, fmt.Sprintf(format, args...))
}

// String is the report for people, several lines.
func (r *Report) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	if r.Container != "" {
		line("file", "%s, %s", r.Container, r.Encoding)
	}
	line("rate", "%d Hz", r.Rate)
	line("channels", "%d", r.Channels)
	line("length", "%.3f s (%d samples)", r.Seconds, r.Frames)
	line("level", "peak %.1f dBFS, RMS %.1f dBFS", r.Peak, r.RMS)
	line("clipping", "%d samples in %d runs", r.Clipped, r.ClippedRuns)
	if r.Channels > 1 {
		line("mixing", "%.1f dB lost", r.MixLoss)
	}
	line("offset", "%.4f", r.DC)
	line("silence", "%.2f s at the start, %.2f s at the end", r.Lead, r.Tail)
	line("sound", "%.2f s", r.Sound)
	if r.Transcript != "" {
		line("transcript", "%s", r.Transcript)
	}
	if len(r.Errors) == 0 {
		line("steps", "%s", strings.Join(r.Steps, "; "))
	}
	for _, w := range r.Warnings {
		line("warning", "%s", w)
	}
	for _, e := range r.Errors {
		line("error", "%s", e)
	}
	line("verdict", "%s", r.verdict())
	return b.String()
}

// shortReferenceSeconds is where a reference begins to be long enough.
const shortReferenceSeconds = 3

// verdict is the report in a few words.
func (r *Report) verdict() string {
	switch {
	case len(r.Errors) > 0:
		return "not usable"
	case len(r.Warnings) > 0:
		return "usable, but see the warnings"
	case r.Seconds < shortReferenceSeconds:
		return "usable, but 3 to 15 seconds are better"
	}
	return "usable"
}
