package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
)

// registration is the body of POST /v1/audio/voices: a name, and one of a recording, its latents, or a voice file.
type registration struct {
	name, refText     string
	audio, spk, rvq   []byte
	qvoice            []byte
	audioField        string // what the client called the recording
	consent, language string // sent by some clients; not needed
}

// addVoice answers POST /v1/audio/voices.
func (s *Server) addVoice(w http.ResponseWriter, r *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	ctx, cancel := s.limit(r.Context())
	defer cancel()
	g, err := s.readRegistration(w, r)
	if err != nil {
		return err
	}
	if err := m.checkRegistration(g); err != nil {
		return err
	}
	voice, warnings, err := m.makeVoice(ctx, g)
	if err != nil {
		return explain(ctx, err)
	}
	c, replaced, err := m.voices.put(g.name, voice)
	switch {
	case errors.Is(err, errTooMany):
		return refuse("name", "too_many_voices", "name: no more than %d voices are kept; remove some", s.opts.MaxVoices)
	case err != nil:
		return storageError(err)
	}
	o := c.object()
	o.Notes = warnings
	status := http.StatusCreated
	if replaced {
		status = http.StatusOK
	}
	return sendJSON(w, status, o)
}

func storageError(err error) error {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	why := err
	var file *fs.PathError
	if errors.As(err, &file) {
		why = file.Err // where the server keeps its files is not the client's business
	}
	return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "storage", message: "the voice cannot be kept: " + why.Error(), cause: err}
}

