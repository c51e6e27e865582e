package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Synthesize speaks a request. The samples, 24 kHz mono in [-1, 1], go to emit in order, on the calling goroutine;
// the slice is valid only during the call. An error of emit stops the synthesis; the error that comes back then wraps
// ErrCancelled and emit's. The same seed gives the same samples, whatever Stream, chunks and threads are.
func (e *Engine) Synthesize(ctx context.Context, req *Request, emit func(pcm []float32) error) (Result, error) {
	start := time.Now()
	if err := e.begin(); err != nil {
		return Result{}, err
	}
	defer e.running.Done()
	u, err := e.plan(req)
	if err != nil {
		return Result{}, err
	}
	u.start, u.emit, u.ctx = start, emit, closing{ctx, e}
	if err := e.turn.enter(u.ctx); err != nil {
		return Result{Seed: u.result.Seed, Finish: FinishCancelled}, cancelled(err)
	}
	defer e.turn.leave()
	if err = u.listen(); err == nil {
		err = u.speak()
	}
	u.result.Timings.Sampling, u.result.Timings.Total = u.sampler.Took(), time.Since(start)
	e.report(u)
	return u.result, err
}

// closing is a caller's context that also ends when the engine closes.
type closing struct {
	context.Context
	e *Engine
}

func (c closing) Err() error {
	if c.e.isClosed() {
		return ErrClosed
	}
	return c.Context.Err()
}

// utterance is one synthesis under way.
type utterance struct {
	engine  *Engine
	req     *Request
	prompt  *prompt.Prompt
	sampler *sample.Sampler
	voice   *Voice // nil without a reference
	ctx     context.Context
	emit    func([]float32) error
	start   time.Time
	codes   *codeDump // nil unless they are dumped
	result  Result
}

// plan checks a request and lays out its prompt; nothing is computed yet.
func (e *Engine) plan(req *Request) (*utterance, error) {
	if err := e.validate(req); err != nil {
		return nil, err
	}
	in := prompt.Input{Text: req.Text, Language: req.Language, Speaker: req.Speaker, Instruct: req.Instruct, Layout: prompt.Layout(req.Layout)}
	voice := e.reference(req)
	if voice != nil {
		in.SpeakerVector, in.RefText, in.RefCodes = true, req.RefText, voice.Codes
	}
	begin := time.Now()
	p, err := prompt.Build(e.tok, e.vocab, in)
	if err != nil {
		return nil, as(ErrInvalid, err)
	}
	timings := Timings{Load: e.loading, Tokenise: time.Since(begin)}
	if p.Tokens()+req.MaxFrames > e.context {
		return nil, e.tooLong(p, req)
	}
	seed := req.Seed
	if seed < 0 {
		seed = randomSeed()
	}
	sampler := sample.New(sample.Config{Talker: req.Talker, Predictor: req.Predictor, Vocab: e.lm.CodecVocab, EOS: e.vocab.Codec.EOS, Seed: seed})
	return &utterance{engine: e, req: req, prompt: p, sampler: sampler, voice: voice, result: Result{
		SampleRate: SampleRate, Seed: seed, TextTokens: p.TextTokens, Prompt: p.Tokens(), Timings: timings, Warnings: p.Warnings}}, nil
}

// reference is the voice to clone, nil if there is none. Of a clip only the number of frames is known yet: the prompt
// can be laid out, and checked, before the clip is listened to.
func (e *Engine) reference(req *Request) *Voice {
	if req.RefAudio == nil {
		return req.withEmbedding(req.Voice)
	}
	v := &Voice{}
	if req.RefText != "" {
		for range len(req.RefAudio) / e.decoder.Hop() {
			v.Codes = append(v.Codes, make([]int32, e.lm.Codebooks))
		}
	}
	return v
}

// withEmbedding is a voice with the speaker embedding of the request, if that has one.
func (r *Request) withEmbedding(v *Voice) *Voice {
	if r.SpeakerEmbedding == nil {
		return v
	}
	with := &Voice{XVector: r.SpeakerEmbedding}
	if v != nil {
		with.Codes = v.Codes
	}
	return with
}

