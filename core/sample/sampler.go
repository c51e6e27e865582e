package sample

import (
	"fmt"
	"math"
	"time"
)

const (
	// Specials is the number of ids at the end of the Talker's vocabulary that are no codes: EOS and other control
	// ids, languages, speakers. Of these, only EOS is ever drawn.
	Specials = 1024
	// MinNewTokens: EOS isn't drawn for that many frames (min_new_tokens in the reference implementation).
	MinNewTokens = 2
)

// Config says what a Sampler draws from and how. Params are taken to be valid.
type Config struct {
	Talker    Params
	Predictor Params // its RepetitionPenalty is not used
	Vocab     int    // size of the Talker's codec vocabulary, specials included
	EOS       int32  // id that ends the utterance
	Seed      int64
}

// Sampler draws the codes of one synthesis. Each draw depends on the logits, the frame, the codebook and the seed
// (see Uniform) and, in codebook 0, on which codes were drawn before. It is not safe for concurrent use.
type Sampler struct {
	cfg               Config
	talker, predictor chain

	scores []float32 // the Talker's logits as processed
	seen   []bool    // by id: drawn before
	drawn  []int32   // the distinct ids drawn before
	took   time.Duration
}

// New returns a Sampler for one synthesis.
func New(cfg Config) *Sampler {
	vocab := max(cfg.Vocab, 0)
	return &Sampler{
		cfg:       cfg,
		talker:    newChain(cfg.Talker),
		predictor: newChain(cfg.Predictor),
		scores:    make([]float32, vocab),
		seen:      make([]bool, vocab),
		drawn:     make([]int32, 0, vocab),
	}
}

// Talker draws the code of codebook 0, or EOS, from the Talker's logits [vocab] of a frame, and remembers it for the
// repetition penalty. Logits of NaN or +Inf are errors, and so is it if nothing is left to draw.
func (s *Sampler) Talker(frame int, logits []float32) (int32, error) {
	defer s.time(time.Now())
	if len(logits) != len(s.scores) {
		return 0, fmt.Errorf("codebook 0: %d logits, want %d", len(logits), len(s.scores))
	}
	if err := check(logits); err != nil {
		return 0, fmt.Errorf("codebook 0, frame %d: %w", frame, err)
	}
	s.process(frame, logits)
	id, err := s.talker.pick(s.scores, Uniform(s.cfg.Seed, frame, 0))
	if err != nil {
		return 0, fmt.Errorf("codebook 0, frame %d: %w", frame, err)
	}
	s.Accept(id)
	return id, nil
}

// Predictor draws the code of a codebook, 1 or up, from the CodePredictor's logits of a frame.
func (s *Sampler) Predictor(frame, codebook int, logits []float32) (int32, error) {
	defer s.time(time.Now())
	err := check(logits)
	if err == nil {
		var id int32
		if id, err = s.predictor.pick(logits, Uniform(s.cfg.Seed, frame, codebook)); err == nil {
			return id, nil
		}
	}
	return 0, fmt.Errorf("codebook %d, frame %d: %w", codebook, frame, err)
}

// Took is the time that all draws so far have taken.
func (s *Sampler) Took() time.Duration { return s.took }

func (s *Sampler) time(begin time.Time) { s.took += time.Since(begin) }

// Config is what the sampler was made with.
func (s *Sampler) Config() Config { return s.cfg }

// Drawn are the distinct ids of codebook 0 drawn so far, in their order. The slice must not be changed.
func (s *Sampler) Drawn() []int32 { return s.drawn }

// Accept remembers a code of codebook 0 that was not drawn here, as if it had been. Ids outside the vocabulary are
// ignored.
func (s *Sampler) Accept(id int32) {
	if id >= 0 && int(id) < len(s.seen) && !s.seen[id] {
		s.seen[id] = true
		s.drawn = append(s.drawn, id)
	}
}

// check refuses logits that no sound computation gives. They are all the same where the norm before them overflowed: its
// mean square is infinite then, and what it makes of any state is zero.
func check(logits []float32) error {
	same := len(logits) > 1
	for id, l := range logits {
		if l != l || l > math.MaxFloat32 {
			return fmt.Errorf("logit %d is %v", id, l)
		}
		same = same && l == logits[0]
	}
	if same && logits[0] != minusInf {
		return fmt.Errorf("all logits are %v", logits[0])
	}
	return nil
}

// process fills scores: repetition penalty, minimum of new tokens, suppression.
func (s *Sampler) process(frame int, logits []float32) {
	copy(s.scores, logits)
	for _, id := range s.drawn {
		if s.scores[id] < 0 {
			s.scores[id] *= s.cfg.Talker.RepetitionPenalty
		} else {
			s.scores[id] /= s.cfg.Talker.RepetitionPenalty
		}
	}
	s.Bar(frame, s.scores, minusInf)
}

// Bar sets the entries [vocab] of the ids that are not drawn in a frame: special ones but EOS, and EOS in the first frames.
func (s *Sampler) Bar(frame int, scores []float32, value float32) {
	eos := int(s.cfg.EOS)
	if frame < MinNewTokens && eos >= 0 && eos < len(scores) {
		scores[eos] = value
	}
	for id := max(0, len(scores)-Specials); id < len(scores); id++ {
		if id != eos {
			scores[id] = value
		}
	}
}
