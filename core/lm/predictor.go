package lm

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
)

// CodePredictor is one session of the CodePredictor. Each frame starts afresh: positions 0 and 1 are the Talker's
// hidden state and the embedding of code 0, position k+1 is the embedding of code k, and position k+1 is read by the
// head of code k+1. The positions are the same in every frame, so each has a graph of its own without a mask.
type CodePredictor struct {
	m      *Model
	probe  Probe
	cache  *nn.Cache
	steps  []predictorStep // entry k draws code k+1
	codes  []int32
	logits []float32
}

type predictorStep struct {
	graph  *ggml.Graph
	code   ggml.Tensor // I32 [1], input: the code drawn last
	span   *nn.Span
	logits ggml.Tensor // F32 [codes, 1]
}

// NewCodePredictor starts a session whose frames read the Talker's hidden state from hidden [E, 1].
// A probe receives the stages of each frame.
func (m *Model) NewCodePredictor(hidden ggml.Tensor, probe Probe) (*CodePredictor, error) {
	p := &CodePredictor{m: m, probe: probe, codes: make([]int32, m.Codebooks), logits: make([]float32, m.CodebookSize)}
	var err error
	if p.cache, err = nn.NewCache(m.be, m.Predictor.Layers, m.Codebooks, m.cacheType, m.Predictor.AttentionConfig); err != nil {
		return nil, fmt.Errorf("code predictor: cache: %w", err)
	}
	for k := range m.Codebooks - 1 {
		s, err := p.build(k, hidden)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("code predictor: %w", err)
		}
		p.steps = append(p.steps, s)
	}
	return p, nil
}

// build makes the graph that draws code k+1.
func (p *CodePredictor) build(k int, hidden ggml.Tensor) (predictorStep, error) {
	var s predictorStep
	var err error
	s.graph, err = ggml.Build(p.m.be, p.m.predictor.nodes(), p.probe != nil, func(b *ggml.Builder) {
		s.code = b.Input("code", ggml.I32, 1)
		var x ggml.Tensor
		if k == 0 {
			x = b.Use(hidden).Concat(s.code.GetRows(p.m.talker.CodecEmbd), 1) // [E, 2]
			s.span = p.cache.FixedSpan(b, 0, 2)
		} else {
			x = s.code.GetRows(p.m.predictor.CodecEmbd[k-1])
			s.span = p.cache.FixedSpan(b, k+1, 1)
		}
		x = p.m.project(nn.Few(x.Tap("in"))).Tap("mtp_out")
		x = p.m.predictor.Forward(x, s.span, "layer%d")
		if p.probe == nil {
			x = last(x)
		}
		x = p.m.predictor.OutputNorm.Forward(x, p.m.Predictor.Eps).Tap("norm")
		s.logits = b.Output("logits", p.m.predictor.Heads[k].Forward(last(x)).Tap("logits"))
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

// Frame draws the codes 1.. of generated frame number frame, whose code 0 is c0, and returns all its codes, valid
// until the next call. The hidden state must be that of the position that c0 was drawn from.
func (p *CodePredictor) Frame(c0 int32, frame int, s *sample.Sampler) ([]int32, error) {
	p.codes[0] = c0
	for k := range p.steps {
		if err := p.run(k); err != nil {
			return nil, err
		}
		code, err := s.Predictor(frame, k+1, p.logits)
		if err != nil {
			return nil, fmt.Errorf("code predictor: %w", err)
		}
		p.codes[k+1] = code
	}
	return p.codes, nil
}

// run computes the logits of code k+1.
func (p *CodePredictor) run(k int) error {
	s := &p.steps[k]
	s.code.SetI32(p.codes[k : k+1])
	if err := s.graph.Compute(); err != nil {
		return fmt.Errorf("code predictor: codebook %d: %w", k+1, err)
	}
	s.logits.GetF32(p.logits)
	report(s.graph, "cp_", p.probe)
	return nil
}

// Close releases the session.
func (p *CodePredictor) Close() {
	for _, s := range p.steps {
		s.graph.Free()
	}
	p.cache.Free()
}
