package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// route is a place of the API.
type route struct {
	pattern string
	open    bool // needs no API key
	methods map[string]handler
}

// handler answers a request, or returns why not: an *apiError, if nothing was sent yet.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() []route {
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	return []route{
		{"/v1/audio/speech", false, map[string]handler{http.MethodPost: s.speech}},
		{"/v1/audio/voices", false, map[string]handler{http.MethodGet: s.listVoices, http.MethodPost: s.addVoice}},
		{"/v1/audio/voices/{name}", false, map[string]handler{http.MethodGet: s.getVoice, http.MethodDelete: s.removeVoice}},
		{"/v1/audio/models", false, get(s.audioModels)},
		{"/v1/models", false, get(s.listModels)},
		{"/v1/models/{id...}", false, get(s.getModel)},
		{"/health", true, get(s.health)},
		{"/metrics", false, get(s.metrics.serve)},
		{"/openapi.json", true, get(s.openAPI)},
		{"/{$}", true, get(s.page)},
		{"/page/{file}", true, get(s.page)},
	}
}

// Handler answers all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.pattern, s.wrap(r.pattern, r.open, r.method))
	}
	mux.HandleFunc("/", s.wrap("", false, func(_ http.ResponseWriter, r *http.Request) error {
		return notFound("", "not_found", "there is nothing at %s", r.URL.Path)
	}))
	return mux
}

// method finds the handler of a request.
func (r route) method(w http.ResponseWriter, req *http.Request) error {
	name := req.Method
	if name == http.MethodHead {
		name = http.MethodGet
	}
	if h := r.methods[name]; h != nil {
		return h(w, req)
	}
	var allowed []string
	for m := range r.methods {
		if allowed = append(allowed, m); m == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	e := refuse("", "method_not_allowed", "%s is not for %s, but %s", req.URL.Path, req.Method, strings.Join(allowed, ", "))
	e.status = http.StatusMethodNotAllowed
	return e
}

// wrap does for every place what is the same everywhere: the id, the log, who may call, and errors as answers.
func (s *Server) wrap(pattern string, open bool, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w, server: s, id: requestID(r), begin: time.Now()}
		x.Header().Set("X-Request-Id", x.id)
		x.Header().Set("X-Content-Type-Options", "nosniff")
		_ = http.NewResponseController(w).SetReadDeadline(x.begin.Add(s.opts.BodyTimeout))
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		defer x.freeBody()
		stop := s.hurryAtTheEnd(x)
		err := s.guard(x, r, open, h)
		if x.status != 0 && err != nil && !errors.As(err, new(sent)) {
			err = aborted{err}
		}
		s.finish(x, r, pattern, err)
		stop()
		if errors.As(err, new(aborted)) {
			panic(http.ErrAbortHandler) // the only way to end a connection so that the client sees it break
		}
	}
}

// guard lets a request in, or not, and catches what should not happen.
func (s *Server) guard(x *exchange, r *http.Request, open bool, h handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "id", x.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &apiError{status: http.StatusInternalServerError, kind: serverError, code: "internal_error", message: "internal error"}
		}
	}()
	if err := s.hosts.check(r); err != nil {
		return err
	}
	if s.cors(x, r) {
		return nil
	}
	if err := s.checkOrigin(r); err != nil {
		return err
	}
	if !open {
		if err := s.keys.check(r); err != nil {
			return err
		}
	}
	if r.Method == http.MethodPost || r.Method == http.MethodDelete {
		if !s.begin() {
			return unavailable("shutting_down", errShutdown.Error(), time.Second)
		}
		defer s.running.Done()
	}
	return h(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// finish answers an error, if that still can be, and logs.
func (s *Server) finish(x *exchange, r *http.Request, pattern string, err error) {
	var failure *apiError
	switch {
	case err == nil, errors.As(err, new(sent)):
		errors.As(err, &failure)
	case errors.As(err, new(aborted)):
		if !errors.As(err, &failure) {
			failure = &apiError{status: statusGone, message: err.Error()}
		}
	default:
		if !errors.As(err, &failure) {
			failure = explainCore(err)
		}
		failure.write(x)
	}
	status := cmp.Or(x.status, http.StatusOK)
	s.metrics.answered(pattern, r.Method, status)
	s.logRequest(x, r, status, failure)
}

func (s *Server) logRequest(x *exchange, r *http.Request, status int, failure *apiError) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("id", x.id), slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.Duration("took", time.Since(x.begin)), slog.Int64("bytes", x.bytes), slog.String("from", r.RemoteAddr)}
	attrs = append(attrs, x.attrs...)
	if failure != nil {
		attrs = append(attrs, slog.String("code", failure.code), slog.String("error", failure.message))
		if failure.status >= http.StatusInternalServerError {
			level = slog.LevelError
			if failure.cause != nil && failure.cause.Error() != failure.message {
				attrs = append(attrs, slog.String("cause", failure.cause.Error()))
			}
		}
	}
	if r.URL.Path == "/health" || r.URL.Path == "/metrics" {
		level = slog.LevelDebug // they come all the time
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// exchange is one request and its answer, as the log sees them.
type exchange struct {
	http.ResponseWriter
	server *Server
	id     string
	begin  time.Time
	status int // 0: nothing was sent
	bytes  int64
	attrs  []slog.Attr
	large  bool // holds one of the server's places for large bodies
}

type exchangeKey struct{}

// exchangeOf is the exchange that a handler's context belongs to.
func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// note adds to what the log says of a request.
func (x *exchange) note(attrs ...slog.Attr) { x.attrs = append(x.attrs, attrs...) }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (n int, err error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	for piece := range slices.Chunk(p, sendBytes) {
		x.allowWriting()
		m, err := x.ResponseWriter.Write(piece)
		n, x.bytes = n+m, x.bytes+int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// sendBytes are sent at a time, a number of whole samples. A client that plays while it reads takes some of it within
// a second, however much is waiting.
const sendBytes = 32 << 10

// allowWriting gives the client time to take what is written next: it may read slowly, but not stand still.
func (x *exchange) allowWriting() {
	c := http.NewResponseController(x.ResponseWriter)
	if limit := x.server.opts.WriteTimeout; limit > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(limit))
	}
	if x.server.base.Err() != nil {
		_ = c.SetWriteDeadline(time.Now().Add(lastWords))
	}
}

// lastWords is what a client has left to take its answer when the server must end.
const lastWords = time.Second

// hurryAtTheEnd shortens the wait for a client that does not take its answer, once the server must end; the request
// calls stop when it is over.
func (s *Server) hurryAtTheEnd(x *exchange) (stop func()) {
	over := make(chan struct{})
	unset := context.AfterFunc(s.base, func() {
		x.allowWriting()
		close(over)
	})
	return func() {
		if !unset() {
			<-over // the connection may be another request's from then on
		}
	}
}

// Unwrap lets http.ResponseController reach what is beneath.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

var goodID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID is the client's, if it is one that can stand in a log, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); goodID.MatchString(id) {
		return id
	}
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "req_" + hex.EncodeToString(b[:])
}

// sendJSON answers with a value.
func sendJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who is gone needs no answer
	return nil
}
