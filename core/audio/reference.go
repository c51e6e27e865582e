package audio

// What a reference recording for cloning must be. The encoders take mono at ReferenceRate and make one frame of codes
// of every ReferenceHop samples.
const (
	ReferenceRate = 24000 // Hz
	ReferenceHop  = 1920  // samples; shorter references are refused

	MaxReferenceSeconds  = 120 // longer ones are refused: what encodes them takes memory in proportion, and a few seconds tell as much
	LongReferenceSeconds = 30  // longer ones are warned about: they cost time and add nothing
)

// Mono24k makes a reference of the clip: the mean of its channels at 24 kHz. What is odd about the clip but does not
// prevent its use comes as warnings; it is an error if the clip is shorter than one frame of codes or longer than
// MaxReferenceSeconds, silent (also because its channels cancel), or not finite. (*Clip).Report has the details.
//
// 60 seconds of 48 kHz stereo take 23 MB as a Clip, and here another 12 MB while they are mixed and 6 MB for the
// result. If nothing had to be done, the result is c.Samples itself.
func (c *Clip) Mono24k() (pcm []float32, warnings []string, err error) {
	r, mono := c.examine()
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	pcm, err = Resample(mono, c.Rate, ReferenceRate)
	return pcm, r.Warnings, err
}

const (
	maxTrim        = 0.4 // of the clip
	minTrimSeconds = 2   // are left
)

// TrimSilence returns pcm without what is silent at its ends, or fades in or out; at most 40 % is cut, and never so
// much that less than 2 seconds are left.
func TrimSilence(pcm []float32, rate int) []float32 {
	from, to := sounding(pcm, rate, mean(pcm), trimBelow)
	if to == 0 {
		return pcm
	}
	lead, tail := from, len(pcm)-to
	allowed := min(int(maxTrim*float64(len(pcm))), len(pcm)-minTrimSeconds*rate)
	if allowed <= 0 {
		return pcm
	}
	if cut := lead + tail; cut > allowed { // less of both, in proportion
		lead = int(int64(lead) * int64(allowed) / int64(cut))
		tail = allowed - lead
	}
	return pcm[lead : len(pcm)-tail]
}
