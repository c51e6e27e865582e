package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/text"
)

// LongOptions say how a long text is spoken.
type LongOptions struct {
	// PieceCharacters is the most code points of a piece; 0 limits what a piece takes to speak, to some 25 seconds.
	PieceCharacters int
	// PieceFrames is the most audio frames of a piece; Request.MaxFrames bounds them, too. 0 is generous for the piece's
	// text: four times what it should take, and four seconds. A piece that does not end by itself ends there.
	PieceFrames int
	// Piece is called before each piece is spoken, on the calling goroutine; it may be nil.
	Piece func(Piece)
}

// Piece is a part of a long text that is spoken by itself.
type Piece struct {
	Index, Count int    // from 0, of so many
	Text         string // without white space around it
	Offset       int    // of Text in the whole, bytes
	Sample       int    // where the piece begins in the audio
}

// PieceResult is what became of a piece.
type PieceResult struct {
	Piece
	Result
}

// LongResult is the sum of the results of the pieces. Its Finish is FinishLength if any piece was cut off, else
// FinishStop; FinishEmpty if nothing was spoken at all. FirstAudio and Total are of the whole; what else is in Timings is
// summed. Warnings are those of all pieces, each once.
type LongResult struct {
	Result
	Pieces []PieceResult // as far as it got
}

// maxLongText bounds a long text, bytes: three days of speech.
const maxLongText = 4 << 20

// SynthesizeLong speaks a text of any length as one recording: piece by piece, each a Synthesize of its own that waits
// for its turn, cut at sentence ends as core/text does. Everything but the text is the same for each piece, the seed
// included, so that a result replays, and any piece can be spoken again by itself. All pieces are checked before the
// first is spoken. emit receives the samples as it does from Synthesize, one piece right after the other; Progress counts
// over all pieces.
//
// A base model without a reference picks a voice by chance: the later pieces then go on in the voice of the first, by its
// x-vector. A voice_design model makes its voice anew from the description in each piece, which is a warning.
//
// Paragraphs without a letter or digit, such as a line of asterisks, are left out, and end a piece. Errors are those of Synthesize; the result
// tells how far it got.
func (e *Engine) SynthesizeLong(ctx context.Context, req *Request, opts LongOptions, emit func(pcm []float32) error) (LongResult, error) {
	if err := e.begin(); err != nil {
		return LongResult{}, err
	}
	defer e.running.Done()
	l := &long{engine: e, ctx: ctx, req: *req, opts: opts, emit: emit, start: time.Now()}
	if l.req.Seed < 0 {
		l.req.Seed = randomSeed()
	}
	l.result.Result = Result{SampleRate: SampleRate, Seed: l.req.Seed}
	if err := l.plan(); err != nil {
		return l.result, err
	}
	err := l.speak()
	l.result.Timings.Total = time.Since(l.start)
	return l.result, err
}

// CheckLong tells whether SynthesizeLong would take a request, without waiting for a turn: nothing is computed but the
// layout of the prompts, and of a reference clip only length and level are looked at.
func (e *Engine) CheckLong(ctx context.Context, req *Request, opts LongOptions) error {
	if err := e.begin(); err != nil {
		return err
	}
	defer e.running.Done()
	l := &long{engine: e, ctx: ctx, req: *req, opts: opts}
	return l.plan()
}

// long is a long text on its way.
type long struct {
	engine *Engine
	ctx    context.Context
	req    Request // all but the text of each piece
	opts   LongOptions
	emit   func([]float32) error
	start  time.Time

	pieces    []Piece
	maxFrames int       // of all pieces together
	heard     []float32 // of a piece whose voice is to be taken
	result    LongResult
}

// plan cuts the text and checks every piece.
func (l *long) plan() error {
	whole := l.req.Text
	if len(whole) > maxLongText {
		return fail(ErrInvalid, "text: %d bytes, at most %d are taken", len(whole), maxLongText)
	}
	if l.opts.PieceCharacters < 0 || l.opts.PieceFrames < 0 {
		return fail(ErrInvalid, "pieces: a limit of %d characters and %d frames; neither may be negative", l.opts.PieceCharacters, l.opts.PieceFrames)
	}
	checked, err := prompt.CheckText(whole)
	if err != nil {
		return as(ErrInvalid, err)
	}
	skipped := len(whole) - len(checked) // a byte order mark
	language := prompt.CanonicalLanguage(l.req.Language)
	options := text.Options{Language: language, MaxCharacters: l.opts.PieceCharacters}
	for _, part := range spoken(checked) {
		for _, p := range text.Split(checked[part.from:part.to], options) {
			if _, err := prompt.CheckText(p.Text); err == nil {
				l.pieces = append(l.pieces, Piece{Text: p.Text, Offset: skipped + part.from + p.Start})
			}
		}
	}
	if l.req.DumpDir != "" && len(l.pieces) > 1 {
		return fail(ErrInvalid, "dump: holds one synthesis, the text has %d pieces", len(l.pieces))
	}
	return l.check()
}

// stretch is a part of a text, bytes.
type stretch struct{ from, to int }

// spoken returns the stretches of a text between the paragraphs that have no letter or digit.
func spoken(s string) (parts []stretch) {
	var part, paragraph stretch
	speaks := false
	end := func() {
		switch {
		case speaks && part.to == 0:
			part = paragraph
		case speaks:
			part.to = paragraph.to
		case paragraph.to > 0 && part.to > 0:
			parts, part = append(parts, part), stretch{}
		}
		paragraph, speaks = stretch{}, false
	}
	at := 0
	for line := range strings.Lines(s) {
		if prompt.IsBlank(line) {
			end()
		} else {
			if paragraph.to == 0 {
				paragraph.from = at
			}
			paragraph.to = at + len(line)
			_, err := prompt.CheckText(line)
			speaks = speaks || err == nil
		}
		at += len(line)
	}
	if end(); part.to > 0 {
		parts = append(parts, part)
	}
	return parts
}

