package codec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// MaxSamples is the longest audio that is encoded, 10 minutes. The transformer forgets nothing: its cache grows with the
// audio, and the time that attention takes with its square.
const MaxSamples = 10 * 60 * SampleRate

// encodeFrames is how many frames a graph encodes: with more, it takes memory in proportion and is hardly faster.
const encodeFrames = 8

// cacheStep is what the visible part of the transformer's cache grows by, in positions. Kernels like the length of a sum
// to be a multiple of it.
const cacheStep = 256

// ErrAudio: samples that are not finite, none at all, or too many.
var ErrAudio = errors.New("invalid audio")

// Encode turns mono audio at SampleRate into codes [frames][Codebooks]. The last frame is filled up, so there are
// ceil(samples / Hop) of them. The audio goes through in chunks, before each of which ctx is asked; every layer is causal
// and carries on where it was, so the codes are those of a single pass.
//
// No samples, ones that are not finite, and more than MaxSamples are ErrAudio. At full size a call takes 25 MiB, and
// 0.8 MiB for each second of the audio. Two calls at a time need encoders on different backends.
func (e *Encoder) Encode(ctx context.Context, pcm []float32) ([][]int32, error) {
	codes, _, err := e.encode(ctx, pcm, encodeFrames, nil)
	return codes, err
}

// EncodeTapped is Encode that keeps the results of all stages, for looking at, in the order of the computation: [T, C] in
// the transformer, [C, T] elsewhere. Its memory grows with every frame.
func (e *Encoder) EncodeTapped(ctx context.Context, pcm []float32) ([][]int32, []Tap, error) {
	taps := &encoderTaps{recorder{at: map[string]int{}}}
	codes, _, err := e.encode(ctx, pcm, encodeFrames, taps)
	return codes, taps.reference(), err
}

// encode works in chunks of some frames; peak is the most memory it had.
func (e *Encoder) encode(ctx context.Context, pcm []float32, frames int, taps *encoderTaps) (codes [][]int32, peak uint64, err error) {
	if err := CheckAudio(pcm); err != nil {
		return nil, 0, err
	}
	s, err := e.newEncoding(len(pcm), taps)
	if err != nil {
		return nil, 0, fmt.Errorf("codec: %w", err)
	}
	defer s.close()
	for len(pcm) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, 0, fmt.Errorf("codec: %w", err)
		}
		n := min(len(pcm), frames*e.cfg.Hop)
		if err := s.encode(pcm[:n]); err != nil {
			return nil, 0, fmt.Errorf("codec: %w", err)
		}
		pcm = pcm[n:]
	}
	return s.codes, s.peak, nil
}

// CheckAudio tells whether audio can be encoded. The error names the sample and is ErrAudio.
func CheckAudio(pcm []float32) error {
	if len(pcm) == 0 {
		return fmt.Errorf("codec: %w: no samples", ErrAudio)
	}
	if len(pcm) > MaxSamples {
		return fmt.Errorf("codec: %w: %d samples, at most %d can be encoded (%d s)", ErrAudio, len(pcm), MaxSamples, MaxSamples/SampleRate)
	}
	for i, v := range pcm {
		if v-v != 0 {
			return fmt.Errorf("codec: %w: sample %d is %v", ErrAudio, i, v)
		}
	}
	return nil
}

// encoding is one signal on its way through the encoder.
type encoding struct {
	e     *Encoder
	convs *ggml.Arena
	rows  map[*past]ggml.Tensor
	cache *nn.Cache
	pass  *encoderPass
	taps  *encoderTaps
	pos   int // positions of the transformer so far
	codes [][]int32
	peak  uint64
}

// encoderPass is a graph for a number of samples.
type encoderPass struct {
	passShape
	graph              *ggml.Graph
	pcm                ggml.Tensor // [1, T]
	semantic, acoustic ggml.Tensor // [D, frames]: projected latents
	span               *nn.Span
}

// passShape is what graphs are made for.
type passShape struct {
	samples int
	window  int  // positions of the cache that are seen
	first   bool // whether it begins the signal
}

func (e *Encoder) newEncoding(samples int, taps *encoderTaps) (*encoding, error) {
	s := &encoding{e: e, taps: taps}
	var err error
	if s.convs, s.rows, err = newMemory(e.be, e.convs()); err != nil {
		return nil, err
	}
	slots := wholeSteps(e.positions(samples)+fewestRows-1, cacheStep)
	if s.cache, err = nn.NewCache(e.be, e.cfg.Layers, slots, ggml.F32, e.cfg.Attention); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *encoding) close() {
	if s.pass != nil {
		s.pass.graph.Free()
	}
	s.cache.Free()
	s.convs.Free()
}

