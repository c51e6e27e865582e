package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/text"
)

// framesPerSecond of the 12 Hz speech tokenizer.
const framesPerSecond = 12.5

// A bar shows how far one synthesis is: frames, seconds of audio, RTF (computing time / audio time) and ETA.
// A model says where the speech ends only by ending it, so the length is an estimate from the text, and is stretched
// when the speech outgrows it.
type bar struct {
	pb       *progressbar.ProgressBar
	expected int // frames
}

func newBar(w io.Writer, spoken string, maxFrames int) *bar {
	expected := min(text.Frames(spoken), maxFrames)
	return &bar{
		expected: expected,
		pb: progressbar.NewOptions(expected,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetTheme(progressbar.ThemeASCII)),
	}
}

func (b *bar) update(p core.Progress) {
	if p.Frames >= b.expected {
		b.expected = min(p.Frames+p.Frames/4+1, max(p.MaxFrames, p.Frames))
		b.pb.ChangeMax(b.expected + 1) // the bar is never full before the end
	}
	b.pb.Describe(describe(p, b.expected))
	_ = b.pb.Set(p.Frames) // fails only if the terminal is gone
}

func (b *bar) clear() { _ = b.pb.Clear() }

// describe is the text beside the bar.
func describe(p core.Progress, expected int) string {
	audio := float64(p.Frames) / framesPerSecond
	line := fmt.Sprintf("%d frames  %.1f s audio", p.Frames, audio)
	if p.Frames > 0 {
		left := time.Duration(float64(p.Elapsed) / float64(p.Frames) * float64(expected-p.Frames))
		line += fmt.Sprintf("  RTF %.2f  ETA ~%s", p.Elapsed.Seconds()/audio, left.Round(time.Second))
	}
	return line
}
