package server

import (
	"net/http"
	"time"
)

// health answers GET /health: 200 if a request would be served now.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	status, code := "ok", http.StatusOK
	m := s.model.Load()
	switch {
	case s.isClosing():
		status, code = "shutting_down", http.StatusServiceUnavailable
	case m == nil:
		status, code = "loading", http.StatusServiceUnavailable
	case s.stuck.longer(s.opts.StuckAfter):
		status, code = "degraded", http.StatusServiceUnavailable
	}
	running, waiting := s.line.load()
	answer := map[string]any{"status": status, "running": running, "waiting": waiting}
	if m != nil {
		answer["model"] = m.id
	}
	w.Header().Set("Cache-Control", "no-store")
	return sendJSON(w, code, answer)
}

// object is the model as OpenAI's API shows models.
func (m *model) object() map[string]any {
	return map[string]any{"id": m.id, "object": "model", "created": m.created.Unix(), "owned_by": "libqwen",
		"type": m.kind, "size": m.is.Size, "languages": m.engine.Languages()}
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	return sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{m.object()}})
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	if id := r.PathValue("id"); id != m.id {
		return notFound("model", "model_not_found", "model: there is no %q; there is %q", id, m.id)
	}
	return sendJSON(w, http.StatusOK, m.object())
}

// audioModels answers GET /v1/audio/models, in the shape that Open WebUI reads.
func (s *Server) audioModels(w http.ResponseWriter, _ *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	return sendJSON(w, http.StatusOK, map[string]any{"models": []any{map[string]string{"id": m.id, "name": m.id}}})
}

// voiceObject is a voice as the API shows it.
type voiceObject struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Object  string   `json:"object"`
	Kind    string   `json:"kind"`           // "cloned" or "speaker"
	Mode    string   `json:"mode,omitempty"` // of a cloned voice: "in_context" or "x_vector"
	Created int64    `json:"created,omitempty"`
	Text    string   `json:"ref_text,omitempty"`
	Seconds float64  `json:"seconds,omitempty"` // of the recording
	Notes   []string `json:"warnings,omitempty"`
}

const framesPerSecond = 12.5

func (c *cloned) object() voiceObject {
	o := voiceObject{ID: c.name, Name: c.name, Object: "voice", Kind: "cloned", Mode: "x_vector", Created: c.created.Unix(),
		Text: c.voice.Transcript, Seconds: float64(len(c.voice.Codes)) / framesPerSecond}
	if c.inContext() {
		o.Mode = "in_context"
	}
	return o
}

func speakerObject(name string) voiceObject {
	return voiceObject{ID: name, Name: name, Object: "voice", Kind: "speaker"}
}

// listVoices answers GET /v1/audio/voices. Programs differ in where they look for the list, so it is there twice.
func (s *Server) listVoices(w http.ResponseWriter, r *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	if f := r.URL.Query().Get("format"); f == "names" {
		return sendJSON(w, http.StatusOK, map[string]any{"voices": append([]string{}, m.names()...)})
	} else if f != "" {
		return refuse("format", "invalid_value", "format: %q is not \"names\"", f)
	}
	list := []voiceObject{}
	for _, name := range m.names() {
		o, _ := m.voice(name)
		list = append(list, o)
	}
	return sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list, "voices": list, "aliases": m.aliases(), "default": s.opts.DefaultVoice})
}

// voice finds a voice by name; aliases are not looked at.
func (m *model) voice(name string) (voiceObject, bool) {
	if c := m.voices.get(name); c != nil {
		return c.object(), true
	}
	for _, s := range m.engine.Speakers() {
		if foldName(s) == foldName(name) {
			return speakerObject(s), true
		}
	}
	return voiceObject{}, false
}

func (s *Server) getVoice(w http.ResponseWriter, r *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	o, ok := m.voice(r.PathValue("name"))
	if !ok {
		return notFound("name", "voice_not_found", "name: there is no %q; %s", r.PathValue("name"), m.offer())
	}
	return sendJSON(w, http.StatusOK, o)
}

func (s *Server) removeVoice(w http.ResponseWriter, r *http.Request) error {
	m, err := s.ready()
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	switch existed, err := m.voices.remove(name); {
	case err != nil:
		return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "storage", message: "the voice's file cannot be removed", cause: err}
	case existed:
		return sendJSON(w, http.StatusOK, map[string]any{"id": name, "object": "voice", "deleted": true})
	}
	if _, ok := m.voice(name); ok {
		return refuse("name", "invalid_value", "name: %q is a speaker of the model; only registered voices can be removed", name)
	}
	return notFound("name", "voice_not_found", "name: there is no voice %q", name)
}

// retryWhileLoading is told to those who ask too early.
const retryWhileLoading = 5 * time.Second
