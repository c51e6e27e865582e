package server

import (
	"encoding/json"
	"net/http"
)

// eventSender sends audio as server-sent events, as OpenAI's API does with stream_format sse.
type eventSender struct {
	y *synthesis
	w http.ResponseWriter
}

func (e *eventSender) begin() error {
	e.y.setHeaders(e.w.Header(), "text/event-stream")
	e.w.WriteHeader(http.StatusOK)
	return nil
}

// event sends a value as one event.
func (e *eventSender) event(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return aborted{err}
	}
	return e.send(data)
}

func (e *eventSender) send(data []byte) error {
	return send(e.w, append(append([]byte("data: "), data...), "\n\n"...))
}

func (e *eventSender) audio(data []byte) error {
	return e.event(struct {
		Type   string `json:"type"`
		Audio  []byte `json:"audio"` // base64 in JSON
		Format string `json:"response_format"`
	}{"speech.audio.delta", data, formatName(e.y.format)})
}

// end sends the usage: tokens of the text, and frames of audio.
func (e *eventSender) end() error {
	type usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	r := &e.y.total
	err := e.event(struct {
		Type   string `json:"type"`
		Usage  usage  `json:"usage"`
		Finish string `json:"finish_reason"`
		Seed   int64  `json:"seed"`
	}{"speech.audio.done", usage{r.TextTokens, r.Frames, r.TextTokens + r.Frames}, string(r.Finish), e.y.request.Seed})
	if err != nil {
		return err
	}
	return e.send([]byte("[DONE]"))
}

// fail sends the error as an event, which ends the stream well: the client knows.
func (e *eventSender) fail(failure *apiError) error {
	var body struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(failure.body(), &body); err != nil {
		return aborted{err}
	}
	body.Type = "error"
	if err := e.event(body); err != nil {
		return err
	}
	return sent{failure}
}

// sent says that a failure was told to the client already.
type sent struct{ *apiError }

func (s sent) Unwrap() error { return s.apiError }
