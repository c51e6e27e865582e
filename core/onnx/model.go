package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/libqwen/libqwen/core/codec"
)

// Names that models have for what goes in and comes out.
const (
	codesName     = "audio_codes"
	audioName     = "audio_values"
	pastPrefix    = "past."
	presentPrefix = "present."
)

// Bounds that keep a damaged model from asking for absurd work; real ones are far below.
const (
	maxCodebooks  = 1 << 10
	maxHop        = 1 << 16 // samples a frame
	maxStates     = 1 << 12
	maxStateBytes = 1 << 30 // of all states together
)

// publishedCodebookSize is that of the published speech tokenizer; models need not tell theirs.
const publishedCodebookSize = 2048

// Config is the geometry of a model.
type Config struct {
	Codebooks    int // codes a frame
	CodebookSize int // entries of a codebook
	Hop          int // samples a frame

	states    []state
	codes     valueInfo
	audio     valueInfo
	audioRank int
}

// state is what a model remembers: an input, and the output that replaces it.
type state struct {
	past, present string
	typ           int32
	shape         []int64
	elements      int
}

// readConfig checks inputs, outputs and metadata. The number of samples a frame is left to be tried out.
func readConfig(s *session) (c Config, err error) {
	if err := c.findStates(s); err != nil {
		return c, err
	}
	if err := c.findCodes(s.inputs); err != nil {
		return c, err
	}
	if err := c.findAudio(s.outputs); err != nil {
		return c, err
	}
	return c, c.readProperties(s)
}

// findStates pairs past.NAME with present.NAME.
func (c *Config) findStates(s *session) error {
	total := 0
	for _, in := range s.inputs {
		name, ok := strings.CutPrefix(in.name, pastPrefix)
		if !ok {
			continue
		}
		i := slices.IndexFunc(s.outputs, func(v valueInfo) bool { return v.name == presentPrefix+name })
		if i < 0 {
			return fmt.Errorf("input %s: there is no output %s%s", in.name, presentPrefix, name)
		}
		if out := s.outputs[i]; out.typ != in.typ || !slices.Equal(out.shape, in.shape) {
			return fmt.Errorf("output %s is %s, input %s is %s: they must be alike", out.name, out, in.name, in)
		}
		st := state{past: in.name, present: presentPrefix + name, typ: in.typ, shape: in.shape, elements: 1}
		if in.typ != typeFloat32 && in.typ != typeInt64 || len(in.shape) == 0 || len(in.shape) > maxRank {
			return fmt.Errorf("input %s is %s: a state must be float32 or int64 of 1 to %d dimensions", in.name, in, maxRank)
		}
		for _, d := range in.shape {
			if d < 1 || d > maxStateBytes/int64(st.elements) {
				return fmt.Errorf("input %s is %s: a state must have a fixed shape", in.name, in)
			}
			st.elements *= int(d)
		}
		c.states = append(c.states, st)
		if total += st.elements * elementSize(st.typ); total > maxStateBytes || len(c.states) > maxStates {
			return fmt.Errorf("the states take more than %d MiB", maxStateBytes>>20)
		}
	}
	return nil
}

// findCodes takes the one input that is no state.
func (c *Config) findCodes(inputs []valueInfo) error {
	var rest []valueInfo
	for _, in := range inputs {
		if !strings.HasPrefix(in.name, pastPrefix) {
			rest = append(rest, in)
		}
	}
	if len(rest) != 1 {
		return fmt.Errorf("%d inputs (%s) besides %s*, want one, %s: this is no vocoder", len(rest), describe(rest), pastPrefix, codesName)
	}
	c.codes = rest[0]
	s := c.codes.shape
	switch {
	case c.codes.typ != typeInt64 || len(s) != 3:
		return fmt.Errorf("input %s is %s, want int64 [batch, frames, codebooks]: this is no vocoder", c.codes.name, c.codes)
	case s[0] > 1:
		return fmt.Errorf("input %s is %s: the batch must be 1, or any", c.codes.name, c.codes)
	case s[1] >= 0:
		return fmt.Errorf("input %s is %s: it takes %d frames only; export the model for any number of frames", c.codes.name, c.codes, s[1])
	}
	return nil
}

// findAudio takes the output of that name, or the one output of floats that is no state.
func (c *Config) findAudio(outputs []valueInfo) error {
	var rest []valueInfo
	for _, out := range outputs {
		if out.name == audioName {
			rest = []valueInfo{out}
			break
		}
		if out.typ == typeFloat32 && !strings.HasPrefix(out.name, presentPrefix) {
			rest = append(rest, out)
		}
	}
	if len(rest) != 1 {
		return fmt.Errorf("%d outputs of samples (%s), want one, %s: this is no vocoder", len(rest), describe(outputs), audioName)
	}
	c.audio = rest[0]
	if c.audio.typ != typeFloat32 || len(c.audio.shape) < 1 || len(c.audio.shape) > 3 {
		return fmt.Errorf("output %s is %s, want float32 [batch, samples]: this is no vocoder", c.audio.name, c.audio)
	}
	return nil
}

