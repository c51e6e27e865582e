package audio

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/tests/golden"
)

// voice is a clip of that many seconds with sound like speech: a tone that swells four times a second.
func voice(seconds float64, rate, channels int) *Clip {
	c := &Clip{Rate: rate, Channels: channels}
	for i := range int(seconds * float64(rate)) {
		t := float64(i) / float64(rate)
		x := float32(0.3 * (0.6 + 0.4*math.Sin(8*math.Pi*t)) * math.Sin(2*math.Pi*220*t))
		for range channels {
			c.Samples = append(c.Samples, x)
		}
	}
	return c
}

// edit changes every sample, given its frame and channel.
func (c *Clip) edit(change func(x float32, frame, channel int) float32) *Clip {
	for i, x := range c.Samples {
		c.Samples[i] = change(x, i/c.Channels, i%c.Channels)
	}
	return c
}

func mono24k(t *testing.T, c *Clip) (pcm []float32, warnings []string) {
	t.Helper()
	pcm, warnings, err := c.Mono24k()
	require.NoError(t, err)
	return pcm, warnings
}

// TestGoodReference: a plain clip gives no warning, whatever its rate and channels, and keeps its length.
func TestGoodReference(t *testing.T) {
	for _, rate := range []int{8000, 16000, 24000, 44100, 48000} {
		for _, channels := range []int{1, 2, 6, 8} {
			c := voice(1, rate, channels)
			pcm, warnings := mono24k(t, c)
			assert.Len(t, pcm, 24000)
			assert.Empty(t, warnings)
			r := c.Report()
			assert.NoError(t, r.Err())
			assert.InDelta(t, 1, r.Seconds, 1e-9)
			assert.InDelta(t, 1, r.Sound, 0.02)
			assert.InDelta(t, decibels(0.3), r.Peak, 0.1)
			assert.InDelta(t, 0, r.MixLoss, 1e-5)
			assert.Equal(t, 12, r.Codes)
			assert.Equal(t, 24000, r.Samples24k)
		}
	}
	c := voice(1, 24000, 1)
	pcm, _ := mono24k(t, c)
	assert.Same(t, &c.Samples[0], &pcm[0], "nothing is copied when nothing is to be done")
	assert.Equal(t, []string{"encode 12 frames of 1920 samples", "leave the last 960 samples out of the codes"}, c.Report().Steps)
	assert.Equal(t, []string{"mix 2 channels to 1", "resample 48000 Hz to 24000 Hz (46080 samples)", "encode 24 frames of 1920 samples"},
		voice(1.92, 48000, 2).Report().Steps)
}

// TestMixing: the mean of the channels, and a warning where they cancel.
func TestMixing(t *testing.T) {
	c := &Clip{Rate: 24000, Channels: 4, Samples: []float32{1, 0.5, 0.25, 0.25, -1, 1, 0, 0}}
	assert.Equal(t, []float32{0.5, 0}, c.Mono())

	left := voice(1, 24000, 2).edit(func(x float32, _, ch int) float32 { return x * float32(1-ch) })
	_, warnings := mono24k(t, left)
	assert.Empty(t, warnings)
	assert.InDelta(t, 3.01, left.Report().MixLoss, 0.01)

	nearly := voice(1, 24000, 2).edit(func(x float32, _, ch int) float32 { return x * [2]float32{1, -0.85}[ch] })
	_, warnings = mono24k(t, nearly)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "the channels cancel: mixing them loses 21.9 dB")

	opposite := voice(1, 24000, 2).edit(func(x float32, _, ch int) float32 { return x * [2]float32{1, -1}[ch] })
	_, _, err := opposite.Mono24k()
	assert.EqualError(t, err, "reference: the channels cancel: mixing them leaves silence; use one of them")

	one := voice(1, 24000, 64).edit(func(x float32, _, ch int) float32 { return x * float32(ch/63) })
	_, warnings = mono24k(t, one)
	require.Len(t, warnings, 1, "one of 64 channels is faint, but nothing cancels")
	assert.Contains(t, warnings[0], "the level is low")
}

// TestLengths of references.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		samples, rate int
		want          string
	}{
		{0, 24000, "0 samples at 24000 Hz are 0.000 s, at least 0.080 (1920 samples at 24000 Hz) are needed"},
		{1, 24000, "1 samples"},
		{100, 24000, "100 samples"},
		{1919, 24000, "1919 samples"},
		{1920, 24000, ""},
		{2400, 24000, ""},
		{3838, 48000, "3838 samples at 48000 Hz"}, // 1919 at 24 kHz
		{3839, 48000, ""},
		{MaxReferenceSeconds * 1000, 1000, ""},
		{MaxReferenceSeconds*1000 + 1, 1000, "120.0 s are too long, at most 120 are taken"},
		{11 * 60 * 1000, 1000, "660.0 s are too long"},
	} {
		err := voice(float64(c.samples+1)/float64(c.rate), c.rate, 1).cut(c.samples).Report().Err()
		if c.want == "" {
			assert.NoError(t, err, c.samples)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
	assert.Empty(t, voice(30, 1000, 1).Report().Warnings)
	warnings := voice(31, 1000, 1).Report().Warnings
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "31.0 s are long")
}

