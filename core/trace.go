package core

import (
	"context"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
)

// Trace is what the language models of a talker compute on the way. Traces of files of one model at different
// precisions tell what the precision costs, stage by stage.
type Trace struct {
	Codes    [][]int32     // of the frames
	Prefill  []TraceStage  // of the prompt, in the order of the computation
	Hidden   [][]float32   // by frame: the state that its codes are drawn from
	Logits   [][]float32   // by frame: of codebook 0
	Acoustic [][][]float32 // by frame and codebook, from 1: its logits
}

// TraceStage is an intermediate result: the embeddings, what leaves a layer, the final norm, the logits.
type TraceStage struct {
	Name   string
	Values []float32
}

// TraceTalker opens Options.TalkerPath by itself and computes the frames of a request for a text, which may name a
// speaker or an instruction, without sampling. With codes, these take the place of those that it draws, so that traces
// of two files see the same history; else it draws the best ones, frames of them at most.
func TraceTalker(ctx context.Context, opts Options, req Request, frames int, codes [][]int32) (*Trace, error) {
	e := &Engine{opts: opts, log: opts.logger()}
	defer e.release()
	if err := e.openTalker(); err != nil {
		return nil, err
	}
	if err := e.checkForced(codes); err != nil {
		return nil, err
	}
	p, err := prompt.Build(e.tok, e.vocab, prompt.Input{Text: req.Text, Language: req.Language, Speaker: req.Speaker, Instruct: req.Instruct})
	if err != nil {
		return nil, as(ErrInvalid, err)
	}
	t := &Trace{}
	talker, err := e.lm.NewTalker(p.Tokens()+max(frames, len(codes)), func(name string, _ []int, values []float32) {
		if strings.HasPrefix(name, "prefill_") { // not what is inside of layers
			t.Prefill = append(t.Prefill, TraceStage{name, slices.Clone(values)})
		}
	})
	if err != nil {
		return nil, as(ErrBackend, err)
	}
	defer talker.Close()
	predictor, err := e.lm.NewCodePredictor(talker.Hidden(), nil)
	if err != nil {
		return nil, as(ErrBackend, err)
	}
	defer predictor.Close()
	tr := tracer{e: e, trace: t, talker: talker, predictor: predictor, sampler: sample.New(sample.Config{
		Talker: sample.Params{RepetitionPenalty: 1.05}, Vocab: e.lm.CodecVocab, EOS: e.vocab.Codec.EOS})}
	if err := tr.run(ctx, p, frames, codes); err != nil {
		return nil, as(ErrGenerate, err)
	}
	return t, nil
}

// openTalker is open without the codec.
func (e *Engine) openTalker() error {
	if e.opts.TalkerPath == "" {
		return fail(ErrInvalid, "talker_path: missing")
	}
	threads, err := e.opts.threads()
	if err != nil {
		return err
	}
	f, _, err := e.opts.openLM()
	if err != nil {
		return err
	}
	e.files = append(e.files, f)
	if err := e.readTalker(f); err != nil {
		return loadError(e.opts.TalkerPath, err)
	}
	if err := loadGGML(e.opts.GGMLDir, e.log); err != nil {
		return err
	}
	if e.be, e.codecBE, err = openDevices(e.opts.device(), threads, e.log); err != nil {
		return err
	}
	e.lm, err = loadModels(e.be, f, &e.opts)
	return err
}

// checkForced refuses codes that the model has no embeddings for.
func (e *Engine) checkForced(codes [][]int32) error {
	for i, frame := range codes {
		if len(frame) != e.lm.Codebooks {
			return fail(ErrInvalid, "codes: frame %d has %d, the model's have %d", i, len(frame), e.lm.Codebooks)
		}
		for k, c := range frame {
			if c < 0 || int(c) >= e.lm.CodecVocab || k > 0 && int(c) >= e.lm.CodebookSize {
				return fail(ErrInvalid, "codes: frame %d: code %d of codebook %d is none of the model's", i, c, k)
			}
		}
	}
	return nil
}

// tracer computes a trace.
type tracer struct {
	e         *Engine
	trace     *Trace
	talker    *lm.Talker
	predictor *lm.CodePredictor
	sampler   *sample.Sampler
}

func (tr *tracer) run(ctx context.Context, p *prompt.Prompt, frames int, forced [][]int32) error {
	logits, err := tr.talker.Prefill(ctx, p, nil)
	if err != nil {
		return err
	}
	if forced != nil {
		frames = len(forced)
	}
	for frame := range frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		var codes []int32
		if forced != nil {
			codes = forced[frame]
		} else if codes, err = tr.draw(frame, logits); err != nil || codes == nil {
			return err
		}
		tr.keepState(logits)
		if err := tr.score(codes); err != nil {
			return err
		}
		if logits, err = tr.talker.Step(codes, frame); err != nil {
			return err
		}
	}
	return nil
}

// keepState keeps what codebook 0 is drawn from.
func (tr *tracer) keepState(logits []float32) {
	hidden := make([]float32, tr.talker.Hidden().Elements())
	tr.talker.Hidden().GetF32(hidden)
	tr.trace.Hidden = append(tr.trace.Hidden, hidden)
	tr.trace.Logits = append(tr.trace.Logits, slices.Clone(logits))
}

// draw takes the best codes of a frame; nil where the model ends.
func (tr *tracer) draw(frame int, logits []float32) ([]int32, error) {
	c0, err := tr.sampler.Talker(frame, logits)
	if err != nil || c0 == tr.e.vocab.Codec.EOS {
		return nil, err
	}
	codes, err := tr.predictor.Frame(c0, frame, tr.sampler)
	return slices.Clone(codes), err
}

// score keeps what a frame's other codes are drawn from.
func (tr *tracer) score(codes []int32) error {
	var all [][]float32
	err := tr.predictor.Score(codes, func(_ int, logits []float32) { all = append(all, slices.Clone(logits)) })
	tr.trace.Codes = append(tr.trace.Codes, codes)
	tr.trace.Acoustic = append(tr.trace.Acoustic, all)
	return err
}
