package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// A reference is the voice to clone, as it comes: one of a recording, a voice file, or side files; or nothing.
type reference struct {
	text    string // transcript
	audio   []float32
	voice   *voicefile.Voice
	xvector []float32
}

// readReference reads what can be read before a model is open, so that a wrong file costs no time.
func (s *session) readReference() (r reference, err error) {
	o := s.options
	if o.inline {
		r.text = o.refText
	} else if o.refText != "" {
		if r.text, err = cli.ReadTranscript(o.refText); err != nil {
			return r, fmt.Errorf("--ref-text: %w", err)
		}
	}
	switch {
	case o.refWAV != "":
		if r.audio, err = cli.ReadClip(s.app.console, o.refWAV, r.text, o.trimRef); err != nil {
			return r, fmt.Errorf("--ref-wav: %w", err)
		}
	case o.voice != "":
		if r.voice, err = voicefile.ReadVoice(o.voice); err != nil {
			err = fmt.Errorf("--voice: %w", cli.FileError(err))
			if errors.Is(err, fs.ErrNotExist) && filepath.Ext(o.voice) == "" {
				err = fmt.Errorf("%w (--voice takes a .qvoice file; --speaker names a speaker of the model)", err)
			}
			return r, err
		}
	case o.refSpk != "":
		if r.xvector, err = voicefile.ReadXVector(o.refSpk); err != nil {
			return r, fmt.Errorf("--ref-spk: %w", cli.FileError(err))
		}
	}
	return r, nil
}

// applyReference makes a request speak with a voice.
func (s *session) applyReference(req *core.Request, r reference) (err error) {
	o := s.options
	if err := s.wantBase(r); err != nil {
		return err
	}
	req.RefText = r.text
	switch {
	case r.audio != nil:
		req.RefAudio = r.audio
	case r.voice != nil:
		return s.applyVoice(req, r)
	case r.xvector != nil:
		req.Voice = &core.Voice{XVector: r.xvector}
		if o.refRVQ == "" {
			return nil
		}
		id := s.engine.Identity()
		if req.Voice.Codes, err = voicefile.ReadCodes(o.refRVQ, id.Codebooks, id.CodebookSize); err != nil {
			return fmt.Errorf("--ref-rvq: %w", cli.FileError(err))
		}
	}
	return nil
}

// wantBase refuses a voice where the model that is to speak has no use for one.
func (s *session) wantBase(r reference) error {
	kind, o := s.engine.ModelType(), s.options
	if kind == baseModel || r.audio == nil && r.voice == nil && r.xvector == nil {
		return nil
	}
	return cli.ModeError{Err: fmt.Errorf("%s: this is a %s model; only a base model clones a voice", o.voiceSources()[0], kind)}
}

// applyVoice takes a voice from its file, if it belongs to the model. Codes are of use with a transcript only.
func (s *session) applyVoice(req *core.Request, r reference) error {
	v, path := r.voice, s.options.voice
	if err := v.Check(voicefile.Identity(s.engine.Identity())); err != nil {
		return cli.ModeError{Err: fmt.Errorf("--voice: %s: %w", path, err)}
	}
	if r.text != "" && len(v.Codes) == 0 {
		return cli.Usagef("--ref-text: %s has no codes that it could be the transcript of", path)
	}
	if req.RefText == "" {
		req.RefText = v.Transcript
	}
	req.Voice = &core.Voice{XVector: v.XVector, Codes: v.Codes}
	if req.RefText == "" || len(v.Codes) == 0 {
		req.Voice.Codes, req.RefText = nil, ""
	}
	return nil
}

// The kinds of model that voices depend on, as core.TalkerInfo has them.
const (
	baseModel   = "base"
	designModel = "voice_design"
)

// createVoice starts the file of --save-voice; it is nil without that flag.
func (s *session) createVoice() (*atomicfile.File, error) {
	if s.options.saveVoice == "" {
		return nil, nil
	}
	f, err := atomicfile.Create(s.options.saveVoice)
	if err != nil {
		return nil, cli.IOError{Err: fmt.Errorf("--save-voice: %w", err)}
	}
	return f, nil
}

// keepVoice writes the request's voice into a file, and lets the request go on with it.
func (s *session) keepVoice(ctx context.Context, req *core.Request, file *atomicfile.File) error {
	if kind := s.engine.ModelType(); kind != baseModel {
		return cli.ModeError{Err: fmt.Errorf("--save-voice: this is a %s model; only a base model has voices of its own to keep", kind)}
	}
	if req.RefAudio != nil {
		v, err := s.engine.ExtractVoice(ctx, req.RefAudio)
		if err != nil {
			return err
		}
		req.RefAudio, req.Voice = nil, v
	}
	data, err := voicefile.FormatVoice(&voicefile.Voice{
		Model: voicefile.Identity(s.engine.Identity()), XVector: req.Voice.XVector, Codes: req.Voice.Codes,
		Transcript: req.RefText, Tool: cli.Banner(version),
	})
	if err != nil {
		return cli.Inputf("--save-voice: %w", err)
	}
	if _, err := file.Writer().Write(data); err != nil {
		return cli.IOError{Err: err}
	}
	if err := file.Commit(); err != nil {
		return cli.IOError{Err: err}
	}
	if req.RefText == "" {
		req.Voice.Codes = nil // kept for whoever has the transcript
	}
	if s.talkative() {
		s.app.console.Linef("%s: voice of %d frames", s.options.saveVoice, len(req.Voice.Codes))
	}
	return nil
}

// saveVoice is the work of a run without -o.
func (s *session) saveVoice(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.engine.Close()
}

// forgetCodes leaves the speaker's vector alone: --x-vector-only.
func forgetCodes(req *core.Request) {
	req.RefText = ""
	if req.Voice != nil {
		req.Voice = &core.Voice{XVector: req.Voice.XVector}
	}
}