func (c *Clip) cut(frames int) *Clip {
	c.Samples = c.Samples[:frames*c.Channels]
	return c
}

func TestBadSamples(t *testing.T) {
	for _, bad := range []float32{nan, inf, -inf} {
		c := voice(1, 24000, 2)
		c.Samples[1001] = bad
		_, _, err := c.Mono24k()
		assert.EqualError(t, err, "reference: 1 of 48000 samples are NaN or infinite")
		r := c.Report()
		assert.Equal(t, 1, r.NonFinite)
		assert.InDelta(t, decibels(0.3), r.Peak, 0.1, "the others are measured")
		assert.NotContains(t, r.String(), "NaN dB")
	}
	for _, c := range []*Clip{{}, {Rate: 24000}, {Channels: 1}, {Rate: 24000, Channels: 1000, Samples: make([]float32, 99)}} {
		_, _, err := c.Mono24k()
		assert.ErrorContains(t, err, "must be")
	}
}

func TestSilence(t *testing.T) {
	dither := func(x float32, i, _ int) float32 { return float32(i%3-1) / 32768 }
	for name, c := range map[string]*Clip{
		"zeros":    {Rate: 24000, Channels: 2, Samples: make([]float32, 9600)},
		"constant": voice(1, 24000, 1).edit(func(float32, int, int) float32 { return 0.5 }),
		"dither":   voice(1, 24000, 1).edit(dither),
	} {
		_, _, err := c.Mono24k()
		assert.ErrorContains(t, err, "reference: it is silent (peak", name)
	}

	edges := voice(6, 24000, 1).edit(func(x float32, i, _ int) float32 {
		if i < 1.5*24000 || i >= 4*24000 {
			return dither(x, i, 0)
		}
		return x
	})
	r := edges.Report()
	assert.InDelta(t, 1.5, r.Lead, 0.02)
	assert.InDelta(t, 2, r.Tail, 0.02)
	assert.InDelta(t, 2.5, r.Sound, 0.03)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "1.5 s at the start and 2.0 s at the end are silent")

	_, warnings := mono24k(t, voice(1, 24000, 1).edit(func(x float32, _, _ int) float32 { return x / 100 }))
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "the level is low")
}

func TestLevels(t *testing.T) {
	loud := voice(1, 24000, 1).edit(func(x float32, _, _ int) float32 { return min(max(10*x, -1), 1-0x1p-15) })
	r := loud.Report()
	assert.Greater(t, r.ClippedRuns, 300)
	assert.Greater(t, r.Clipped, 3*r.ClippedRuns)
	assert.Contains(t, strings.Join(r.Warnings, "\n"), "are clipped")

	c := &Clip{Rate: 24000, Channels: 2, Samples: make([]float32, 20000)}
	for i, x := range []float32{1, 1, 0, -1, -1, -1, -1, 1, 1, 1} { // of the second channel: a run of 7
		c.Samples[2*i+101] = x
	}
	l := c.levels()
	assert.Equal(t, []int{7, 1}, []int{l.clipped, l.clippedRuns})
	c.full = 1.5
	assert.Zero(t, c.levels().clippedRuns, "full scale is the encoding's")

	tone := &Clip{Rate: 24000, Channels: 1, Samples: chirp(24000, 2, 100, 100)}
	r = tone.Report()
	assert.InDelta(t, decibels(0.9), r.Peak, 0.01)
	assert.InDelta(t, decibels(0.9/math.Sqrt2), r.RMS, 0.2)
	assert.Zero(t, r.ClippedRuns)

	r = voice(1, 24000, 1).edit(func(x float32, _, _ int) float32 { return x + 0.05 }).Report()
	assert.InDelta(t, 0.05, r.DC, 1e-3)
	assert.Contains(t, r.Warnings, "the samples have a constant offset of 0.050")

	r = voice(1, 24000, 1).edit(func(x float32, _, _ int) float32 { return x * 32768 }).Report()
	assert.Contains(t, r.Warnings[0], "79.9 dB above full scale")
}

