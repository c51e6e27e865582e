package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
)

// load reads how many requests run and wait.
func (r *rig) load() (running, waiting int) {
	r.t.Helper()
	var h struct{ Running, Waiting int }
	require.NoError(r.t, json.Unmarshal(r.get("/health").body, &h))
	return h.Running, h.Waiting
}

func (r *rig) waitForLoad(running, waiting int) {
	r.t.Helper()
	eventually(r.t, "running "+strconv.Itoa(running)+", waiting "+strconv.Itoa(waiting), func() bool {
		a, b := r.load()
		return a == running && b == waiting
	})
}

// background sends a request whose answer comes later.
func (r *rig) background(ctx context.Context, body any) <-chan *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/v1/audio/speech", jsonBody(r.t, body))
	require.NoError(r.t, err)
	done := make(chan *http.Response, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			res = nil
		} else {
			r.t.Cleanup(func() { res.Body.Close() })
		}
		done <- res
	}()
	return done
}

func TestAFullQueueTurnsAway(t *testing.T) {
	e, _, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.MaxQueue = 2 })
	var answers []<-chan *http.Response
	for i := range 3 {
		answers = append(answers, r.background(t.Context(), hello()))
		r.waitForLoad(1, i)
	}
	a := r.say(hello())
	a.wants(t, 429, "", "queue_full")
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	assert.Positive(t, after)
	assert.Empty(t, a.header.Get("X-Should-Retry"))
	release()
	for _, c := range answers {
		res := <-c
		require.NotNil(t, res)
		assert.Equal(t, 200, res.StatusCode)
		_, err := io.Copy(io.Discard, res.Body)
		assert.NoError(t, err)
	}
	r.waitForLoad(0, 0)
	assert.Equal(t, 200, r.say(hello()).status)
}

func TestNoQueueAtAll(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.MaxQueue = -1 })
	r.background(t.Context(), hello())
	eventually(t, "at the engine", func() bool { return entered.Load() == 1 })
	r.say(hello()).wants(t, 429, "", "queue_full")
}

func TestFirstComeFirstServed(t *testing.T) {
	e, _, release := blocked()
	defer release()
	r := start(t, e)
	var group sync.WaitGroup
	for i := range 6 {
		c := r.background(t.Context(), hello("seed", i))
		group.Go(func() { assert.NotNil(t, <-c) })
		r.waitForLoad(1, i)
	}
	release()
	group.Wait()
	r.waitForLoad(0, 0)
	for i, q := range e.requests {
		assert.EqualValues(t, i, q.Seed)
	}
}

func TestSlots(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.Slots = 3 })
	for range 4 {
		r.background(t.Context(), hello())
	}
	r.waitForLoad(3, 1)
	eventually(t, "three at the engine", func() bool { return entered.Load() == 3 })
}

func TestWaitingTooLong(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.QueueTimeout = 20 * time.Millisecond })
	r.background(t.Context(), hello())
	eventually(t, "at the engine", func() bool { return entered.Load() == 1 })
	a := r.say(hello())
	a.wants(t, 503, "", "queue_timeout")
	assert.NotEmpty(t, a.header.Get("Retry-After"))
	r.waitForLoad(1, 0)
}

func TestTakingTooLong(t *testing.T) {
	e, _, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.RequestTimeout = 20 * time.Millisecond })
	for _, format := range []string{"wav", "pcm"} {
		a := r.say(hello("response_format", format))
		a.wants(t, 503, "", "timeout")
		assert.Equal(t, "false", a.header.Get("X-Should-Retry"), "it would take as long again")
	}
	r.waitForLoad(0, 0)
}

// A client that goes away frees its place, whatever is done for it.
func TestDisconnect(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e)
	t.Run("at the engine", func(t *testing.T) {
		for i, body := range []object{hello("response_format", "wav"), hello("response_format", "pcm"), hello("stream_format", "sse")} {
			ctx, cancel := context.WithCancel(t.Context())
			r.background(ctx, body)
			eventually(t, "at the engine", func() bool { return int(entered.Load()) == i+1 })
			cancel()
			r.waitForLoad(0, 0)
		}
	})
	t.Run("in the queue", func(t *testing.T) {
		first, free := context.WithCancel(t.Context())
		defer free()
		r.background(first, hello())
		r.waitForLoad(1, 0)
		ctx, cancel := context.WithCancel(t.Context())
		r.background(ctx, hello())
		r.waitForLoad(1, 1)
		before := e.calls()
		cancel()
		r.waitForLoad(1, 0)
		free()
		r.waitForLoad(0, 0)
		assert.Equal(t, before, e.calls(), "who was gone never reached the engine")
	})
}

func TestDisconnectWhileStreaming(t *testing.T) {
	ended := make(chan error, 1)
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		r, err := frames(ctx, 1_000_000, emit, func(int) error { time.Sleep(time.Millisecond); return nil })
		ended <- err
		return r, err
	}
	r := start(t, e)
	for _, body := range []object{hello("response_format", "pcm"), hello("stream_format", "sse")} {
		c := r.dial()
		c.send("POST", "/v1/audio/speech", body)
		require.Equal(t, 200, c.head(bufio.NewReader(c)))
		c.Close()
		assert.ErrorIs(t, <-ended, context.Canceled)
		r.waitForLoad(0, 0)
	}
}

