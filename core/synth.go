package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

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
	warnings, err := e.checkFiles()
	if err != nil {
		return Result{}, err
	}
	u, err := e.plan(req)
	if err != nil {
		return Result{}, err
	}
	u.result.Warnings = append(u.result.Warnings, warnings...)
	u.start, u.emit, u.ctx = start, emit, closing{ctx, e}
	place, err := e.turn.enter(u.ctx)
	if err != nil {
		return Result{Seed: u.result.Seed, Finish: FinishCancelled}, cancelled(err)
	}
	defer e.turn.leave(place)
	if err = u.listen(); err == nil {
		err = u.speak(place)
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

// speak runs the utterance in its place, or in a session of its own if stages are wanted.
func (u *utterance) speak(place int) error {
	if u.req.DumpDir != "" {
		return u.speakAndDump()
	}
	if g := u.engine.group; g != nil {
		return u.generate(g.places[place])
	}
	return u.generate(u.engine.session)
}

func (u *utterance) speakAndDump() error {
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

// performer generates an utterance's frames and has what decodes them: a session by itself, or a place in a group.
type performer interface {
	decoder() *decoding
	// begin reads the prompt, or has it read.
	begin(u *utterance) error
	// next returns the codes of the next frame, valid until it is called again, or nil if the model has ended the speech.
	// Audio that is ready meanwhile goes to out.
	next(u *utterance, out *output) ([]int32, error)
	// end leaves the utterance.
	end()
}

// generate is the loop: frame by frame, codes -> audio.
func (u *utterance) generate(s performer) error {
	defer s.end()
	if err := s.decoder().start(u); err != nil {
		return u.failed(err)
	}
	var err error
	if u.codes, err = startCodeDump(); err != nil {
		return err
	}
	out := newOutput(s.decoder(), u)
	defer out.abandon()
	err = s.begin(u)
	for frame := 0; err == nil && frame < u.req.MaxFrames; frame++ {
		var codes []int32
		if codes, err = s.next(u, out); err != nil {
			break
		}
		if codes == nil {
			u.result.Finish = FinishStop
			break
		}
		if err = u.codes.add(codes); err == nil {
			err = out.add(codes)
		}
		if err == nil {
			u.progress(frame + 1)
		}
	}
	err = out.end(err)
	out.judge()
	return u.finish(err)
}

// xvector of the speaker, nil if the prompt has no place for it.
func (u *utterance) xvector() []float32 {
	if u.voice == nil {
		return nil
	}
	return u.voice.XVector
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
	e.reportMemory()
	e.log.Info(fmt.Sprintf("[Perf] FirstAudio %.1f ms", ms(r.Timings.FirstAudio)))
	e.log.Info(fmt.Sprintf("[Perf] Total %.1f ms, finish %s, seed %d", ms(r.Timings.Total), r.Finish, r.Seed))
	for _, w := range r.Warnings {
		e.log.Warn(w)
	}
}