// check refuses a text of which any piece would be refused.
func (l *long) check() error {
	for i := range l.pieces {
		p := &l.pieces[i]
		p.Index, p.Count = i, len(l.pieces)
		req := l.request(*p)
		l.maxFrames += req.MaxFrames
		if err := l.ctx.Err(); err != nil {
			return cancelled(err)
		}
		if _, err := l.engine.plan(&req); err != nil {
			if i == 0 {
				return err
			}
			return as(ErrInvalid, fmt.Errorf("piece %d of %d: %w", i+1, len(l.pieces), err))
		}
	}
	if l.engine.ModelType() == prompt.VoiceDesign && len(l.pieces) > 1 {
		l.caution("instruct: a voice_design model makes the voice anew for each piece; a base model keeps one")
	}
	return nil
}

// request is the synthesis of one piece.
func (l *long) request(p Piece) Request {
	r := l.req
	r.Text, r.Progress = p.Text, nil
	limit := l.opts.PieceFrames
	if limit == 0 {
		limit = 4*text.Frames(p.Text) + 50
	}
	if r.MaxFrames > 0 { // else it is refused
		r.MaxFrames = min(r.MaxFrames, max(limit, 1))
	}
	return r
}

func (l *long) speak() error {
	for _, p := range l.pieces {
		p.Sample = l.result.Samples
		if l.opts.Piece != nil {
			l.opts.Piece(p)
		}
		res, err := l.speakPiece(p)
		l.add(p, res)
		if err != nil {
			l.result.Finish = res.Finish
			return err
		}
		if err := l.keepVoice(); err != nil {
			return err
		}
	}
	return nil
}

func (l *long) speakPiece(p Piece) (Result, error) {
	req := l.request(p)
	before := l.result.Frames
	if l.req.Progress != nil {
		req.Progress = func(at Progress) {
			l.req.Progress(Progress{Frames: before + at.Frames, MaxFrames: l.maxFrames, Elapsed: time.Since(l.start)})
		}
	}
	begin := time.Since(l.start)
	wanted := l.wantsVoice()
	res, err := l.engine.Synthesize(l.ctx, &req, func(pcm []float32) error {
		if wanted {
			l.heard = append(l.heard, pcm...)
		}
		return l.emit(pcm)
	})
	if res.Samples > 0 && l.result.Samples == 0 {
		l.result.Timings.FirstAudio = begin + res.Timings.FirstAudio
	}
	return res, err
}

// wantsVoice tells whether the voice of the coming piece is to be kept for those after it.
func (l *long) wantsVoice() bool {
	return l.engine.ModelType() == prompt.Base && !l.req.hasReference() && len(l.pieces) > 1
}

// keepSeconds of a piece are enough to know its voice.
const keepSeconds = 15

// keepVoice goes on in the voice of a piece that picked its own. If none can be taken from it, the next piece picks one.
func (l *long) keepVoice() error {
	heard := l.heard[:min(len(l.heard), keepSeconds*SampleRate)]
	l.heard = nil
	if len(heard) == 0 || len(l.result.Pieces) == len(l.pieces) {
		return nil
	}
	v, err := l.engine.extractVoice(l.ctx, heard, false)
	switch {
	case err == nil:
		l.req.Voice = &Voice{XVector: v.XVector}
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrMode):
		l.caution(fmt.Sprintf("piece %d: no voice for the next ones: %v", len(l.result.Pieces), err))
	default:
		if errors.Is(err, ErrCancelled) {
			l.result.Finish = FinishCancelled
		}
		return err
	}
	return nil
}

// add counts a piece in.
func (l *long) add(p Piece, res Result) {
	l.result.Pieces = append(l.result.Pieces, PieceResult{p, res})
	sum := &l.result.Result
	sum.Frames += res.Frames
	sum.Samples += res.Samples
	sum.TextTokens += res.TextTokens
	sum.Prompt += res.Prompt
	sum.Finish = finishOf(sum.Finish, res.Finish)
	for _, t := range []struct {
		sum *time.Duration
		of  time.Duration
	}{
		{&sum.Timings.Tokenise, res.Timings.Tokenise}, {&sum.Timings.Sampling, res.Timings.Sampling},
		{&sum.Timings.Reference, res.Timings.Reference}, {&sum.Timings.Prefill, res.Timings.Prefill}, {&sum.Timings.Talker, res.Timings.Talker},
		{&sum.Timings.Predictor, res.Timings.Predictor}, {&sum.Timings.Codec, res.Timings.Codec},
	} {
		*t.sum += t.of
	}
	sum.Timings.Load = res.Timings.Load
	for _, w := range res.Warnings {
		l.warn(w)
	}
}

// finishOf is how the whole ended, given how what came before and the next piece did.
func finishOf(whole, piece Finish) Finish {
	for _, f := range []Finish{FinishCancelled, FinishLength, FinishStop} {
		if whole == f || piece == f {
			return f
		}
	}
	return piece
}

// caution is a warning that no piece gave and logged.
func (l *long) caution(w string) {
	l.engine.log.Warn(w)
	l.warn(w)
}

func (l *long) warn(w string) {
	if !slices.Contains(l.result.Warnings, w) {
		l.result.Warnings = append(l.result.Warnings, w)
	}
}
