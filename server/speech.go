package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// speech answers POST /v1/audio/speech.
func (s *Server) speech(w http.ResponseWriter, r *http.Request) error {
	arrived := time.Now()
	m, err := s.ready()
	if err != nil {
		return err
	}
	if err := wantJSON(r); err != nil {
		return err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	request, err := readSpeech(body, s.opts.Strict)
	if err != nil {
		return err
	}
	ctx, cancel := s.limit(r.Context())
	defer cancel()
	y, err := m.plan(ctx, request)
	if err != nil {
		return explain(ctx, err)
	}
	y.arrived = arrived
	exchangeOf(r.Context()).freeBody()
	return y.serve(ctx, w, r)
}

// limit is a request's context that also ends when it takes too long or the server must end.
func (s *Server) limit(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })
	release := func() {
		stop()
		cancel(errGone)
	}
	if s.opts.RequestTimeout == 0 {
		return ctx, release
	}
	ctx, free := context.WithTimeoutCause(ctx, s.opts.RequestTimeout, errTimeout)
	return ctx, func() {
		free()
		release()
	}
}

// serve waits for the turn and sends what is spoken.
func (y *synthesis) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) (err error) {
	s := y.server
	begin := time.Now()
	if err := s.line.enter(ctx); err != nil {
		s.metrics.turnedAway(err)
		return explain(ctx, err)
	}
	y.queued = time.Since(begin)
	defer func() {
		s.metrics.spoken(y, err)
		exchangeOf(r.Context()).note(y.attrs()...)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		cancel(errGone)
		y.watch()
	}()
	if y.stream {
		return y.sendStream(ctx, cancel, w)
	}
	return y.sendWhole(ctx, w)
}

// sendWhole sends the audio when all of it is there, with its exact size.
func (y *synthesis) sendWhole(ctx context.Context, w http.ResponseWriter) error {
	file := &audio.Buffer{}
	y.start(ctx, file)
	select {
	case <-y.done:
	case <-ctx.Done():
		return explain(ctx, ctx.Err())
	}
	if y.err != nil {
		return explain(ctx, y.err)
	}
	y.setHeaders(w.Header(), y.format.ContentType())
	for _, warning := range y.total.Warnings {
		warn(w.Header(), warning)
	}
	for name, value := range outcome(&y.total) {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(file.Bytes())))
	w.WriteHeader(http.StatusOK)
	return send(w, file.Bytes())
}

// sendStream sends the audio as it is made. The status waits for the first audio, so that whatever fails before it is
// an error to the client; what fails later ends the connection, or comes as an event.
func (y *synthesis) sendStream(ctx context.Context, cancel context.CancelCauseFunc, w http.ResponseWriter) error {
	out := newSpool()
	y.start(ctx, out)
	data, err := out.next(ctx, nil)
	if err != nil {
		return explain(ctx, err)
	}
	sender := y.sender(w)
	if err := sender.begin(); err != nil {
		return err
	}
	for once := y.first; ; {
		for piece := range slices.Chunk(data, sendBytes) {
			if err := sender.audio(piece); err != nil {
				cancel(err)
				return err
			}
		}
		if once != nil {
			close(once)
			once = nil
		}
		if data, err = out.next(ctx, data); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return sender.end()
	}
	return sender.fail(explain(ctx, err))
}

// send writes and flushes.
func send(w http.ResponseWriter, data []byte) error {
	_, err := w.Write(data)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		return aborted{err}
	}
	return nil
}

// aborted says that an answer was begun and cannot be completed: the connection must end as a broken one does.
type aborted struct{ error }

func (a aborted) Unwrap() error { return a.error }

// setHeaders says what is known before the audio.
func (y *synthesis) setHeaders(h http.Header, contentType string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies should not wait for more
	h.Set("X-Sample-Rate", strconv.Itoa(core.SampleRate))
	h.Set("X-Seed", strconv.FormatInt(y.request.Seed, 10))
	if y.voice != "" {
		h.Set("X-Voice", y.voice)
	}
	for _, w := range y.warnings {
		warn(h, w)
	}
}

// outcome says what is known after the audio.
func outcome(r *core.Result) map[string]string {
	return map[string]string{
		"X-Finish-Reason": string(r.Finish),
		"X-Frames":        strconv.Itoa(r.Frames),
	}
}

// warn adds a line that a header can carry.
func warn(h http.Header, text string) {
	h.Add("X-Warning", strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text))
}

// sender is a way to send a stream.
type sender interface {
	begin() error
	audio(data []byte) error
	end() error             // after all audio
	fail(e *apiError) error // when no more comes
}

func (y *synthesis) sender(w http.ResponseWriter) sender {
	if y.events {
		return &eventSender{y, w}
	}
	return &bodySender{y, w}
}

// bodySender sends the bytes of the audio as the body.
type bodySender struct {
	y *synthesis
	w http.ResponseWriter
}

func (b *bodySender) begin() error {
	b.y.setHeaders(b.w.Header(), b.y.format.ContentType())
	b.w.Header().Set("Trailer", "X-Finish-Reason, X-Frames")
	b.w.WriteHeader(http.StatusOK)
	return nil
}

func (b *bodySender) audio(data []byte) error { return send(b.w, data) }

func (b *bodySender) end() error {
	for name, value := range outcome(&b.y.total) {
		b.w.Header().Set(name, value)
	}
	return nil
}

// fail must not end the body as if it were complete.
func (b *bodySender) fail(e *apiError) error { return aborted{e} }
