package codec

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// maxGraphWidth is the most frames that one graph decodes.
const maxGraphWidth = 16

// DefaultWidth of a stream is where more frames at a time stop being faster.
const DefaultWidth = 4

// ErrCodes: a frame has the wrong number of codes or one that is out of range.
var ErrCodes = errors.New("invalid codes")

// Stream decodes one signal, in pieces of any size: they are joined without a seam. Close it when it is no longer
// needed. It is not safe for concurrent use, and neither are two streams on the same backend.
type Stream struct {
	d     *Decoder
	be    *ggml.Backend
	convs *ggml.Arena
	rows  map[*past]ggml.Tensor
	cache *nn.Cache
	full  lane
	front lane
	pos   int // frames decoded since Reset
	taps  *recorder
}

// lane has graphs for 1, 2, 4 … frames, made when first needed: few graphs serve any number.
type lane struct {
	passes  []*pass
	samples bool // whether they go to the end, or end before the rate rises
}

func newLane(maxWidth int, samples bool) lane {
	return lane{make([]*pass, bits.Len(uint(maxWidth))), samples}
}

// pass is a graph for width frames.
type pass struct {
	width   int
	graph   *ggml.Graph
	codes   ggml.Tensor // I32 [T, codebooks]
	samples ggml.Tensor // [1, hop·T], in a full pass
	span    *nn.Span
	ids     []int32
}

// NewStream makes a stream whose graphs decode at most maxWidth frames at a time; 0 is the default, 16 the most. The
// samples do not depend on it, beyond rounding on backends whose kernels round by width: on the CPU they are the same
// bits. Wider is hardly faster and takes memory in proportion (full size: 9 MiB a frame).
func (d *Decoder) NewStream(maxWidth int) (*Stream, error) { return d.NewStreamOn(d.be, maxWidth) }

// NewStreamOn is NewStream for another backend that can use the decoder's weights where they are: of the CPU, if they are
// in memory of the host. Streams on backends of their own can decode at the same time.
func (d *Decoder) NewStreamOn(be *ggml.Backend, maxWidth int) (*Stream, error) {
	if maxWidth <= 0 {
		maxWidth = DefaultWidth
	}
	s := &Stream{d: d, be: be, full: newLane(min(maxWidth, maxGraphWidth), true), front: newLane(maxGraphWidth, false)}
	var err error
	if s.convs, s.rows, err = newMemory(be, d.convs()); err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	c := d.cfg.Decoder
	if s.cache, err = nn.NewCache(be, c.Layers, c.slots(), ggml.F32, c.Attention); err != nil {
		s.Close()
		return nil, fmt.Errorf("codec: %w", err)
	}
	return s, nil
}

// slots of a stream's cache: the window of the first of a graph's frames must still be there once the last is stored. The
// number is the same for all streams, so that sums over them run in the same order.
func (c *DecoderConfig) slots() int {
	const block = 16 // what kernels like the length of a sum to be a multiple of
	return (c.Window - 1 + maxGraphWidth + block - 1) / block * block
}

// Close releases the stream.
func (s *Stream) Close() {
	for _, p := range s.built() {
		p.graph.Free()
	}
	s.full.passes, s.front.passes = nil, nil
	s.cache.Free()
	s.convs.Free()
}

// Reset forgets all frames: the next one is the first of another signal.
func (s *Stream) Reset() {
	s.convs.Clear()
	s.cache.Clear()
	s.pos = 0
	if s.taps != nil {
		s.taps.reset()
	}
}

// Frames decoded since the stream was made or reset.
func (s *Stream) Frames() int { return s.pos }

// Bytes of the stream's state and of the intermediate results of its graphs.
func (s *Stream) Bytes() uint64 {
	n := s.convs.Bytes() + s.cache.Bytes()
	for _, p := range s.built() {
		n += p.graph.Bytes()
	}
	return n
}

// built are the graphs made so far.
func (s *Stream) built() []*pass {
	return slices.DeleteFunc(slices.Concat(s.full.passes, s.front.passes), func(p *pass) bool { return p == nil })
}

// Decode decodes the next frames, codes [frames][Codebooks], into pcm, frames·Hop samples within [-1, 1]. The codes
// are checked first (ErrCodes). After any other error the stream must be Reset before it is used again.
func (s *Stream) Decode(codes [][]int32, pcm []float32) error {
	if hop := s.d.cfg.Hop; len(pcm) != len(codes)*hop {
		return fmt.Errorf("codec: room for %d samples, %d frames have %d", len(pcm), len(codes), len(codes)*hop)
	}
	if err := s.d.CheckCodes(codes); err != nil {
		return err
	}
	return s.advance(&s.full, codes, pcm)
}

