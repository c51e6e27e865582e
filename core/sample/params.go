// Package sample turns logits into codes: the logits processors of Hugging Face transformers in their order, in
// float32, and a counter-based random number for each draw.
//
// For the Talker (codebook 0): repetition penalty, minimum of new tokens, suppression of special ids, temperature,
// top-k, top-p. For the CodePredictor (codebooks 1 and up): temperature, top-k, top-p.
package sample

import (
	"fmt"
	"math"
	"strconv"
)

// Params shape the draws of one stack.
type Params struct {
	DoSample          bool    // false takes the best code (the penalty still applies)
	Temperature       float32 // divides the logits; 0 takes the best code
	TopK              int     // keep the k best and what ties with the last of them; 0 keeps all
	TopP              float32 // keep the smallest set of best codes with at least this probability; 1 keeps all
	RepetitionPenalty float32 // Talker only: weakens codes generated before if above 1; 1 is neutral
}

// The largest values that Validate accepts. What lies beyond is taken for a mistake: at such temperatures all codes
// are equally likely, and no codebook is that large.
const (
	MaxTemperature       = 10
	MaxTopK              = 1 << 16
	MaxRepetitionPenalty = 10
)

// Greedy tells whether the best code is taken instead of a random one.
func (p Params) Greedy() bool { return !p.DoSample || p.Temperature == 0 }

// Tail is the probability that top-p may cut off, as the nearest float32 to 1 - TopP: 1 - 0.8 should be 0.2, not
// 0.19999999, so TopP is taken for the decimal number that it was written as.
func (p Params) Tail() float32 {
	topP, _ := strconv.ParseFloat(strconv.FormatFloat(float64(p.TopP), 'g', -1, 32), 64)
	return float32(1 - topP)
}

// Validate checks the Talker's parameters. The error names the field, as prefix + temperature, top_k, top_p or
// repetition_penalty, and the accepted range.
func (p Params) Validate(prefix string) error {
	if err := p.ValidateCodebooks(prefix); err != nil {
		return err
	}
	if !(p.RepetitionPenalty > 0 && p.RepetitionPenalty <= MaxRepetitionPenalty) { // also NaN
		return fmt.Errorf("%srepetition_penalty: %v is not above 0 and at most %v", prefix, p.RepetitionPenalty, MaxRepetitionPenalty)
	}
	return nil
}

// ValidateCodebooks checks the CodePredictor's parameters, as Validate does; its RepetitionPenalty is not used.
func (p Params) ValidateCodebooks(prefix string) error {
	if !(p.Temperature >= 0 && p.Temperature <= MaxTemperature) {
		return fmt.Errorf("%stemperature: %v is not in 0..%v", prefix, p.Temperature, MaxTemperature)
	}
	if p.TopK < 0 || p.TopK > MaxTopK {
		return fmt.Errorf("%stop_k: %d is not in 0..%d", prefix, p.TopK, MaxTopK)
	}
	if !(p.TopP > 0 && p.TopP <= 1) {
		return fmt.Errorf("%stop_p: %v is not above 0 and at most 1", prefix, p.TopP)
	}
	return nil
}

// minusInf marks a code that can't be drawn.
var minusInf = float32(math.Inf(-1))