// readProperties reads what the metadata tells.
func (c *Config) readProperties(s *session) error {
	last := 0
	if d := c.codes.shape[2]; d > 0 && d <= maxCodebooks {
		last = int(d)
	}
	rate := 0
	for _, p := range []struct {
		key       string
		to        *int
		otherwise int
		most      int
	}{
		{"num_quantizers", &c.Codebooks, last, maxCodebooks},
		{"codebook_size", &c.CodebookSize, publishedCodebookSize, math.MaxInt32},
		{"decode_upsample_rate", &c.Hop, 0, maxHop},
		{"output_sample_rate_hz", &rate, codec.SampleRate, math.MaxInt32},
	} {
		text, err := s.property(p.key)
		if err != nil {
			return err
		}
		if *p.to = p.otherwise; text == "" {
			continue
		}
		if *p.to, err = strconv.Atoi(text); err != nil || *p.to < 1 || *p.to > p.most {
			return fmt.Errorf("metadata %s: %q is not within 1..%d", p.key, text, p.most)
		}
	}
	switch {
	case rate != codec.SampleRate:
		return fmt.Errorf("metadata output_sample_rate_hz: %d is not %d", rate, codec.SampleRate)
	case c.Codebooks == 0:
		return fmt.Errorf("input %s is %s, and metadata num_quantizers is missing: how many codes has a frame?", c.codes.name, c.codes)
	case last != 0 && c.Codebooks != last:
		return fmt.Errorf("metadata num_quantizers: %d, but input %s is %s", c.Codebooks, c.codes.name, c.codes)
	}
	return nil
}

// String is a type and a shape: "int64 [1, ?, 16]".
func (v valueInfo) String() string {
	if v.typ == 0 {
		return "no tensor"
	}
	dims := make([]string, len(v.shape))
	for i, d := range v.shape {
		if dims[i] = "?"; d >= 0 {
			dims[i] = strconv.FormatInt(d, 10)
		}
	}
	return fmt.Sprintf("%s [%s]", typeName(v.typ), strings.Join(dims, ", "))
}

func describe(list []valueInfo) string {
	if len(list) == 0 {
		return "none"
	}
	var parts []string
	for _, v := range list[:min(len(list), 4)] {
		parts = append(parts, v.name+" "+v.String())
	}
	if len(list) > len(parts) {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// tryOut decodes one frame and three and settles how many samples a frame has.
func (d *Decoder) tryOut() error {
	c := &d.cfg
	one, err := d.trial(1)
	if err != nil {
		return err
	}
	three, err := d.trial(3)
	if err != nil {
		return err
	}
	switch {
	case one < 1 || one > maxHop || three != 3*one:
		return fmt.Errorf("output %s: one frame gives %d samples, three give %d: this is no vocoder", c.audio.name, one, three)
	case c.Hop != 0 && one != c.Hop:
		return fmt.Errorf("metadata decode_upsample_rate: %d, but a frame gives %d samples", c.Hop, one)
	}
	c.Hop = one
	return nil
}

// trial counts the samples of some frames of zeros.
func (d *Decoder) trial(frames int) (samples int, err error) {
	r, err := d.newRunner()
	if err != nil {
		return 0, err
	}
	defer r.free()
	codes := newTensor(d.lib, make([]int64, frames*d.cfg.Codebooks))
	defer codes.free()
	if err := codes.reshape(1, int64(frames), int64(d.cfg.Codebooks)); err != nil {
		return 0, err
	}
	r.call.in[0] = codes.value
	if err := r.run(); err != nil {
		return 0, fmt.Errorf("a frame of zeros: %w", err)
	}
	audio := r.call.out[0]
	if audio == 0 {
		return 0, errors.New("a frame of zeros gives no samples")
	}
	defer d.lib.release(audio)
	var s cShape
	if err := d.lib.check(d.lib.shapeOf(audio, &s)); err != nil {
		return 0, err
	}
	defer d.lib.releaseShape(s)
	dims, err := d.lib.dims(s)
	if err != nil {
		return 0, err
	}
	samples = 1
	for _, n := range dims {
		if n < 0 || n > int64(maxHop*frames) {
			return 0, fmt.Errorf("output %s: shape %v for %d frames", d.cfg.audio.name, dims, frames)
		}
		samples = min(samples*int(n), math.MaxInt32)
	}
	for _, n := range dims[:max(len(dims)-1, 0)] {
		if n != 1 {
			return 0, fmt.Errorf("output %s: shape %v, want [1, samples]", d.cfg.audio.name, dims)
		}
	}
	d.cfg.audioRank = len(dims)
	return samples, nil
}
