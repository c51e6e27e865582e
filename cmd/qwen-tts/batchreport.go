package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/libqwen/libqwen/core/text"
	"github.com/libqwen/libqwen/internal/cli"
)

// watch shows how far the batch is, if that is wanted, until the function that it returns is called.
func (b *batch) watch() (stop func()) {
	b.tally.start = time.Now()
	for _, it := range b.todo {
		b.tally.left += text.Frames(it.options.text)
	}
	if !b.s.showBar {
		return func() {}
	}
	pb := progressbar.NewOptions(b.total,
		progressbar.OptionSetWriter(b.s.app.stderr),
		progressbar.OptionSetWidth(24),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetTheme(progressbar.ThemeASCII))
	console := b.s.app.console
	console.Status(func() { _ = pb.Clear() })
	b.show = func() {
		console.Update(func() {
			pb.Describe(b.describe())
			_ = pb.Set(b.total - len(b.todo) + b.tally.through)
		})
	}
	b.show()
	return func() { console.Status(nil) }
}

// count takes an item into account that is through.
func (b *batch) count(it *item, r *itemResult) {
	t, frames := &b.tally, text.Frames(it.options.text)
	t.through++
	t.frames, t.left = t.frames+frames, t.left-frames
	if r.OK {
		t.spoken++
		t.audio += r.AudioSec
	}
	if len(r.Warnings) > 0 {
		t.notes++
	}
	if b.show != nil {
		b.show()
	}
}

// describe is the text beside the bar.
func (b *batch) describe() string {
	t := &b.tally
	line := fmt.Sprintf("%d of %d items", b.total-len(b.todo)+t.through, b.total)
	if n := len(b.failures); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	if elapsed := time.Since(t.start); t.through > 0 {
		left := time.Duration(float64(elapsed) / float64(t.frames) * float64(t.left))
		line += fmt.Sprintf("  %s  ETA ~%s", t.speed(elapsed), left.Round(time.Second))
	}
	return line
}

// speed tells how much was spoken in a time.
func (t *tally) speed(elapsed time.Duration) string {
	return fmt.Sprintf("%.1f s of audio in %.1f s (xRT %.2f)", t.audio, elapsed.Seconds(), t.audio/max(elapsed.Seconds(), 1e-9))
}

// list names what failed.
func (b *batch) list() {
	slices.SortFunc(b.failures, func(x, y failure) int { return cmp.Compare(x.line, y.line) })
	var list strings.Builder
	for _, f := range b.failures {
		fmt.Fprintf(&list, "failed: %s\n", f)
	}
	if list.Len() > 0 {
		b.s.app.console.Print(list.String())
	}
}

// conclude sums up. It fails if anything is without audio.
func (b *batch) conclude(ctx context.Context) error {
	t := &b.tally
	line := fmt.Sprintf("%d items: %d spoken, %d were done before, %d failed", b.total, t.spoken, b.done, len(b.failures))
	rest := b.total - t.spoken - b.done - len(b.failures)
	if rest > 0 {
		line += fmt.Sprintf(", %d left", rest)
	}
	if t.spoken > 0 {
		line += "; " + t.speed(time.Since(t.start))
	}
	if t.notes > 0 {
		line += fmt.Sprintf("; %d with warnings, see their results", t.notes)
	}
	b.s.app.console.Linef("%s", line)
	switch {
	case ctx.Err() != nil && rest > 0:
		return ctx.Err()
	case b.fatal != nil:
		return b.fatal
	case len(b.failures) > 0:
		return cli.PartialError{Err: fmt.Errorf("%d of %d items failed; the same command tries them again", len(b.failures), b.total)}
	}
	return nil
}
