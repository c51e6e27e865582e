package lm

// Score is Frame with codes that are known: it hands the logits of codebook k, from 1, that the codes before it lead to
// over to take, which must not keep them.
func (p *CodePredictor) Score(codes []int32, take func(k int, logits []float32)) error {
	copy(p.codes, codes)
	for k := range p.steps {
		if err := p.run(k); err != nil {
			return err
		}
		take(k+1, p.logits)
	}
	return nil
}
