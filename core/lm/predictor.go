package lm

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
)

// CodePredictor computes the frames of lanes, together with a Talker's. Each frame starts afresh: positions 0 and 1 are
// the Talker's hidden state and the embedding of code 0, position k+1 is the embedding of code k, and position k+1 is
// read by the head of code k+1. The positions are the same in every frame, so each has a graph of its own without a mask.
type CodePredictor struct {
	m      *Model
	hidden ggml.Tensor // [E, lanes or more]
	one    [1]Draw
	lanes  int
	probe  Probe
	cache  *nn.Cache
	steps  map[int][]predictorStep // by width: entry k draws code k+1
	codes  [][]int32               // of each lane
}

type predictorStep struct {
	graph  *ggml.Graph
	code   ggml.Tensor // I32 [width], input: the codes drawn last
	span   *nn.Span
	logits ggml.Tensor // F32 [codes, width]
	last   []int32     // the host's side of code and logits
	scores []float32
}

// NewCodePredictor starts one lane whose frames read the Talker's hidden state from hidden [E, 1].
// A probe receives the stages of each frame.
func (m *Model) NewCodePredictor(hidden ggml.Tensor, probe Probe) (*CodePredictor, error) {
	return m.newCodePredictor(hidden, 1, probe)
}

// NewCodePredictorOf starts lanes whose frames read the Talker's hidden states from hidden [E, lanes or more].
func (m *Model) NewCodePredictorOf(hidden ggml.Tensor, lanes int) (*CodePredictor, error) {
	return m.newCodePredictor(hidden, lanes, nil)
}

func (m *Model) newCodePredictor(hidden ggml.Tensor, lanes int, probe Probe) (*CodePredictor, error) {
	p := &CodePredictor{m: m, hidden: hidden, lanes: lanes, probe: probe, steps: map[int][]predictorStep{}}
	for range lanes {
		p.codes = append(p.codes, make([]int32, m.Codebooks))
	}
	var err error
	if p.cache, err = nn.NewCacheOf(m.be, m.Predictor.Layers, m.Codebooks, lanes, m.cacheType, m.Predictor.AttentionConfig); err != nil {
		return nil, fmt.Errorf("code predictor: cache: %w", err)
	}
	if _, err = p.graphs(1); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// graphs returns those for the first lanes, built on first use.
func (p *CodePredictor) graphs(width int) ([]predictorStep, error) {
	if len(p.steps[width]) == p.m.Codebooks-1 {
		return p.steps[width], nil
	}
	for k := len(p.steps[width]); k < p.m.Codebooks-1; k++ {
		s, err := p.build(k, width)
		if err != nil {
			return nil, fmt.Errorf("code predictor: %w", err)
		}
		p.steps[width] = append(p.steps[width], s)
	}
	return p.steps[width], nil
}

// build makes the graph that draws code k+1.
func (p *CodePredictor) build(k, width int) (predictorStep, error) {
	s := predictorStep{last: make([]int32, width), scores: make([]float32, width*p.m.CodebookSize)}
	var err error
	s.graph, err = ggml.Build(p.m.be, p.m.predictor.nodes(), p.probe != nil, func(b *ggml.Builder) {
		s.code = b.Input("code", ggml.I32, width)
		var x ggml.Tensor
		e := p.hidden.Dim(0)
		if k == 0 {
			x = s.code.GetRows(p.m.talker.CodecEmbd).Reshape(e, 1, width)
			x = b.Use(p.hidden).Slice(1, 0, width).Reshape(e, 1, width).Concat(x, 1).Reshape(e, 2*width)
			s.span = p.cache.FixedSpanOf(b, 0, width, 0, 2)
		} else {
			x = s.code.GetRows(p.m.predictor.CodecEmbd[k-1])
			s.span = p.cache.FixedSpanOf(b, 0, width, k+1, 1)
		}
		x = p.m.project(nn.Few(x.Tap("in"))).Tap("mtp_out")
		x = p.m.predictor.Forward(x, s.span, "layer%d")
		if p.probe == nil {
			x = last(x, width)
		}
		x = p.m.predictor.OutputNorm.Forward(x, p.m.Predictor.Eps).Tap("norm")
		s.logits = b.Output("logits", p.m.predictor.Heads[k].Forward(last(x, width)).Tap("logits"))
	})
	if err == nil {
		s.span.SetFixed()
	}
	return s, err
}

// project is small_to_mtp_projection: x [E, N] -> [P, N], the identity where there is none.
func (m *Model) project(x ggml.Tensor) ggml.Tensor {
	if !m.predictor.Proj.Valid() {
		return x
	}
	return m.predictor.Proj.Forward(x)
}

// Draw is a frame to complete: that of number Frame in a lane, whose code 0 is Code0.
type Draw struct {
	Lane    int
	Code0   int32
	Frame   int
	Sampler *sample.Sampler
	Err     error // set by FrameAll: this lane's codes could not be drawn
}

// Frame draws the codes 1.. of generated frame number frame, whose code 0 is c0, in the first lane, and returns all its
// codes, valid until the next call. The hidden state must be that of the position that c0 was drawn from.
func (p *CodePredictor) Frame(c0 int32, frame int, s *sample.Sampler) ([]int32, error) {
	p.one[0] = Draw{Code0: c0, Frame: frame, Sampler: s}
	if err := p.FrameAll(p.one[:]); err != nil {
		return nil, err
	}
	return p.codes[0], p.one[0].Err
}

// FrameAll draws the codes 1.. of some lanes' frames. The hidden states must be those of the positions that the codes 0
// were drawn from. Codes has the results.
func (p *CodePredictor) FrameAll(draws []Draw) error {
	lanes := 0
	for i := range draws {
		p.codes[draws[i].Lane][0], draws[i].Err = draws[i].Code0, nil
		lanes = max(lanes, draws[i].Lane+1)
	}
	steps, err := p.graphs(p.m.width(lanes, p.lanes))
	if err != nil {
		return err
	}
	for k := range steps {
		if err := p.run(&steps[k], k, draws); err != nil {
			return err
		}
	}
	return nil
}

// Codes are all of a lane's last frame, valid until the next.
func (p *CodePredictor) Codes(lane int) []int32 { return p.codes[lane] }

// run draws code k+1 of each frame.
func (p *CodePredictor) run(s *predictorStep, k int, draws []Draw) error {
	for _, d := range draws {
		s.last[d.Lane] = p.codes[d.Lane][k]
	}
	if err := p.compute(s, k); err != nil {
		return err
	}
	for i := range draws {
		d := &draws[i]
		if d.Err != nil {
			continue
		}
		code, err := d.Sampler.Predictor(d.Frame, k+1, s.scores[d.Lane*p.m.CodebookSize:][:p.m.CodebookSize])
		if err != nil {
			d.Err = fmt.Errorf("code predictor: %w", err)
			continue
		}
		p.codes[d.Lane][k+1] = code
	}
	return nil
}

// compute leaves the logits of code k+1 in scores.
func (p *CodePredictor) compute(s *predictorStep, k int) error {
	s.code.SetI32(s.last)
	err := p.m.weights.Wait()
	if err == nil {
		err = s.graph.Compute()
	}
	if err != nil {
		return fmt.Errorf("code predictor: codebook %d: %w", k+1, err)
	}
	s.logits.GetF32(s.scores)
	report(s.graph, "cp_", p.probe)
	return nil
}

// Close releases the session.
func (p *CodePredictor) Close() {
	for _, steps := range p.steps {
		for _, s := range steps {
			s.graph.Free()
		}
	}
	p.cache.Free()
}
