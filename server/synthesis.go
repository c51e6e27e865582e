package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// synthesis is one speech request from its plan to its last byte.
type synthesis struct {
	server  *Server
	model   *model
	request core.Request
	format  audio.Format
	speed   float64
	stream  bool   // sent as it is made
	events  bool   // as server-sent events
	voice   string // name of the voice, "" if there is none
	random  bool   // whether the seed was drawn
	pieces  core.LongOptions

	warnings []string
	arrived  time.Time
	queued   time.Duration // spent in the line
	started  time.Time     // when the engine was called

	first chan struct{} // closed when the first audio is on its way to the client
	done  chan struct{} // closed when the engine is through; then these are set:
	total core.Result
	err   error
}

// plan makes a synthesis of a request, or tells why there is none. Nothing is computed yet.
func (m *model) plan(ctx context.Context, r *speechRequest) (*synthesis, error) {
	s := m.server
	y := &synthesis{server: s, model: m, arrived: time.Now(), first: make(chan struct{}), done: make(chan struct{})}
	if err := r.checkLength(s.opts.MaxInput); err != nil {
		return nil, err
	}
	if err := r.checkTask(m.kind); err != nil {
		return nil, err
	}
	if err := y.choose(r); err != nil {
		return nil, err
	}
	req := &y.request
	*req = m.engine.DefaultRequest()
	if err := r.apply(req); err != nil {
		return nil, err
	}
	if most := s.opts.MaxFrames; most > 0 && req.MaxFrames > most {
		if r.maxFrames != nil {
			return nil, refuse("max_new_tokens", "invalid_value", "max_new_tokens: %d, at most %d are allowed here", req.MaxFrames, most)
		}
		req.MaxFrames = most
	}
	if r.maxFrames != nil {
		y.pieces.PieceFrames = req.MaxFrames // else what the text should take, and plenty
	}
	req.Text, req.Language, req.Stream = r.input, r.language, y.stream
	if req.Language == "" {
		req.Language = s.opts.Language
	}
	if y.random = req.Seed < 0; y.random {
		req.Seed = randomSeed()
	}
	var err error
	if y.voice, y.warnings, err = m.cast(ctx, r, req); err != nil {
		return nil, err
	}
	return y, m.engine.CheckLong(ctx, req, y.pieces)
}

// choose settles the format and whether it streams.
func (y *synthesis) choose(r *speechRequest) (err error) {
	if y.format, err = findFormat(r.responseFormat); err != nil {
		return err
	}
	y.events = r.streamFormat == "sse"
	y.stream = y.events || streams(y.format)
	if y.speed = 1; r.speed != nil {
		y.speed = *r.speed
	}
	if err := audio.CheckSpeed(y.speed); err != nil {
		code := "invalid_speed"
		if errors.Is(err, audio.ErrNoLibrary) {
			code = "unsupported"
		}
		return refuse("speed", code, "%v", err)
	}
	if r.stream != nil {
		y.stream = *r.stream
	}
	return nil
}

// randomSeed is not negative and exact in JavaScript.
func randomSeed() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}

// start lets the engine speak into w on a goroutine of its own, which gives the slot in the line back: a client that is
// gone does not wait for the engine, and the engine does not wait for a client.
func (y *synthesis) start(ctx context.Context, w io.Writer) {
	y.server.speaking.Add(1)
	y.started = time.Now()
	go func() {
		defer y.server.speaking.Done()
		y.err = y.run(ctx, w)
		y.server.metrics.computed(y, y.err)
		y.server.line.leave(time.Since(y.started))
		y.server.stuck.remove(y)
		close(y.done)
		if sp, ok := w.(*spool); ok {
			sp.end(y.err)
		}
	}()
}

// run speaks. A fault of the program in here must not end the process, as it would on a goroutine of its own.
func (y *synthesis) run(ctx context.Context, w io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			y.server.log.Error("panic in a synthesis", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("internal error")
		}
	}()
	out := &outlet{format: y.format, speed: y.speed, to: w}
	defer out.discard()
	total, err := y.model.engine.SynthesizeLong(ctx, &y.request, y.pieces, func(pcm []float32) error {
		if err := out.write(pcm); err != nil {
			return err
		}
		return y.awaitFirst(ctx, w)
	})
	y.total = total.Result
	if err != nil {
		return err
	}
	if err := out.close(); err != nil {
		return err
	}
	if out.file == nil {
		return y.silent()
	}
	return nil
}

// awaitFirst holds the engine until the first audio of a stream was sent, so that nothing is computed before that. Some
// encoders give nothing for the first frames.
func (y *synthesis) awaitFirst(ctx context.Context, w io.Writer) error {
	if out, ok := w.(*spool); !ok || !out.used() {
		return nil
	}
	select {
	case <-y.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silent is the answer if the model ended the speech at once. With another seed it may speak.
func (y *synthesis) silent() error {
	e := &apiError{status: 500, kind: serverError, code: "no_audio", message: "the model ended the speech before its first frame; another seed may help"}
	if y.random {
		e.retryAfter = time.Second
	}
	return e
}

// watch reports an engine that does not come back from a request that is over.
func (y *synthesis) watch() {
	y.server.stuck.add(y)
	select {
	case <-y.done:
		y.server.stuck.remove(y)
	default:
	}
}

// attrs are what the log says of a synthesis.
func (y *synthesis) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("format", formatName(y.format)), slog.Bool("stream", y.stream), slog.String("voice", y.voice),
		slog.Int("characters", utf8.RuneCountInString(y.request.Text)), slog.Duration("queued", y.queued)}
	select {
	case <-y.done:
	default:
		return attrs
	}
	r := &y.total
	attrs = append(attrs, slog.Int64("seed", r.Seed), slog.Int("frames", r.Frames), slog.String("finish", string(r.Finish)))
	if r.Samples > 0 {
		attrs = append(attrs, slog.Duration("first_audio", y.queued+r.Timings.FirstAudio), slog.Float64("rtf", r.Timings.Total.Seconds()/seconds(r.Samples)))
	}
	return attrs
}

func seconds(samples int) float64 { return float64(samples) / core.SampleRate }