// Prime takes the next frames for what they do to the ones that follow, which are the same as after Decode. It costs far
// less if all frames come in one call: beyond the transformer, a frame is forgotten after a few others, so only the
// last ones of a call are carried through to the end. As with Decode, codes are checked first.
func (s *Stream) Prime(codes [][]int32) error {
	if err := s.d.CheckCodes(codes); err != nil {
		return err
	}
	early := max(len(codes)-s.d.lookback, 0)
	if s.taps != nil {
		early = 0 // all stages are wanted
	}
	if err := s.advance(&s.front, codes[:early], nil); err != nil {
		return err
	}
	return s.advance(&s.full, codes[early:], nil)
}

// advance runs the frames through a lane's graphs and reads the samples if there is room for them.
func (s *Stream) advance(l *lane, codes [][]int32, pcm []float32) error {
	for len(codes) > 0 {
		p, err := s.pass(l, len(codes))
		if err != nil {
			return fmt.Errorf("codec: %w", err)
		}
		if err := s.run(p, codes[:p.width]); err != nil {
			return fmt.Errorf("codec: %w", err)
		}
		if pcm != nil {
			n := p.width * s.d.cfg.Hop
			if err := s.samples(p, pcm[:n]); err != nil {
				return err
			}
			pcm = pcm[n:]
		}
		s.pos += p.width
		codes = codes[p.width:]
	}
	return nil
}

// CheckCodes tells whether the frames can be decoded: a wrong code would end the process inside ggml. The error
// names frame and codebook and is ErrCodes.
func (d *Decoder) CheckCodes(codes [][]int32) error {
	return CheckCodes(codes, d.cfg.Decoder.Codebooks, d.cfg.Decoder.CodebookSize)
}

// CheckCodes tells whether each frame has a code of each codebook, below the number of its entries.
func CheckCodes(codes [][]int32, codebooks, entries int) error {
	for t, frame := range codes {
		if len(frame) != codebooks {
			return fmt.Errorf("codec: %w: frame %d has %d codes, want %d", ErrCodes, t, len(frame), codebooks)
		}
		for k, id := range frame {
			if id < 0 || int(id) >= entries {
				return fmt.Errorf("codec: %w: frame %d, codebook %d: %d is not within 0..%d", ErrCodes, t, k, id, entries-1)
			}
		}
	}
	return nil
}

// pass is a lane's widest graph for at most n frames.
func (s *Stream) pass(l *lane, n int) (*pass, error) {
	i := min(bits.Len(uint(n)), len(l.passes)) - 1
	if l.passes[i] == nil {
		p, err := s.build(1<<i, l.samples)
		if err != nil {
			return nil, err
		}
		l.passes[i] = p
	}
	return l.passes[i], nil
}

func (s *Stream) build(width int, samples bool) (*pass, error) {
	d, c := s.d, &s.d.cfg.Decoder
	p := &pass{width: width, ids: make([]int32, width*c.Codebooks)}
	var err error
	p.graph, err = ggml.Build(s.be, maxNodes(c), s.taps != nil, func(b *ggml.Builder) {
		p.codes = b.Input("codes", ggml.I32, width, c.Codebooks)
		p.span = d.front.Transformer.span(b, s.cache, width)
		m := &memory{b: b, rows: s.rows}
		if samples {
			p.samples = b.Output("samples", d.forward(p.codes, m, p.span))
		} else {
			b.Expand(d.front.Forward(p.codes, m, p.span, c))
		}
	})
	return p, err
}

// maxNodes is more than the nodes of a graph, with taps.
func maxNodes(c *DecoderConfig) int {
	return 256 + 8*c.Codebooks + 96*c.Layers + 96*len(c.Upsampling) + 192*len(c.Strides)
}

// run computes a pass over its frames.
func (s *Stream) run(p *pass, codes [][]int32) error {
	for t, frame := range codes {
		for k, id := range frame {
			p.ids[k*p.width+t] = id
		}
	}
	p.codes.SetI32(p.ids)
	p.span.Set(s.pos, s.d.cfg.Decoder.Window)
	if err := s.d.weights.Wait(); err != nil {
		return err
	}
	if err := p.graph.Compute(); err != nil {
		return err
	}
	if s.taps != nil {
		s.taps.record(p.graph.Taps(), p.width)
	}
	return nil
}

// absurd is a level, 60 dB beyond full scale, that no decoder of speech reaches.
const absurd = 1000

// samples reads and limits a pass's samples.
func (s *Stream) samples(p *pass, pcm []float32) error {
	p.samples.GetF32(pcm)
	return Limit(pcm, s.d.cfg.Hop, s.pos)
}

// Limit limits samples to full scale, [-1, 1]. Ones that cannot be speech are an error, which names the frame; the first
// of the samples are those of frame number first.
func Limit(pcm []float32, hop, first int) error {
	for i, v := range pcm {
		switch {
		case v-v != 0: // infinite or not a number
			return fmt.Errorf("codec: samples of frame %d are not finite", first+i/hop)
		case v > absurd || v < -absurd:
			return fmt.Errorf("codec: samples of frame %d go up to %.3g, full scale is 1", first+i/hop, v)
		}
		pcm[i] = min(max(v, -1), 1)
	}
	return nil
}
