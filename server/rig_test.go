package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
	"github.com/libqwen/libqwen/tests/golden"
)

const (
	custom = "tiny-customvoice-17"
	base   = "tiny-base-17"
	design = "tiny-voicedesign-17"

	hop = 1920 // samples of a frame

	// patience is how long a test waits for what must happen: on a busy machine, and only a failing test waits so long.
	patience = 5 * time.Minute
)

// tiny opens a tiny model until the test ends.
func tiny(tb testing.TB, model string) *core.Engine {
	tb.Helper()
	e, err := core.Open(core.Options{TalkerPath: golden.GGUF(tb, model, "F32"), CodecPath: golden.GGUF(tb, "tiny-tokenizer-12hz", "F32"),
		Threads: 1, GGMLDir: testenv.GGMLDir(tb)})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	return e
}

// fake is an engine that does what a test wants of it.
type fake struct {
	kind     string
	speakers []string
	speak    func(ctx context.Context, req *core.Request, emit func([]float32) error) (core.Result, error)

	plan   func()                          // before the line
	listen func(ctx context.Context) error // to a recording

	mu       sync.Mutex
	requests []core.Request
}

func (f *fake) CheckLong(context.Context, *core.Request, core.LongOptions) error {
	if f.plan != nil {
		f.plan()
	}
	return nil
}

func (f *fake) SynthesizeLong(ctx context.Context, req *core.Request, _ core.LongOptions, emit func([]float32) error) (core.LongResult, error) {
	f.mu.Lock()
	f.requests = append(f.requests, *req)
	f.mu.Unlock()
	speak := f.speak
	if speak == nil {
		speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
			return frames(ctx, 3, emit, nil)
		}
	}
	r, err := speak(ctx, req, emit)
	return core.LongResult{Result: r}, err
}

func (f *fake) ExtractVoice(ctx context.Context, _ []float32) (*core.Voice, error) {
	if f.listen != nil {
		return nil, f.listen(ctx)
	}
	return &core.Voice{XVector: []float32{1, 2}}, nil
}
func (f *fake) DefaultRequest() core.Request { return core.DefaultRequest() }
func (f *fake) Speakers() []string           { return f.speakers }
func (f *fake) Languages() []string          { return []string{"english"} }
func (f *fake) ModelType() string {
	if f.kind == "" {
		return "custom_voice"
	}
	return f.kind
}
func (f *fake) Identity() core.Identity {
	return core.Identity{Name: "fake", Width: 2, Codebooks: 16, CodebookSize: 2048}
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// frames emits n frames of a ramp; before each, step is called with its number.
func frames(ctx context.Context, n int, emit func([]float32) error, step func(i int) error) (core.Result, error) {
	r := core.Result{SampleRate: core.SampleRate, Finish: core.FinishStop, TextTokens: 4}
	pcm := make([]float32, hop)
	for i := range n {
		if step != nil {
			if err := step(i); err != nil {
				return r, err
			}
		}
		if err := ctx.Err(); err != nil {
			r.Finish = core.FinishCancelled
			return r, err
		}
		for j := range pcm {
			pcm[j] = float32(j%100) / 200
		}
		if err := emit(pcm); err != nil {
			r.Finish = core.FinishCancelled
			return r, err
		}
		r.Frames, r.Samples = i+1, r.Samples+hop
	}
	return r, nil
}

// rig is a server under test.
type rig struct {
	t   testing.TB
	srv *server.Server
	url string
}

// start serves an engine until the test ends; nil is one that still loads.
func start(t testing.TB, e server.Engine, change ...func(*server.Options)) *rig {
	t.Helper()
	opts := server.Options{}
	for _, c := range change {
		c(&opts)
	}
	srv, err := server.New(opts)
	require.NoError(t, err)
	if e != nil {
		require.NoError(t, srv.Use(e, "tiny"))
	}
	h := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, srv.Shutdown(ctx))
	})
	return &rig{t, srv, h.URL}
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
	end    error // of reading the body
	trail  http.Header
}

func (r *rig) do(method, path, contentType string, body io.Reader, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, body)
	require.NoError(r.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return r.send(req)
}

// send sends a request and reads the answer.
func (r *rig) send(req *http.Request) answer {
	r.t.Helper()
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, data, err, res.Trailer}
}

func (r *rig) get(path string, headers ...string) answer {
	r.t.Helper()
	return r.do(http.MethodGet, path, "", nil, headers...)
}

func (r *rig) post(path string, body any, headers ...string) answer {
	r.t.Helper()
	return r.do(http.MethodPost, path, "application/json", jsonBody(r.t, body), headers...)
}

// say posts a speech request.
func (r *rig) say(body any, headers ...string) answer {
	r.t.Helper()
	return r.post("/v1/audio/speech", body, headers...)
}

func jsonBody(t testing.TB, body any) io.Reader {
	t.Helper()
	switch b := body.(type) {
	case string:
		return strings.NewReader(b)
	case []byte:
		return bytes.NewReader(b)
	}
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return bytes.NewReader(data)
}

type object = map[string]any

// failure is the error of an answer, which must have all four keys.
func (a answer) failure(t testing.TB) (message, param, code string) {
	t.Helper()
	require.Equal(t, "application/json", a.header.Get("Content-Type"), "%s", a.body)
	var body map[string]map[string]any
	require.NoError(t, json.Unmarshal(a.body, &body), "%s", a.body)
	require.Len(t, body, 1)
	e := body["error"]
	for _, key := range []string{"message", "type", "param", "code"} {
		require.Contains(t, e, key)
	}
	require.NotEmpty(t, e["message"])
	require.NotEmpty(t, e["type"])
	require.NotEmpty(t, a.header.Get("X-Request-Id"))
	param, _ = e["param"].(string)
	code, _ = e["code"].(string)
	return e["message"].(string), param, code
}

// wants checks an error.
func (a answer) wants(t testing.TB, status int, param, code string) string {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	message, p, c := a.failure(t)
	assert.Equal(t, param, p, message)
	assert.Equal(t, code, c, message)
	return message
}

func (a answer) json(t testing.TB, into any) {
	t.Helper()
	require.Less(t, a.status, 300, "%s", a.body)
	require.NoError(t, json.Unmarshal(a.body, into), "%s", a.body)
}

// eventually waits for what happens on another goroutine.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// blocked is an engine that stands still until it is released or cancelled.
func blocked() (e *fake, entered *atomic.Int32, release func()) {
	gate := make(chan struct{})
	entered = &atomic.Int32{}
	e = &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		entered.Add(1)
		select {
		case <-gate:
			return frames(ctx, 2, emit, nil)
		case <-ctx.Done():
			return core.Result{Finish: core.FinishCancelled}, ctx.Err()
		}
	}
	return e, entered, sync.OnceFunc(func() { close(gate) })
}