// TestReportText: what a person reads, and the warnings of the file come first.
func TestReportText(t *testing.T) {
	c := voice(4, 44100, 2)
	c.Container, c.Encoding, c.Warnings = "FLAC", "Signed 16 bit PCM", []string{"cut off"}
	r := c.Report()
	r.AddTranscript(" Hello. ")
	text := r.String()
	for _, want := range []string{
		"file         FLAC, Signed 16 bit PCM\n", "rate         44100 Hz\n", "channels     2\n", "length       4.000 s (176400 samples)\n",
		"level        peak -10.5 dBFS, RMS ", "clipping     0 samples in 0 runs\n", "mixing       0.0 dB lost\n",
		"transcript   6 characters, 1.5 a second of sound\n", "steps        mix 2 channels to 1; resample 44100 Hz to 24000 Hz (96000 samples); encode 50 frames",
		"warning      cut off\nwarning      the transcript has 5 letters for 4.0 s of sound, 1.2 a second where 8 to 22 are usual: it may lack",
		"verdict      usable, but see the warnings\n",
	} {
		assert.Contains(t, text, want)
	}
	assert.Equal(t, []string{"cut off"}, c.Warnings, "the clip keeps its own")
	assert.NotContains(t, text, "error")
	assert.Contains(t, (&Clip{}).Report().String(), "error        0 channels")
	assert.Contains(t, (&Clip{}).Report().String(), "verdict      not usable\n")
	assert.Contains(t, voice(4, 24000, 1).Report().String(), "verdict      usable\n")
	assert.Contains(t, voice(2, 24000, 1).Report().String(), "verdict      usable, but 3 to 15 seconds are better\n")
}

func TestPlausible(t *testing.T) {
	english := "The quick brown fox jumps over the lazy dog, and then it runs back home to sleep." // 64 letters
	for _, c := range []struct {
		text    string
		seconds float64
		want    string // "": plausible
	}{
		{english, 5, ""},
		{english, 3.2, ""},
		{english, 7, ""},
		{english, 2, "more than is spoken"},
		{english, 10, "lack a part"},
		{"Hi!", 0.5, ""},
		{"Hi!", 1, ""},
		{"Yes.", 0.3, ""},
		{"transcript", 8, "lack a part"},
		{"", 3, "no letter or digit"},
		{" …!? ", 3, "no letter or digit"},
		{"今天天气很好，我们一起去公园散步吧。", 3.6, ""},
		{"今天天气很好，我们一起去公园散步吧。", 12, "lack a part"},
		{"今天天气很好，我们一起去公园散步吧。", 1.2, "more than is spoken"},
		{"今日は天気がいいですね。", 1.8, ""},
		{"오늘은 날씨가 참 좋네요.", 2, ""},
		{"Сегодня очень хорошая погода, пойдём гулять.", 3, ""},
		{"1234567890", 4, ""},
		{"1234567890", 1, "more than is spoken"},
		{english, 0, ""}, // without sound there is another complaint
	} {
		got := strings.Join(Plausible(c.text, c.seconds), "\n")
		if c.want == "" {
			assert.Empty(t, got, "%q in %v s", c.text, c.seconds)
		} else {
			assert.Contains(t, got, c.want, "%q in %v s", c.text, c.seconds)
		}
	}
}

// TestPlausibleGolden: real clips with their transcripts, and with a part of them.
func TestPlausibleGolden(t *testing.T) {
	c, err := Load(golden.Path(t, "audio", "speech_24k.wav"))
	require.NoError(t, err)
	for _, g := range golden.Cases(t) {
		if g.RefText != "" {
			assert.Empty(t, Plausible(g.RefText, c.Report().Sound), g.RefText)
		}
	}
}

func TestTrimSilence(t *testing.T) {
	const rate = 24000
	silentEdges := func(seconds, lead, tail float64) []float32 {
		return voice(seconds, rate, 1).edit(func(x float32, i, _ int) float32 {
			if at := float64(i) / rate; at < lead || at >= seconds-tail {
				return 0
			}
			return x
		}).Samples
	}
	for _, c := range []struct{ seconds, lead, tail, want float64 }{
		{5, 0, 0, 5},
		{5, 0.5, 0.7, 3.8},
		{5, 2, 1, 3},       // at most 40 %
		{3, 0.5, 1.5, 2},   // never below 2 s
		{1.5, 0.5, 0, 1.5}, // already below
	} {
		x := silentEdges(c.seconds, c.lead, c.tail)
		assert.InDelta(t, c.want, float64(len(TrimSilence(x, rate)))/rate, 0.021, c)
	}
	x := make([]float32, 5*rate)
	assert.Len(t, TrimSilence(x, rate), len(x), "nothing but silence")
	assert.Empty(t, TrimSilence(nil, rate))

	// A clip that fades out over half a second loses the faint end.
	fading := voice(5, rate, 1).edit(func(x float32, i, _ int) float32 {
		return x * float32(math.Pow(min(1, float64(5*rate-i)/(rate/2)), 2))
	}).Samples
	trimmed := TrimSilence(fading, rate)
	assert.Less(t, len(trimmed), 5*rate-rate/20)
	assert.Greater(t, len(trimmed), 4*rate+rate/2)
}
