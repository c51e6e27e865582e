package core

import (
	"errors"
	"time"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/ggml"
)

// decoding is the codec's side of one synthesis at a time: its carried state, and the frames on their way through it.
type decoding struct {
	engine  *Engine
	own     *ggml.Backend // closed with it; nil if others use the codec's, too
	stream  vocoderStream
	worker  *worker
	batches [2]batch // frames gathered, and frames being decoded
	dump    *dump    // nil unless stages are wanted
}

// open makes the state. The codec runs on be, beside its caller if asked to, and takes a turn for each piece.
func (d *decoding) open(e *Engine, be *ggml.Backend, beside bool, turns turns) (err error) {
	d.engine = e
	if d.stream, err = e.decoder.newStream(be, e.decodeWidth()); err != nil {
		return err
	}
	d.worker = newWorker(d.stream, e.decoder.Hop(), beside, turns, e.crew)
	for i := range d.batches {
		d.batches[i] = newBatch(e.decodeWidth(), e.lm.Codebooks, e.decoder.Hop())
	}
	return nil
}

func (d *decoding) close() {
	if d.worker != nil {
		d.worker.stop()
	}
	if d.stream != nil {
		d.worker.turns.take(1)
		d.stream.Close()
		d.worker.turns.give(1)
	}
	if d.own != nil {
		d.own.Close()
	}
}

// start readies the codec.
func (d *decoding) start(u *utterance) error {
	begin := time.Now()
	err := d.prime(u)
	u.result.Timings.Codec += time.Since(begin)
	return err
}

func (d *decoding) decoder() *decoding { return d }

// session computes one synthesis at a time, on the goroutine of its caller.
type session struct {
	decoding
	group     *group // that uses the same device; nil if none does
	talker    *lm.Talker
	predictor *lm.CodePredictor
	whole     *lm.Frames // nil where codes are drawn on the host

	frames int // generated
	codes  []int32
	logits []float32
}

func (e *Engine) newSession(d *dump) (*session, error) {
	s := &session{group: e.group}
	s.dump = d
	if err := s.open(e); err != nil {
		s.close()
		return nil, sessionError(err)
	}
	return s, nil
}

// sessionError gives an error of caches and graphs its kind.
func sessionError(err error) error {
	if errors.Is(err, ggml.ErrMemory) {
		return as(ErrMemory, err)
	}
	return as(ErrBackend, err)
}

func (s *session) open(e *Engine) (err error) {
	if err = s.openModels(e); err != nil {
		return err
	}
	if s.group != nil {
		return s.group.openDecoding(&s.decoding)
	}
	return s.decoding.open(e, e.codecBE, e.beside(), nil)
}

func (s *session) openModels(e *Engine) (err error) {
	defer s.group.computing()()
	if s.talker, err = e.lm.NewTalker(e.context, s.dump.talkerProbe()); err != nil {
		return err
	}
	if s.predictor, err = e.lm.NewCodePredictor(s.talker.Hidden(), s.dump.predictorProbe()); err != nil {
		return err
	}
	return s.openWhole(e)
}

func (s *session) close() {
	defer s.decoding.close()
	defer s.group.computing()()
	if s.whole != nil {
		s.whole.Close()
	}
	if s.predictor != nil {
		s.predictor.Close()
	}
	if s.talker != nil {
		s.talker.Close()
	}
}

func (s *session) begin(u *utterance) (err error) {
	defer s.group.computing()()
	begin := time.Now()
	s.frames = 0
	s.logits, err = s.talker.Prefill(u.ctx, u.prompt, u.xvector())
	u.result.Timings.Prefill = time.Since(begin)
	if s.whole != nil {
		s.whole.Start()
	}
	return err
}

// next is hidden state -> code 0 -> the frame's other codes; before that, the frame before -> hidden state.
func (s *session) next(u *utterance, _ *output) ([]int32, error) {
	if err := u.ctx.Err(); err != nil {
		return nil, err
	}
	defer s.group.computing()()
	if s.whole != nil {
		return s.nextWhole(u)
	}
	if s.frames > 0 {
		if err := s.step(u); err != nil {
			return nil, err
		}
	}
	c0, err := u.sampler.Talker(s.frames, s.logits)
	if err != nil {
		return nil, err
	}
	s.dump.hidden(s.talker, s.logits, c0)
	if c0 == s.engine.vocab.Codec.EOS {
		return nil, nil
	}
	begin := time.Now()
	s.codes, err = s.predictor.Frame(c0, s.frames, u.sampler)
	u.result.Timings.Predictor += time.Since(begin)
	s.dump.frame(s.codes)
	s.frames++
	return s.codes, err
}

// step feeds the frame before.
func (s *session) step(u *utterance) (err error) {
	begin := time.Now()
	s.logits, err = s.talker.Step(s.codes, s.frames-1)
	u.result.Timings.Talker += time.Since(begin)
	return err
}

func (s *session) end() {}