// readRegistration takes JSON or a form with files.
func (s *Server) readRegistration(w http.ResponseWriter, r *http.Request) (*registration, error) {
	g := &registration{}
	if mediaType(r) == "multipart/form-data" {
		return g, s.readForm(w, r, g)
	}
	if err := wantJSON(r); err != nil {
		return nil, err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return nil, err
	}
	var audio, spk, rvq, qvoice string
	err = readObject(body, []field{
		{[]string{"name"}, toText(&g.name)},
		{[]string{"ref_text"}, toText(&g.refText)},
		{[]string{"wav_b64", "audio_b64"}, toText(&audio)},
		{[]string{"spk_b64"}, toText(&spk)},
		{[]string{"rvq_b64"}, toText(&rvq)},
		{[]string{"qvoice_b64"}, toText(&qvoice)},
	}, s.opts.Strict)
	if err != nil {
		return nil, err
	}
	g.audioField = "wav_b64"
	for _, f := range []struct {
		name, text string
		to         *[]byte
	}{{"wav_b64", audio, &g.audio}, {"spk_b64", spk, &g.spk}, {"rvq_b64", rvq, &g.rvq}, {"qvoice_b64", qvoice, &g.qvoice}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = decodeBase64(f.name, f.text); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// readForm takes a multipart form apart.
func (s *Server) readForm(w http.ResponseWriter, r *http.Request, g *registration) error {
	return s.withBody(w, r, func() error {
		form, err := r.MultipartReader()
		if err != nil {
			return refuse("", "invalid_body", "the form cannot be read: %v", err)
		}
		for {
			part, err := form.NextPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := g.readPart(part, s.opts.Strict); err != nil {
				return err
			}
		}
	})
}

// readPart takes one field of a form. The bodies of all parts together are bounded already.
func (g *registration) readPart(part *multipart.Part, strict bool) error {
	name := part.FormName()
	data, err := io.ReadAll(part)
	if err != nil {
		return err
	}
	texts := map[string]*string{"name": &g.name, "ref_text": &g.refText, "consent": &g.consent, "language": &g.language}
	files := map[string]*[]byte{"audio_sample": &g.audio, "audio": &g.audio, "file": &g.audio, "wav": &g.audio,
		"spk": &g.spk, "rvq": &g.rvq, "qvoice": &g.qvoice}
	switch text, file := texts[name], files[name]; {
	case text != nil:
		if at := invalidUTF8(data); at >= 0 {
			return refuse(name, "invalid_value", "%s: not UTF-8 at byte %d", name, at)
		}
		*text = string(data)
	case file != nil:
		if *file != nil {
			return refuse(name, "invalid_value", "%s: there is more than one", name)
		}
		*file = data
		if file == &g.audio {
			g.audioField = name
		}
	case strict:
		return refuse(name, "unknown_field", "%s: there is no such field", name)
	}
	return nil
}

// checkRegistration refuses what cannot be made a voice of, before any work.
func (m *model) checkRegistration(g *registration) error {
	g.name, g.refText = strings.TrimSpace(g.name), strings.TrimSpace(g.refText)
	if err := checkName(g.name); err != nil {
		return err
	}
	if m.kind != baseModel {
		return refuse("", "mode_invalid", "this is a %s model; only a base model has voices of its own to register", m.kind)
	}
	sources := 0
	for _, given := range [][]byte{g.audio, g.spk, g.qvoice} {
		if given != nil {
			sources++
		}
	}
	switch {
	case g.rvq != nil && g.spk == nil:
		return refuse("spk_b64", "missing_required_field", "spk_b64: missing: codes need the speaker's vector beside them")
	case sources == 0:
		return refuse("wav_b64", "missing_required_field", "wav_b64: missing: send a recording, or spk_b64 with or without rvq_b64, or qvoice_b64")
	case sources > 1:
		return refuse("wav_b64", "invalid_value", "wav_b64, spk_b64 and qvoice_b64 exclude each other")
	}
	return nil
}

// makeVoice makes a voice of what was sent; a recording waits for its turn at the engine.
func (m *model) makeVoice(ctx context.Context, g *registration) (v *voicefile.Voice, warnings []string, err error) {
	id := m.is
	switch {
	case g.qvoice != nil:
		if v, err = voicefile.ParseVoice(g.qvoice); err == nil {
			err = v.Check(id)
		}
		if err != nil {
			return nil, nil, refuse("qvoice_b64", "invalid_value", "qvoice_b64: %v", err)
		}
		if g.refText != "" {
			v.Transcript = g.refText
		}
	case g.spk != nil:
		v, err = parseLatents(g, id)
	default:
		v, warnings, err = m.extract(ctx, g, id)
	}
	if err != nil {
		return nil, nil, err
	}
	return v, warnings, m.tryVoice(ctx, v)
}

// parseLatents reads a speaker's vector and codes that were extracted before.
func parseLatents(g *registration, id voicefile.Identity) (*voicefile.Voice, error) {
	v := &voicefile.Voice{Model: id, Transcript: g.refText, Tool: tool}
	var err error
	if v.XVector, err = voicefile.ParseXVector(g.spk); err != nil {
		return nil, refuse("spk_b64", "invalid_value", "spk_b64: %v", err)
	}
	if len(v.XVector) != id.Width {
		return nil, refuse("spk_b64", "invalid_value", "spk_b64: %d values, the speaker's vectors of this model have %d", len(v.XVector), id.Width)
	}
	if g.rvq != nil {
		if v.Codes, err = voicefile.ParseCodes(g.rvq, id.Codebooks, id.CodebookSize); err != nil {
			return nil, refuse("rvq_b64", "invalid_value", "rvq_b64: %v", err)
		}
	}
	return v, nil
}

const tool = "tts-server"

// extract listens to a recording.
func (m *model) extract(ctx context.Context, g *registration, id voicefile.Identity) (*voicefile.Voice, []string, error) {
	s := m.server
	pcm, warnings, err := s.decodeClip(ctx, g.audioField, g.audio, g.refText)
	if err != nil {
		return nil, nil, err
	}
	g.audio = nil
	exchangeOf(ctx).freeBody()
	if err := s.line.enter(ctx); err != nil {
		s.metrics.turnedAway(err)
		return nil, nil, err
	}
	s.speaking.Add(1)
	defer s.speaking.Done()
	begin := time.Now()
	defer func() { s.line.leave(time.Since(begin)) }()
	v, err := m.engine.ExtractVoice(ctx, pcm)
	if err != nil {
		return nil, nil, err
	}
	return &voicefile.Voice{Model: id, XVector: v.XVector, Codes: v.Codes, Transcript: g.refText, Tool: tool}, warnings, nil
}

// tryVoice lets the engine look at a voice before it is kept.
func (m *model) tryVoice(ctx context.Context, v *voicefile.Voice) error {
	req := m.engine.DefaultRequest()
	req.Text, req.MaxFrames = "a", 1
	(&cloned{voice: v}).apply(&req)
	return m.engine.CheckLong(ctx, &req, core.LongOptions{})
}