// positions of the transformer that samples become.
func (e *Encoder) positions(samples int) int {
	for _, r := range e.cfg.Strides {
		samples = wholeSteps(samples, r) / r
	}
	return samples
}

// wholeSteps is n rounded up to a multiple of step.
func wholeSteps(n, step int) int { return (n + step - 1) / step * step }

// encode appends the codes of the next samples, which are whole frames unless they are the last.
func (s *encoding) encode(pcm []float32) error {
	p, err := s.prepare(len(pcm))
	if err != nil {
		return err
	}
	p.pcm.SetF32(pcm)
	p.span.Set(s.pos, s.cache.Slots())
	if err := p.graph.Compute(); err != nil {
		return err
	}
	if s.taps != nil {
		s.taps.record(p.graph.Taps())
	}
	s.pos += s.e.positions(len(pcm))
	return s.quantize(p)
}

// prepare makes the graph for the next samples, or takes the last one if it fits.
func (s *encoding) prepare(samples int) (*encoderPass, error) {
	n := max(s.e.positions(samples), fewestRows)
	shape := passShape{samples: samples, window: wholeSteps(s.pos+n, cacheStep), first: s.pos == 0}
	if s.pass != nil {
		if s.pass.passShape == shape {
			return s.pass, nil
		}
		s.pass.graph.Free()
		s.pass = nil
	}
	p, err := s.build(shape)
	if err != nil {
		return nil, err
	}
	s.pass = p
	s.peak = max(s.peak, p.graph.Bytes()+s.cache.Bytes()+s.convs.Bytes())
	return p, nil
}

func (s *encoding) build(shape passShape) (*encoderPass, error) {
	e, c := s.e, &s.e.cfg
	p := &encoderPass{passShape: shape}
	var err error
	p.graph, err = ggml.Build(e.be, maxEncoderNodes(c), s.taps != nil, func(b *ggml.Builder) {
		m := &memory{b: b, rows: s.rows}
		p.pcm = b.Input("pcm", ggml.F32, 1, shape.samples)
		p.span = e.transformer.span(b, s.cache, e.positions(shape.samples), shape.window)
		x := e.transformer.Forward(e.seanet.Forward(p.pcm, m), p.span, c)
		x = e.downsample.Forward(x, m, shape.first)
		p.semantic = b.Output("semantic", e.semantic.Forward(x).Tap("rvq_semantic_in"))
		p.acoustic = b.Output("acoustic", e.acoustic.Forward(x).Tap("rvq_acoustic_in"))
	})
	return p, err
}

// maxEncoderNodes is more than the nodes of a graph, with taps.
func maxEncoderNodes(c *EncoderConfig) int {
	return 256 + 96*c.Layers + 32*len(c.Strides)*(1+c.Residuals)
}

// quantize appends the codes of a pass's latents.
func (s *encoding) quantize(p *encoderPass) error {
	frames := p.semantic.Dim(1)
	codes := make([][]int32, frames)
	for t := range codes {
		codes[t] = make([]int32, 0, s.e.cfg.Codebooks)
	}
	for _, q := range []struct {
		*EncoderQuantizer
		latents ggml.Tensor
		name    string
	}{{&s.e.semantic, p.semantic, "semantic"}, {&s.e.acoustic, p.acoustic, "acoustic"}} {
		residuals := rowsOf(q.latents)
		if !finite(residuals) {
			return fmt.Errorf("%s latents of frames %d to %d are not finite", q.name, len(s.codes), len(s.codes)+frames-1)
		}
		if err := q.quantize(s.e.be, residuals, codes); err != nil {
			return fmt.Errorf("%s %w", q.name, err)
		}
	}
	s.codes = append(s.codes, codes...)
	return nil
}

func finite(rows [][]float32) bool {
	for _, r := range rows {
		if n := norm(r); n-n != 0 {
			return false
		}
	}
	return true
}

// rowsOf reads the rows of x [C, T].
func rowsOf(x ggml.Tensor) [][]float32 {
	flat, rows := make([]float32, x.Elements()), make([][]float32, x.Dim(1))
	x.GetF32(flat)
	for t := range rows {
		rows[t] = flat[t*x.Dim(0):][:x.Dim(0)]
	}
	return rows
}

// encoderTaps strings the results of the passes together.
type encoderTaps struct{ recorder }

func (t *encoderTaps) record(taps []ggml.Tap) {
	for _, tap := range taps {
		if !inAttention.MatchString(tap.Name) {
			t.recorder.record([]ggml.Tap{tap}, 0)
		}
	}
}

// reference is the taps in the layout of the reference.
func (t *encoderTaps) reference() []Tap {
	out := make([]Tap, len(t.taps))
	for i, tap := range t.taps {
		if out[i] = tap; !strings.HasPrefix(tap.Name, "enc_tf_") {
			out[i] = tap.reference()
		}
	}
	return out
}
