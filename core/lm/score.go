package lm

// Score is Frame with codes that are known: it hands the logits of codebook k, from 1, that the codes before it lead to
// over to take, which must not keep them.
func (p *CodePredictor) Score(codes []int32, take func(k int, logits []float32)) error {
	steps, err := p.graphs(1)
	if err != nil {
		return err
	}
	copy(p.codes[0], codes)
	for k := range steps {
		s := &steps[k]
		s.last[0] = codes[k]
		if err := p.compute(s, k); err != nil {
			return err
		}
		take(k+1, s.scores)
	}
	return nil
}
