package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/libqwen/libqwen/core"
)

// apiError is an answer other than success, in the shape of OpenAI's API: a client decides by status, type and code,
// a person reads the message, and param names the field at fault.
type apiError struct {
	status  int
	kind    string // "invalid_request_error", "rate_limit_error" or "server_error"
	code    string
	param   string // "" if no field is at fault
	message string

	challenge  string        // of WWW-Authenticate, "" if there is none
	retryAfter time.Duration // 0: trying again soon is no use
	cause      error         // for the log; may be nil
}

func (e *apiError) Error() string { return e.message }
func (e *apiError) Unwrap() error { return e.cause }

// The types of errors.
const (
	invalidRequest = "invalid_request_error"
	rateLimit      = "rate_limit_error"
	serverError    = "server_error"
)

// refuse is an error of the client's making: status 400.
func refuse(param, code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: invalidRequest, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// Why a context ended that the server cancelled.
var (
	errTimeout  = errors.New("the request took longer than the server allows")
	errShutdown = errors.New("the server is shutting down")
	errGone     = errors.New("the client is gone")
)

func busy(after time.Duration) *apiError {
	return &apiError{status: http.StatusTooManyRequests, kind: rateLimit, code: "queue_full",
		message: "the server is at its limit; try again later", retryAfter: after}
}

func unavailable(code, message string, after time.Duration) *apiError {
	return &apiError{status: http.StatusServiceUnavailable, kind: serverError, code: code, message: message, retryAfter: after}
}

func notFound(param, code, format string, args ...any) *apiError {
	e := refuse(param, code, format, args...)
	e.status = http.StatusNotFound
	return e
}

// fields translates the names that core gives its parameters.
var fields = map[string]string{
	"text": "input", "lang": "language", "speaker": "voice", "instruct": "instructions",
	"ref_audio_24k": "ref_audio", "pcm_24k": "audio", "ref_spk_emb": "spk_b64", "ref_codes": "rvq_b64", "ref_text": "ref_text",
	"max_new_tokens": "max_new_tokens", "temperature": "temperature", "top_k": "top_k", "top_p": "top_p",
	"repetition_penalty": "repetition_penalty", "subtalker_temperature": "subtalker_temperature",
	"subtalker_top_k": "subtalker_top_k", "subtalker_top_p": "subtalker_top_p",
}

// blame finds the field that a message of core starts with, and puts the name there that clients know.
func blame(message string) (param, translated string) {
	names, rest, ok := strings.Cut(message, ": ")
	if !ok {
		return "", message
	}
	first, _, _ := strings.Cut(names, ", ")
	param = fields[first]
	if param == "" {
		return "", message
	}
	return param, param + ": " + rest
}

// explain makes an answer of whatever went wrong. The context is that of the request, and tells who cancelled it.
func explain(ctx context.Context, err error) *apiError {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return &apiError{status: http.StatusServiceUnavailable, kind: serverError, code: "timeout", message: errTimeout.Error(), cause: err}
	case errors.Is(cause, errShutdown), errors.Is(err, core.ErrClosed):
		e := unavailable("shutting_down", errShutdown.Error(), time.Second)
		e.cause = err
		return e
	case cause != nil, errors.Is(err, errGone):
		return &apiError{status: statusGone, kind: invalidRequest, code: "client_closed_request", message: errGone.Error(), cause: err}
	}
	return explainCore(err)
}

// statusGone is what the log and the metrics say of a request whose client went away; nobody receives it.
const statusGone = 499

func explainCore(err error) *apiError {
	param, message := blame(err.Error())
	switch {
	case errors.Is(err, core.ErrInvalid):
		return &apiError{status: http.StatusBadRequest, kind: invalidRequest, code: "invalid_value", param: param, message: message, cause: err}
	case errors.Is(err, core.ErrMode):
		return &apiError{status: http.StatusBadRequest, kind: invalidRequest, code: "mode_invalid", param: param, message: message, cause: err}
	case errors.Is(err, core.ErrUnsupported):
		return &apiError{status: http.StatusBadRequest, kind: invalidRequest, code: "unsupported", param: param, message: message, cause: err}
	case errors.Is(err, core.ErrMemory):
		return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "out_of_memory", message: err.Error(), cause: err}
	}
	return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "generation_failed", message: err.Error(), cause: err}
}

// body is the error as JSON; all four keys are always there.
func (e *apiError) body() []byte {
	type fields struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	b, _ := json.Marshal(map[string]fields{"error": {e.message, e.kind, orNull(e.param), orNull(e.code)}}) // strings always encode
	return append(b, '\n')
}

// write sends the error. OpenAI's clients try again after any 429 or 5xx, which costs the server the same work again:
// they are told whether that is of use.
func (e *apiError) write(w http.ResponseWriter) {
	h := w.Header()
	body := e.body()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if e.challenge != "" {
		h.Set("WWW-Authenticate", e.challenge)
	}
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retryAfter.Seconds()))))
	} else if e.status == http.StatusTooManyRequests || e.status >= http.StatusInternalServerError || e.status == http.StatusRequestTimeout {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // who is gone needs no answer
}