// listen extracts the voice of a reference clip.
func (u *utterance) listen() error {
	if u.req.RefAudio == nil {
		return nil
	}
	begin := time.Now()
	v, err := u.engine.extractor.voice(u.ctx, u.req.RefAudio, u.req.RefText != "")
	u.result.Timings.Reference = time.Since(begin)
	if err != nil {
		return u.failed(err)
	}
	u.voice, u.prompt.RefCodes = u.req.withEmbedding(v), v.Codes
	if monotonous(v.Codes) {
		u.result.Warnings = append(u.result.Warnings, "ref_audio_24k: its codes hardly change over time: is there speech in it?")
	}
	return nil
}

func (e *Engine) tooLong(p *prompt.Prompt, req *Request) error {
	if room := e.context - p.Tokens(); room > 0 {
		return fail(ErrInvalid, "max_new_tokens: %d frames do not fit after a prompt of %d positions into a context of %d; at most %d do",
			req.MaxFrames, p.Tokens(), e.context, room)
	}
	return fail(ErrInvalid, "text: a prompt of %d positions does not fit into a context of %d; split the text", p.Tokens(), e.context)
}

func randomSeed() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

// speak runs the utterance in the engine's session, or in one of its own if stages are wanted.
func (u *utterance) speak() error {
	s := u.engine.session
	if u.req.DumpDir != "" {
		d, err := newDump(u.req.DumpDir)
		if err != nil {
			return err
		}
		tapped, err := u.engine.newSession(d)
		if err != nil {
			return err
		}
		defer tapped.close()
		if err := u.generate(tapped); err != nil {
			return err
		}
		return d.write(u)
	}
	return u.generate(s)
}

// generate is the loop: hidden state -> code 0 -> the frame's other codes -> audio -> next hidden state.
func (u *utterance) generate(s *session) error {
	if err := s.start(u); err != nil {
		return u.failed(err)
	}
	var err error
	if u.codes, err = startCodeDump(); err != nil {
		return err
	}
	out := newOutput(s, u)
	defer out.abandon()
	logits, err := s.prefill(u)
	for frame := 0; err == nil && frame < u.req.MaxFrames; frame++ {
		if err = u.ctx.Err(); err != nil {
			break
		}
		var c0 int32
		if c0, err = u.sampler.Talker(frame, logits); err != nil {
			break
		}
		s.dump.hidden(s.talker, logits, c0)
		if c0 == u.engine.vocab.Codec.EOS {
			u.result.Finish = FinishStop
			break
		}
		var codes []int32
		if codes, err = s.frame(u, c0, frame); err != nil {
			break
		}
		if err = out.add(codes); err != nil {
			break
		}
		u.progress(frame + 1)
		if frame+1 < u.req.MaxFrames {
			logits, err = s.step(u, codes, frame)
		}
	}
	err = out.end(err)
	out.judge()
	return u.finish(err)
}

// progress counts a generated frame.
func (u *utterance) progress(frames int) {
	u.result.Frames = frames
	if u.req.Progress != nil {
		u.req.Progress(Progress{Frames: frames, MaxFrames: u.req.MaxFrames, Elapsed: time.Since(u.start)})
	}
}

// finish settles why the utterance ended.
func (u *utterance) finish(err error) error {
	if err != nil {
		return u.failed(err)
	}
	switch {
	case u.result.Frames == 0:
		u.result.Finish = FinishEmpty
	case u.result.Finish == "":
		u.result.Finish = FinishLength
	}
	return nil
}

// failed gives an error its kind.
func (u *utterance) failed(err error) error {
	switch {
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrClosed), u.ctx.Err() != nil && errors.Is(err, u.ctx.Err()):
		u.result.Finish = FinishCancelled
		return cancelled(err)
	case errors.Is(err, ggml.ErrMemory):
		return as(ErrMemory, err)
	case errors.Is(err, gguf.ErrFormat): // in what is looked at when it is needed
		return as(ErrModel, err)
	}
	return as(ErrGenerate, err)
}

