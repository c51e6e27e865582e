package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// defaultPlaces is how many items are computed together if --concurrency does not say.
const defaultPlaces = 8

// A batch speaks the items of --batch, several at a time. Everything is kept in the folder of --out-dir: two files an
// item, each of which appears when it is complete, so that a run that ended early can be taken up by another.
type batch struct {
	s     *session
	dir   string
	todo  []*item
	total int // lines that ask for something
	done  int // before this run

	mu       sync.Mutex
	failures []failure
	tally    tally
	show     func() // draws the bar; nil: there is none
	fatal    error  // ends the run
}

// A failure is an item without audio, or a line that is no item.
type failure struct {
	line int
	id   string
	err  error
}

func (f failure) String() string {
	who := fmt.Sprintf("line %d", f.line)
	if f.id != "" {
		who += fmt.Sprintf(" (%s)", f.id)
	}
	return who + ": " + strings.Join(strings.Fields(f.err.Error()), " ")
}

// tally is what this run has done.
type tally struct {
	start         time.Time
	through       int     // items
	spoken, notes int     // those with audio, those with warnings
	audio         float64 // seconds
	frames, left  int     // as estimated from the texts: of what is through, and of the rest
}

// errFailFast ends what is under way after a failure.
var errFailFast = errors.New("stopped by --fail-fast")

// speakBatch is the work of --batch.
func (s *session) speakBatch(ctx context.Context) error {
	b := &batch{s: s, dir: s.options.outDir}
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return cli.IOError{Err: fmt.Errorf("--out-dir: %w", err)}
	}
	if err := b.read(ctx); err != nil {
		return fmt.Errorf("--batch: %w", err)
	}
	if err := b.sift(ctx); err != nil {
		return err
	}
	if len(b.todo) > 0 && !b.stopping() {
		if err := b.speak(ctx); err != nil {
			b.list()
			return err
		}
	}
	b.list()
	return b.conclude(ctx)
}

// read makes items of all lines.
func (b *batch) read(ctx context.Context) error {
	in, folder := b.s.app.stdin, ""
	if path := b.s.options.batch; path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return cli.IOError{Err: err}
		}
		defer f.Close()
		in, folder = f, filepath.Dir(path)
	}
	reader := newItemReader(b.s.options, folder)
	return cli.Lines(ctx, in, func(n int, line string, err error) error {
		b.total++
		it := &item{line: n}
		if err == nil {
			it, err = reader.read(n, line)
		}
		if err != nil {
			b.failures = append(b.failures, failure{n, it.id, err})
		} else {
			b.todo = append(b.todo, it)
		}
		return nil
	})
}

// sift leaves the items that have to be spoken. The models are looked at, but not loaded.
func (b *batch) sift(ctx context.Context) error {
	if len(b.todo) == 0 {
		return nil
	}
	s := b.s
	s.options.itemsMode = b.todo[0].options.impliedMode()
	if err := s.fetch(ctx); err != nil {
		return err
	}
	models, err := s.models()
	if err != nil {
		return err
	}
	h, err := newHasher(models, s.options, s.changed)
	if err != nil {
		return cli.ModelError{Err: err}
	}
	b.todo = slices.DeleteFunc(b.todo, func(it *item) bool {
		it.hash = h.of(it)
		return isDone(b.dir, it)
	})
	b.done = b.total - len(b.failures) - len(b.todo)
	return ctx.Err()
}

// models are those that speak.
func (s *session) models() ([]core.Options, error) {
	all := []core.Options{s.model()}
	if s.options.design != "" {
		all = append(all, s.base())
	}
	for i, opts := range all {
		found, err := core.FindModel(opts)
		if err != nil {
			return nil, err
		}
		all[i] = found
	}
	return all, nil
}

