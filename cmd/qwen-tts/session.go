package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/sample"
	"github.com/libqwen/libqwen/core/voicefile"
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

	engine  *core.Engine
	request core.Request // all but the text
}

// open loads the model and prepares the request; it fails on whatever is wrong with either before any synthesis.
func (s *session) open() error {
	if err := s.load(); err != nil {
		return err
	}
	req, err := s.newRequest()
	if err != nil {
		s.engine.Close()
		return err
	}
	s.request = req
	return nil
}

func (s *session) load() error {
	o := s.options
	engine, err := core.Open(core.Options{
		TalkerPath:       o.model,
		CodecPath:        o.codec,
		Device:           o.device,
		Threads:          o.threads,
		Context:          o.context,
		ChunkSeconds:     o.chunk,
		NoFlashAttention: o.noFA,
		ClampFP16:        o.clampFP16,
		Logger:           s.app.console.Logger(),
	})
	if err != nil {
		return err
	}
	s.engine = engine
	return nil
}

func (s *session) newRequest() (core.Request, error) {
	o := s.options
	req := s.engine.DefaultRequest()
	req.Language, req.Speaker, req.Instruct = o.lang, o.speaker, o.instruct
	req.Layout = s.layout
	req.Seed = o.seed
	req.DumpDir = o.dump
	if s.changed("max-new") {
		req.MaxFrames = o.maxNew
	}
	o.applySampling(&req.Talker, &req.Predictor, s.changed)
	return req, s.applyReference(&req)
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

// applyReference reads the files that describe a voice to clone.
func (s *session) applyReference(req *core.Request) (err error) {
	o := s.options
	if o.refText != "" {
		if req.RefText, err = cli.ReadTextFile(o.refText); err != nil {
			return fmt.Errorf("--ref-text: %w", err)
		}
	}
	if o.refWAV != "" {
		if req.RefAudio, err = s.readClip(o.refWAV); err != nil {
			return fmt.Errorf("--ref-wav: %w", err)
		}
	}
	if o.refSpk == "" {
		return nil
	}
	req.Voice = &core.Voice{}
	if req.Voice.XVector, err = voicefile.ReadXVector(o.refSpk); err != nil {
		return fmt.Errorf("--ref-spk: %w", cli.FileError(err))
	}
	if o.refRVQ != "" {
		if req.Voice.Codes, err = voicefile.ReadCodes(o.refRVQ, s.engine.NumCodebooks(), codebookEntries); err != nil {
			return fmt.Errorf("--ref-rvq: %w", cli.FileError(err))
		}
	}
	return nil
}

// codebookEntries of the codec; a .rvq file is packed for them.
const codebookEntries = 2048

// speak synthesises one text into one WAV. A stream gets each frame as soon as it is generated.
func (s *session) speak(ctx context.Context, text string, w io.Writer, stream bool) error {
	wav, err := audio.NewWriter(w, s.format, core.SampleRate)
	if err != nil {
		return cli.IOError{Err: err}
	}
	req := s.request
	req.Text = text
	req.Stream = stream
	if s.showBar {
		b := newBar(s.app.stderr, text, req.MaxFrames)
		s.app.console.Status(b.clear)
		req.Progress = func(p core.Progress) { s.app.console.Update(func() { b.update(p) }) }
	}
	res, err := s.engine.Synthesize(ctx, &req, func(pcm []float32) error {
		if err := wav.Write(pcm); err != nil {
			return cli.IOError{Err: err} // the engine hands it back, wrapped
		}
		return nil
	})
	s.app.console.Status(nil)
	if err != nil {
		return err
	}
	if err := wav.Close(); err != nil {
		return cli.IOError{Err: err}
	}
	s.report(&res)
	return nil
}

// report tells what the user may not have expected, and on request what was done.
func (s *session) report(res *core.Result) {
	switch res.Finish {
	case core.FinishLength:
		s.app.console.Linef("warning: stopped at %d frames (%.1f s) before the model ended the speech (finish_reason length); raise --max-new",
			res.Frames, seconds(res))
	case core.FinishEmpty:
		s.app.console.Linef("warning: the model ended the speech at once (finish_reason empty); the audio is empty")
	}
	if s.showBar || s.options.verbose {
		s.app.console.Linef("%s", summary(res))
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