func cancelled(err error) error { return as(ErrCancelled, err) }

// session is the state of one synthesis at a time: the caches, graphs and carried state of each model.
type session struct {
	engine    *Engine
	talker    *lm.Talker
	predictor *lm.CodePredictor
	stream    vocoderStream
	worker    *worker
	batches   [2]batch // frames gathered, and frames being decoded
	dump      *dump    // nil unless stages are wanted
}

func (e *Engine) newSession(d *dump) (*session, error) {
	s := &session{engine: e, dump: d}
	err := s.open()
	if err != nil {
		s.close()
		if errors.Is(err, ggml.ErrMemory) {
			return nil, as(ErrMemory, err)
		}
		return nil, as(ErrBackend, err)
	}
	return s, nil
}

func (s *session) open() (err error) {
	e := s.engine
	if s.talker, err = e.lm.NewTalker(e.context, s.dump.talkerProbe()); err != nil {
		return err
	}
	if s.predictor, err = e.lm.NewCodePredictor(s.talker.Hidden(), s.dump.predictorProbe()); err != nil {
		return err
	}
	if s.stream, err = e.decoder.newStream(e.decodeWidth()); err != nil {
		return err
	}
	s.worker = newWorker(s.stream, e.decoder.Hop(), e.beside())
	for i := range s.batches {
		s.batches[i] = newBatch(e.decodeWidth(), e.lm.Codebooks, e.decoder.Hop())
	}
	return nil
}

func (s *session) close() {
	if s.predictor != nil {
		s.predictor.Close()
	}
	if s.talker != nil {
		s.talker.Close()
	}
	if s.worker != nil {
		s.worker.stop()
	}
	if s.stream != nil {
		s.stream.Close()
	}
}

// start readies the codec.
func (s *session) start(u *utterance) error {
	begin := time.Now()
	err := s.prime(u)
	u.result.Timings.Codec += time.Since(begin)
	return err
}

func (s *session) prefill(u *utterance) ([]float32, error) {
	begin := time.Now()
	var xvector []float32
	if u.voice != nil {
		xvector = u.voice.XVector
	}
	logits, err := s.talker.Prefill(u.ctx, u.prompt, xvector)
	u.result.Timings.Prefill = time.Since(begin)
	return logits, err
}

func (s *session) frame(u *utterance, c0 int32, frame int) ([]int32, error) {
	begin := time.Now()
	codes, err := s.predictor.Frame(c0, frame, u.sampler)
	u.result.Timings.Predictor += time.Since(begin)
	s.dump.frame(codes)
	if err == nil {
		err = u.codes.add(codes)
	}
	return codes, err
}

func (s *session) step(u *utterance, codes []int32, frame int) ([]float32, error) {
	begin := time.Now()
	logits, err := s.talker.Step(codes, frame)
	u.result.Timings.Talker += time.Since(begin)
	return logits, err
}

// report logs how long the stages took, in the form that bench reads.
func (e *Engine) report(u *utterance) {
	r := &u.result
	perFrame := func(stage string, d time.Duration) {
		e.log.Info(fmt.Sprintf("[Perf] %s %.1f ms (%d frames, %.1f ms/frame)", stage, ms(d), r.Frames, ms(d)/float64(max(r.Frames, 1))))
	}
	e.log.Info(fmt.Sprintf("[Perf] Prefill %.1f ms (%d positions)", ms(r.Timings.Prefill), r.Prompt))
	perFrame("TalkerDecode", r.Timings.Talker)
	perFrame("CodePredictor", r.Timings.Predictor)
	perFrame("CodecDecode", r.Timings.Codec)
	perFrame("Sampling", r.Timings.Sampling)
	e.log.Info(fmt.Sprintf("[Perf] FirstAudio %.1f ms", ms(r.Timings.FirstAudio)))
	e.log.Info(fmt.Sprintf("[Perf] Total %.1f ms, finish %s, seed %d", ms(r.Timings.Total), r.Finish, r.Seed))
	for _, w := range r.Warnings {
		e.log.Warn(w)
	}
}
