package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// A session is one opened model and what the flags ask of it.
type session struct {
	app     *app
	options *options
	changed func(flag string) bool // whether a flag was given
	format  audio.Format
	layout  core.Layout
	showBar bool
	places  int // requests that are computed together; 0 is 1

	engine  *core.Engine
	request core.Request // all but the text
}

// open loads the model and prepares the request; it fails on whatever is wrong with either before any synthesis.
func (s *session) open(ctx context.Context) error {
	r, err := s.readReference()
	if err != nil {
		return err
	}
	if s.options.design != "" {
		if err := s.checkDesign(); err != nil {
			return err
		}
	}
	file, err := s.createVoice()
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Discard()
	}
	if s.options.design == "" {
		s.engine, err = s.load(s.places)
	} else if r, err = s.renderAnchor(ctx); err == nil {
		base := s.base()
		base.MaxBatch = s.places
		s.engine, err = core.Open(base)
	}
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, r, file); err != nil {
		s.engine.Close()
		return err
	}
	return nil
}

// prepare makes the request, all but its text, and writes its voice if there is a file for it.
func (s *session) prepare(ctx context.Context, r reference, file *atomicfile.File) error {
	req := s.newRequest(s.engine)
	if err := s.applyReference(&req, r); err != nil {
		return err
	}
	if file != nil {
		if err := s.keepVoice(ctx, &req, file); err != nil {
			return err
		}
	}
	if s.options.xvectorOnly {
		forgetCodes(&req)
	}
	s.request = req
	return nil
}

// load opens the talker of --model, for so many requests at a time.
func (s *session) load(places int) (*core.Engine, error) {
	opts := s.model()
	opts.MaxBatch = places
	return core.Open(opts)
}

// model is what --model and the flags beside it name. Of a folder with several models it is the one of --mode, or else
// what the other flags need.
func (s *session) model() core.Options {
	opts := s.options.model.Options
	if opts.Mode == "" && isFolder(opts.TalkerPath) {
		opts.Mode = s.options.impliedMode()
	}
	opts.Logger = s.app.console.Logger()
	return opts
}

// base is what --base names.
func (s *session) base() core.Options {
	opts := s.options.model.Options
	opts.TalkerPath, opts.PredictorPath, opts.TokenizerPath, opts.Mode = s.options.base, "", "", ""
	if isFolder(opts.TalkerPath) {
		opts.Mode = core.ModeBase
	}
	opts.Logger = s.app.console.Logger()
	return opts
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// newRequest has what the flags say of sampling and style.
func (s *session) newRequest(engine *core.Engine) core.Request {
	o := s.options
	req := engine.DefaultRequest()
	req.Language, req.Speaker, req.Instruct = o.lang, o.speaker, o.instruct
	req.Layout = s.layout
	req.Seed = o.seed
	req.DumpDir = o.dump
	if s.changed("max-new") {
		req.MaxFrames = o.maxNew
	}
	o.applySampling(&req.Talker, &req.Predictor, s.changed)
	return req
}

// applySampling overrides what the model defaults to by the flags that were given.
func (o *options) applySampling(talker, predictor *sample.Params, changed func(flag string) bool) {
	for flag, set := range map[string]func(){
		"temp":      func() { talker.Temperature = o.temp },
		"top-k":     func() { talker.TopK = o.topK },
		"top-p":     func() { talker.TopP = o.topP },
		"rep-pen":   func() { talker.RepetitionPenalty = o.repPen },
		"sub-temp":  func() { predictor.Temperature = o.subTemp },
		"sub-top-k": func() { predictor.TopK = o.subTopK },
		"sub-top-p": func() { predictor.TopP = o.subP },
	} {
		if changed(flag) {
			set()
		}
	}
	if o.greedy {
		talker.DoSample, predictor.DoSample = false, false
	}
}

// speak synthesises one text into one file. A stream gets each frame as soon as it is generated.
func (s *session) speak(ctx context.Context, text string, w io.Writer, stream bool) error {
	req := s.request
	req.Text = text
	req.Stream = stream
	return s.record(w, func(emit func([]float32) error) error { return s.utter(ctx, &req, emit) })
}

// record writes what an utterance emits as one file.
func (s *session) record(w io.Writer, utter func(emit func([]float32) error) error) error {
	out, err := audio.NewWriter(w, s.format, core.SampleRate)
	if err != nil {
		return cli.IOError{Err: err}
	}
	defer out.Discard()
	speed, err := audio.NewSpeed(core.SampleRate, float64(s.options.speed), out.Write)
	if err != nil {
		return cli.Inputf("--%w", err)
	}
	defer speed.Discard()
	err = utter(func(pcm []float32) error {
		if err := speed.Write(pcm); err != nil {
			return cli.IOError{Err: err} // the engine hands it back, wrapped
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(speed.Close(), out.Close()); err != nil {
		return cli.IOError{Err: err}
	}
	return nil
}

// utter speaks a request, in pieces if asked to, and reports what became of it.
func (s *session) utter(ctx context.Context, req *core.Request, emit func([]float32) error) error {
	if s.options.long {
		return s.utterLong(ctx, req, emit)
	}
	res, err := s.synthesize(ctx, s.engine, req, emit)
	if err == nil {
		s.report(&res)
	}
	return err
}

// synthesize speaks a request beside a progress bar.
func (s *session) synthesize(ctx context.Context, engine *core.Engine, req *core.Request, emit func([]float32) error) (core.Result, error) {
	defer s.watch(req)()
	return engine.Synthesize(ctx, req, emit)
}

// watch shows how far a request is, if that is wanted, until the function that it returns is called.
func (s *session) watch(req *core.Request) (stop func()) {
	if !s.showBar {
		return func() {}
	}
	b := newBar(s.app.stderr, req.Text, req.MaxFrames)
	s.app.console.Status(b.clear)
	req.Progress = func(p core.Progress) { s.app.console.Update(func() { b.update(p) }) }
	return func() { s.app.console.Status(nil) }
}

// talkative tells whether what went well is worth a line, too.
func (s *session) talkative() bool { return s.showBar || s.options.verbose }

// report tells what the user may not have expected, and on request what was done.
func (s *session) report(res *core.Result) {
	switch res.Finish {
	case core.FinishLength:
		s.app.console.Linef("warning: stopped at %d frames (%.1f s) before the model ended the speech (finish_reason length); raise --max-new, or let --long divide the text",
			res.Frames, seconds(res))
	case core.FinishEmpty:
		s.app.console.Linef("warning: the model ended the speech at once (finish_reason empty); the audio is empty")
	}
	if s.talkative() {
		s.app.console.Linef("%s", summary(res))
	}
	s.profile(res)
}

// profile prints what the stages took, if that is asked for.
func (s *session) profile(res *core.Result) {
	p := res.Profile()
	switch s.options.profile {
	case "table":
		s.app.console.Print(p.String())
	case "json":
		line, _ := json.Marshal(p) // numbers and strings: never fails
		s.app.console.Print(string(line))
	}
}

func summary(res *core.Result) string {
	total := res.Timings.Total
	line := fmt.Sprintf("%d frames, %.2f s of audio in %.2f s", res.Frames, seconds(res), total.Seconds())
	if res.Samples > 0 {
		line += fmt.Sprintf(" (RTF %.2f), first audio after %s", total.Seconds()/seconds(res), res.Timings.FirstAudio.Round(time.Millisecond))
	}
	return line + fmt.Sprintf(", seed %d", res.Seed)
}

// seconds of audio that were produced.
func seconds(res *core.Result) float64 { return float64(res.Samples) / core.SampleRate }