func TestDisconnectWhileRegistering(t *testing.T) {
	ended, begun := make(chan error, 1), make(chan struct{})
	e := &fake{kind: "base", listen: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}}
	r := start(t, e)
	c := r.dial()
	c.send("POST", "/v1/audio/voices", object{"name": "anna", "wav_b64": b64(recording(t))})
	<-begun
	c.Close()
	assert.ErrorIs(t, <-ended, context.Canceled)
	r.waitForLoad(0, 0)
	assert.Empty(t, r.voices())
}

// The engine does not wait for who reads slowly.
func TestSlowReader(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	long := true
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		n := 3
		if long {
			n = 4000 // 15 MB, more than sockets hold
		}
		return frames(ctx, n, emit, nil)
	}
	var log testenv.Buffer
	r := start(t, e, func(o *server.Options) { o.WriteTimeout, o.Logger = 500*time.Millisecond, textLog(&log) })
	res, err := http.Post(r.url+"/v1/audio/speech", "application/json", jsonBody(t, hello("response_format", "pcm")))
	require.NoError(t, err)
	defer res.Body.Close()
	r.waitForLoad(0, 0) // all is spoken, while nothing was read
	long = false
	assert.Equal(t, 200, r.say(hello()).status)
	eventually(t, "both requests are over", func() bool { return strings.Count(log.String(), "path=/v1/audio/speech") == 2 })
	n, err := io.Copy(io.Discard, res.Body)
	assert.Error(t, err, "a client that stands still is given up")
	assert.Less(t, n, int64(4000*2*hop))
}

// A client may take its time if it takes something, as one does that plays while it reads: time runs anew for each piece.
func TestSteadyReader(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		return frames(ctx, 400, emit, nil)
	}
	r := start(t, e)
	for _, format := range []string{"wav", "pcm"} {
		w := &patient{ResponseRecorder: httptest.NewRecorder(), t: t}
		r.srv.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/audio/speech", jsonBody(t, hello("response_format", format))))
		require.Equal(t, 200, w.Code)
		assert.GreaterOrEqual(t, w.Body.Len(), 400*2*hop)
		assert.GreaterOrEqual(t, w.deadlines, 400*2*hop>>15)
	}
}

// patient counts the deadlines that it is given.
type patient struct {
	*httptest.ResponseRecorder
	t         *testing.T
	deadlines int
}

func (p *patient) SetReadDeadline(time.Time) error { return nil }
func (p *patient) SetWriteDeadline(d time.Time) error {
	assert.True(p.t, d.After(time.Now()))
	p.deadlines++
	return nil
}

func (p *patient) Write(b []byte) (int, error) {
	assert.LessOrEqual(p.t, len(b), 32<<10)
	return p.ResponseRecorder.Write(b)
}

func TestLoading(t *testing.T) {
	r := start(t, nil)
	a := r.get("/health")
	assert.Equal(t, 503, a.status)
	assert.Contains(t, string(a.body), `"loading"`)
	for _, a := range []answer{r.say(hello()), r.get("/v1/models"), r.get("/v1/audio/voices"), r.get("/v1/audio/models")} {
		a.wants(t, 503, "", "model_loading")
		assert.NotEmpty(t, a.header.Get("Retry-After"))
	}
	require.NoError(t, r.srv.Use(&fake{speakers: []string{"vivian"}}, "late"))
	a = r.get("/health")
	assert.Equal(t, 200, a.status)
	assert.Contains(t, string(a.body), `"ok"`)
	assert.Equal(t, 200, r.say(hello()).status)
}

func TestShutdownDrains(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e)
	running, waiting := r.background(t.Context(), hello()), r.background(t.Context(), hello())
	eventually(t, "at the engine", func() bool { return entered.Load() == 1 })
	r.waitForLoad(1, 1)
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(context.Background()) }()
	eventually(t, "not healthy", func() bool { return r.get("/health").status == 503 })
	a := r.say(hello())
	a.wants(t, 503, "", "shutting_down")
	assert.NotEmpty(t, a.header.Get("Retry-After"))
	release()
	for _, c := range []<-chan *http.Response{running, waiting} {
		res := <-c
		require.NotNil(t, res)
		assert.Equal(t, 200, res.StatusCode)
		_, err := io.Copy(io.Discard, res.Body)
		assert.NoError(t, err)
	}
	assert.NoError(t, <-done)
}

func TestShutdownCancels(t *testing.T) {
	e, _, release := blocked()
	defer release()
	r := start(t, e)
	running, waiting := r.background(t.Context(), hello()), r.background(t.Context(), hello())
	r.waitForLoad(1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.srv.Shutdown(ctx))
	for _, c := range []<-chan *http.Response{running, waiting} {
		res := <-c
		require.NotNil(t, res)
		assert.Equal(t, 503, res.StatusCode)
		body, _ := io.ReadAll(res.Body)
		assert.Contains(t, string(body), "shutting_down")
	}
}

// A device that hangs makes the server say so, and turns requests away instead of keeping them for ever.
func TestAnEngineThatHangs(t *testing.T) {
	gate := make(chan struct{})
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(context.Context, *core.Request, func([]float32) error) (core.Result, error) {
		<-gate // deaf to its context
		return core.Result{}, errors.New("at last")
	}
	r := start(t, e, func(o *server.Options) {
		o.RequestTimeout, o.QueueTimeout, o.StuckAfter = 20*time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	})
	r.say(hello()).wants(t, 503, "", "timeout")
	eventually(t, "degraded", func() bool { a := r.get("/health"); return a.status == 503 && string(a.body[:1]) == "{" })
	assert.Contains(t, string(r.get("/health").body), `"degraded"`)
	assert.Equal(t, 503, r.say(hello()).status)
	close(gate)
	eventually(t, "recovered", func() bool { return r.get("/health").status == 200 })
}