// speak opens the model and speaks the items.
func (b *batch) speak(ctx context.Context) error {
	s := b.s
	if s.places = s.options.concurrency; s.places == 0 {
		s.places = min(defaultPlaces, len(b.todo))
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.engine.Close()
	defer b.watch()()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	items := make(chan *item)
	var workers sync.WaitGroup
	for range min(s.places, len(b.todo)) {
		workers.Go(func() {
			for it := range items {
				if b.settle(ctx, it); b.stopping() {
					stop(errFailFast)
				}
			}
		})
	}
	for _, it := range b.todo {
		select {
		case items <- it:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(items)
	workers.Wait()
	return nil
}

// stopping tells whether nothing more is to be begun.
func (b *batch) stopping() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fatal != nil || b.s.options.failFast && len(b.failures) > 0
}

// claimPoll is how often is looked whether another run is through with an item.
const claimPoll = 200 * time.Millisecond

// claim starts the file of an item's audio, as the only one that writes it: another run in the same folder that speaks the item is
// waited for. Neither a file nor an error: it has spoken it, or ctx has ended.
func (b *batch) claim(ctx context.Context, it *item) (*atomicfile.File, error) {
	for {
		out, err := atomicfile.CreateAlone(filepath.Join(b.dir, it.audio()))
		switch {
		case isDone(b.dir, it): // meanwhile
			if err == nil {
				out.Discard()
			}
			return nil, nil
		case !errors.Is(err, atomicfile.ErrTaken):
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(claimPoll):
		}
	}
}

// skip takes into account that another run has spoken an item.
func (b *batch) skip(it *item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	b.count(it, &itemResult{})
}

// settle speaks an item and writes what became of it. One that is stopped leaves nothing.
func (b *batch) settle(ctx context.Context, it *item) {
	out, claimed := b.claim(ctx, it)
	if out == nil && claimed == nil {
		if ctx.Err() == nil {
			b.skip(it)
		}
		return
	}
	if out != nil {
		defer out.Discard()
	}
	err := clearResult(b.dir, it)
	var r itemResult
	if err == nil {
		r = b.perform(ctx, it, out, claimed)
		if !r.OK && ctx.Err() != nil {
			return
		}
		err = r.write(b.dir, it)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(it, &r)
	switch {
	case err != nil && b.fatal == nil:
		b.fatal = cli.IOError{Err: err}
	case !r.OK:
		b.failures = append(b.failures, failure{it.line, it.id, errors.New(r.Error.Message)})
		if b.s.options.verbose {
			b.s.app.console.Linef("failed: %s", b.failures[len(b.failures)-1])
		}
	}
}

// perform speaks an item into its file; err: there is none.
func (b *batch) perform(ctx context.Context, it *item, out *atomicfile.File, err error) itemResult {
	p := newPerformance(b.s, it)
	if err != nil {
		err = cli.IOError{Err: err}
	} else {
		err = p.run(ctx, out)
	}
	r := itemResult{
		ID: it.id, OK: err == nil, Format: it.format.String(), Hash: it.hash, Version: cli.Banner(version),
		Pieces: p.pieces, Warnings: p.warnings(), Profile: p.result.Profile(),
	}
	if err != nil {
		err = asFields(err)
		r.Error = &itemError{Kind: errorKinds[cli.ExitCode(context.WithoutCancel(ctx), err)], Message: err.Error()}
		return r
	}
	r.Audio, r.Bytes = it.audio(), p.bytes
	r.Seconds = seconds(&p.result) / float64(it.options.speed)
	return r
}

// A performance is an item being spoken. Its session is the batch's with the item's options and a console that keeps
// what it is told.
type performance struct {
	session
	batch  *session
	item   *item
	told   bytes.Buffer
	result core.Result
	pieces int
	bytes  int64
}

func newPerformance(s *session, it *item) *performance {
	p := &performance{batch: s, item: it}
	p.session = session{
		app:     &app{console: cli.NewConsole(&p.told, "")},
		options: &it.options, format: it.format, layout: it.layout, engine: s.engine,
		changed: func(flag string) bool { return it.set[flag] || s.changed(flag) },
	}
	return p
}

// run speaks the item into a file, which appears when it is complete. A panic fails the item alone.
func (p *performance) run(ctx context.Context, out *atomicfile.File) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	req, err := p.newItemRequest()
	if err != nil {
		return err
	}
	if err := p.record(out.Writer(), func(emit func([]float32) error) error { return p.utterItem(ctx, req, emit) }); err != nil {
		return err
	}
	if p.result.Samples == 0 {
		return errors.New("the model ended the speech at once (finish empty): try another seed")
	}
	if p.bytes, err = size(out.Writer()); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return cli.IOError{Err: err}
	}
	return nil
}

// size of what was written.
func size(w io.Writer) (int64, error) {
	s, ok := w.(io.Seeker)
	if !ok {
		return 0, errors.New("not a regular file")
	}
	return s.Seek(0, io.SeekEnd)
}

// newItemRequest is the item's request. Its voice is that of the flags, which was read once, unless it has its own.
func (p *performance) newItemRequest() (*core.Request, error) {
	req := p.newRequest(p.engine)
	req.Text, req.DumpDir = p.item.options.text, ""
	if !p.item.ownVoice() {
		shared := &p.batch.request
		req.RefAudio, req.Voice, req.RefText = shared.RefAudio, shared.Voice, shared.RefText
		return &req, nil
	}
	r, err := p.readReference()
	if err != nil {
		return nil, err
	}
	if err := p.applyReference(&req, r); err != nil {
		return nil, err
	}
	if p.options.xvectorOnly {
		forgetCodes(&req)
	}
	return &req, nil
}

func (p *performance) utterItem(ctx context.Context, req *core.Request, emit func([]float32) error) (err error) {
	if !p.options.long {
		p.result, err = p.engine.Synthesize(ctx, req, emit)
		return err
	}
	long, err := p.engine.SynthesizeLong(ctx, req, p.longOptions(req), emit)
	p.result, p.pieces = long.Result, len(long.Pieces)
	for i := range long.Pieces {
		p.reportPiece(&long.Pieces[i])
	}
	return err
}

// warnings are those of the engine, and what the console was told.
func (p *performance) warnings() []string {
	all := slices.Clone(p.result.Warnings)
	for line := range strings.Lines(p.told.String()) {
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), ": "), "warning: "))
	}
	if p.result.Finish == core.FinishLength && p.pieces == 0 {
		all = append(all, fmt.Sprintf("stopped at %d frames before the model ended the speech: raise max_new, or let long divide the text", p.result.Frames))
	}
	if all == nil {
		return []string{}
	}
	return all
}
