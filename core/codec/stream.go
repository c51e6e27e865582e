package codec

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// maxGraphWidth is the most frames that one graph decodes.
const maxGraphWidth = 16

// defaultWidth is where more frames at a time stop being faster.
const defaultWidth = 4

// ErrCodes: a frame has the wrong number of codes or one that is out of range.
var ErrCodes = errors.New("invalid codes")

// ErrSamples: the computation gave samples that are not numbers.
var ErrSamples = errors.New("samples are not finite")

// Stream decodes one signal, in pieces of any size. Close it when it is no longer needed. It is not safe for
// concurrent use, and neither are two streams on the same backend.
type Stream struct {
	d      *Decoder
	convs  *ggml.Arena
	rows   map[*past]ggml.Tensor
	cache  *nn.Cache
	passes []*pass // for 1, 2, 4 … frames, made when first needed
	pos    int     // frames decoded since Reset
	taps   *recorder
}

// pass is a graph that decodes width frames.
type pass struct {
	width   int
	graph   *ggml.Graph
	codes   ggml.Tensor // I32 [T, codebooks]
	samples ggml.Tensor // [1, hop·T]
	span    *nn.Span
	ids     []int32
}

// NewStream makes a stream that decodes at most maxWidth frames at a time; 0 is the default. The width does not
// change the samples by more than rounding. More is not faster by much and takes memory in proportion.
func (d *Decoder) NewStream(maxWidth int) (*Stream, error) {
	if maxWidth <= 0 {
		maxWidth = defaultWidth
	}
	s := &Stream{d: d, passes: make([]*pass, bits.Len(uint(min(maxWidth, maxGraphWidth))))}
	var err error
	if s.convs, s.rows, err = newMemory(d.be, d.convs()); err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	c := d.cfg.Decoder
	// The window of the first of a graph's frames must still be there once the last is stored. The number of slots
	// is the same for all streams, so that sums over them run in the same order.
	const block = 16 // what kernels like the length of a sum to be a multiple of
	slots := (c.Window - 1 + maxGraphWidth + block - 1) / block * block
	if s.cache, err = nn.NewCache(d.be, c.Layers, slots, ggml.F32, c.Attention); err != nil {
		s.Close()
		return nil, fmt.Errorf("codec: %w", err)
	}
	return s, nil
}

// Close releases the stream.
func (s *Stream) Close() {
	for _, p := range s.passes {
		if p != nil {
			p.graph.Free()
		}
	}
	s.passes = nil
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
	for _, p := range s.passes {
		if p != nil {
			n += p.graph.Bytes()
		}
	}
	return n
}

// Decode decodes the next frames, codes [frames][Codebooks], into pcm, frames·Hop samples within [-1, 1]. The codes
// are checked first (ErrCodes). After any other error the stream must be Reset before it is used again.
func (s *Stream) Decode(codes [][]int32, pcm []float32) error {
	if hop := s.d.cfg.Hop; len(pcm) != len(codes)*hop {
		return fmt.Errorf("codec: room for %d samples, %d frames have %d", len(pcm), len(codes), len(codes)*hop)
	}
	return s.decode(codes, pcm)
}

// Prime decodes frames for what they do to the ones that follow; their samples are not wanted.
func (s *Stream) Prime(codes [][]int32) error { return s.decode(codes, nil) }

func (s *Stream) decode(codes [][]int32, pcm []float32) error {
	if err := s.d.CheckCodes(codes); err != nil {
		return err
	}
	for len(codes) > 0 {
		p, err := s.pass(len(codes))
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
	c := &d.cfg.Decoder
	for t, frame := range codes {
		if len(frame) != c.Codebooks {
			return fmt.Errorf("codec: %w: frame %d has %d codes, want %d", ErrCodes, t, len(frame), c.Codebooks)
		}
		for k, id := range frame {
			if id < 0 || int(id) >= c.CodebookSize {
				return fmt.Errorf("codec: %w: frame %d, codebook %d: %d is not within 0..%d", ErrCodes, t, k, id, c.CodebookSize-1)
			}
		}
	}
	return nil
}

// pass is the widest graph for at most n frames. Widths are powers of two, so that few graphs serve any number.
func (s *Stream) pass(n int) (*pass, error) {
	i := min(bits.Len(uint(n)), len(s.passes)) - 1
	if s.passes[i] == nil {
		p, err := s.build(1 << i)
		if err != nil {
			return nil, err
		}
		s.passes[i] = p
	}
	return s.passes[i], nil
}

func (s *Stream) build(width int) (*pass, error) {
	d, c := s.d, &s.d.cfg.Decoder
	p := &pass{width: width, ids: make([]int32, width*c.Codebooks)}
	nodes := 512 + 4*c.Codebooks + 64*c.Layers + 96*len(c.Upsampling) + 192*len(c.Strides)
	var err error
	p.graph, err = ggml.Build(d.be, nodes, s.taps != nil, func(b *ggml.Builder) {
		p.codes = b.Input("codes", ggml.I32, width, c.Codebooks)
		p.span = s.cache.Span(b, width, s.cache.Slots())
		p.samples = b.Output("samples", d.forward(p.codes, &memory{b: b, rows: s.rows}, p.span))
	})
	return p, err
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
	if err := p.graph.Compute(); err != nil {
		return err
	}
	if s.taps != nil {
		s.taps.record(p.graph.Taps())
	}
	return nil
}

// samples reads and limits a pass's samples.
func (s *Stream) samples(p *pass, pcm []float32) error {
	p.samples.GetF32(pcm)
	for i, v := range pcm {
		if v-v != 0 { // infinite or not a number
			return fmt.Errorf("codec: %w: frame %d", ErrSamples, s.pos+i/s.d.cfg.Hop)
		}
		pcm[i] = min(max(v, -1), 1)
	}
	return nil
}
