// Package server speaks over HTTP, in the manner of OpenAI's API: POST /v1/audio/speech and what goes with it.
//
//	srv, err := server.New(server.Options{})
//	go http.Serve(listener, srv.Handler()) // answers /health while the model loads
//	err = srv.Use(engine, "qwen3-tts")
//	…
//	srv.Shutdown(ctx) // lets the requests under way end
//
// docs/server.md describes the interface.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
)

// Options say how to serve. The zero value of a field means its default.
type Options struct {
	Keys         []string // API keys; none: anybody may call
	CORSOrigins  []string // web pages of other origins that may call: "https://example.org", or "*"
	AllowedHosts []string // what requests may be addressed to, beside localhost and the server's own address; none, or "*": anything

	VoicesDir    string            // where registered voices are kept; "": in memory
	MaxVoices    int               // registered voices; 0 = 1000
	Aliases      map[string]string // other names of voices, beside OpenAI's
	DefaultVoice string            // what a request without a voice gets; "": the model decides, if it can
	Language     string            // of requests that name none; "" = auto

	ReferenceDir  string   // folder whose files clients may name as ref_audio; "": none
	ReferenceURLs []string // what addresses that clients may name as ref_audio must start with

	MaxInput  int   // characters of a text; 0 = 20000
	MaxFrames int   // frames of a piece of a text that a client may ask for; 0 = the model's own limit
	MaxBody   int64 // bytes of a body; 0 = 32 MiB
	Strict    bool  // refuse fields that are not known, and the names of OpenAI's voices if no alias was made for them

	Slots          int           // requests at the engine at a time; 0 = 1
	MaxQueue       int           // requests that may wait; 0 = 32, negative = none
	QueueTimeout   time.Duration // longest wait; 0 = 2 minutes, negative = any
	RequestTimeout time.Duration // longest request; 0 = 10 minutes, negative = any
	BodyTimeout    time.Duration // longest wait for a body; 0 = 1 minute
	WriteTimeout   time.Duration // longest wait for a client to take what is sent to it; 0 = 1 minute
	StuckAfter     time.Duration // how long the engine may go on with a cancelled request before /health says degraded; 0 = 10 s

	Version string       // of the program, for the API's description
	Logger  *slog.Logger // nil logs nothing
}

const (
	defaultMaxVoices      = 1000
	defaultMaxInput       = 20000
	defaultMaxBody        = 32 << 20
	defaultMaxQueue       = 32
	defaultQueueTimeout   = 2 * time.Minute
	defaultRequestTimeout = 10 * time.Minute
	defaultBodyTimeout    = time.Minute
	defaultWriteTimeout   = time.Minute
	defaultStuckAfter     = 10 * time.Second
)

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	switch {
	case v == 0:
		return otherwise
	case v < 0:
		return 0
	}
	return v
}

// withDefaults resolves the zero values.
func (o Options) withDefaults() Options {
	o.MaxVoices = orDefault(o.MaxVoices, defaultMaxVoices)
	o.MaxInput = orDefault(o.MaxInput, defaultMaxInput)
	o.MaxBody = orDefault(o.MaxBody, defaultMaxBody)
	o.Slots = max(o.Slots, 1)
	o.MaxQueue = orDefault(o.MaxQueue, defaultMaxQueue)
	o.QueueTimeout = orDefault(o.QueueTimeout, defaultQueueTimeout)
	o.RequestTimeout = orDefault(o.RequestTimeout, defaultRequestTimeout)
	o.BodyTimeout = orDefault(o.BodyTimeout, defaultBodyTimeout)
	o.WriteTimeout = orDefault(o.WriteTimeout, defaultWriteTimeout)
	o.StuckAfter = orDefault(o.StuckAfter, defaultStuckAfter)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server answers requests, with a model once it has one.
type Server struct {
	opts       Options
	log        *slog.Logger
	keys       keys
	hosts      *hosts
	cross      *http.CrossOriginProtection
	references *references
	line       *line
	metrics    *metrics
	decoding   chan struct{} // held while a recording is decoded
	large      chan struct{} // held by requests while a large body of theirs is in memory
	stuck      stuck

	model atomic.Pointer[model] // nil while it loads

	base     context.Context // ends when requests must
	cancel   context.CancelCauseFunc
	mu       sync.Mutex // guards closing, and adding to running
	closing  bool
	running  sync.WaitGroup // requests
	speaking sync.WaitGroup // calls of the engine
}

// model is what a loaded model adds to the server.
type model struct {
	server  *Server
	engine  Engine
	id      string // as clients know it
	kind    string // Engine.ModelType
	is      voicefile.Identity
	created time.Time
	voices  *voices
}

// New checks the options. The server has no model yet: it answers that it is loading.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	refs, err := newReferences(opts.ReferenceDir, opts.ReferenceURLs, opts.MaxBody)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: opts, log: opts.Logger, keys: newKeys(opts.Keys), references: refs, decoding: make(chan struct{}, 1), large: make(chan struct{}, largeBodies),
		line: &line{slots: opts.Slots, room: opts.MaxQueue, patience: opts.QueueTimeout},
	}
	if s.hosts, err = newHosts(opts.AllowedHosts); err != nil {
		return nil, err
	}
	if s.cross, err = crossOrigin(opts.CORSOrigins); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(s)
	s.base, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Use makes an engine speak, under that name; the voices that were registered for its model are read. The caller closes
// the engine, after Shutdown.
func (s *Server) Use(e Engine, id string) error {
	m := &model{server: s, engine: e, id: id, kind: e.ModelType(), is: voicefile.Identity(e.Identity()), created: time.Now()}
	var err error
	if m.voices, err = openVoices(s.opts.VoicesDir, s.opts.MaxVoices, m.is, s.log); err != nil {
		return err
	}
	if err := m.voices.checkWritable(); err != nil {
		s.log.Warn("voices cannot be registered", "error", err.Error())
	}
	if v := s.opts.DefaultVoice; v != "" && m.castOwn(v, &core.Request{}) == "" {
		return fmt.Errorf("default voice: there is no %q; %s", v, m.offer())
	}
	s.model.Store(m)
	s.log.Info("ready", "model", id, "kind", m.kind, "speakers", len(e.Speakers()), "voices", len(m.voices.list()))
	return nil
}

// ready returns the model, or the answer that there is none yet.
func (s *Server) ready() (*model, error) {
	if m := s.model.Load(); m != nil {
		return m, nil
	}
	return nil, unavailable("model_loading", "the model is being loaded", retryWhileLoading)
}

// begin counts a request in, unless the server is about to end; the request ends with running.Done.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.running.Add(1)
	return true
}

// Shutdown refuses new requests and lets those that wait or run end; when ctx ends, they are cancelled. It returns when
// the engine is no longer in use, or StuckAfter ctx ended if it then still is: closing it would wait for ever.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		s.speaking.Wait()
		close(done)
	}()
	defer s.references.close()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.cancel(errShutdown)
	select {
	case <-done:
		return nil
	case <-time.After(s.opts.StuckAfter):
		return errors.New("the engine did not stop")
	}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}
