package main

import (
	"fmt"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/cli"
)

// readClip reads a recording as mono at the codec's rate, and says what is odd about it and its transcript.
func (a *app) readClip(path, transcript string) ([]float32, error) {
	clip, err := audio.Load(path)
	if err != nil {
		return nil, cli.FileError(err)
	}
	r := examine(clip, transcript)
	if err := r.Err(); err != nil {
		return nil, cli.Inputf("%s: %w", path, err)
	}
	a.console.Warn(path, r.Warnings)
	pcm, _, err := clip.Mono24k()
	if err != nil {
		return nil, cli.Inputf("%s: %w", path, err)
	}
	if a.options.trim {
		whole := len(pcm)
		pcm = audio.TrimSilence(pcm, audio.ReferenceRate)
		a.console.Linef("%s: trimmed %.2f of %.2f s", path, seconds(whole-len(pcm)), seconds(whole))
	}
	return pcm, nil
}

// examine judges a recording as a reference; the transcript may be "".
func examine(clip *audio.Clip, transcript string) *audio.Report {
	r := clip.Report()
	if r.Err() == nil && r.Seconds > core.MaxReferenceSeconds {
		r.Errors = append(r.Errors, fmt.Sprintf("%.1f s are too long, at most %d are taken", r.Seconds, core.MaxReferenceSeconds))
	}
	if transcript != "" {
		r.AddTranscript(transcript)
	}
	return r
}

// readTranscript reads --ref-text; without it, the transcript is empty.
func (a *app) readTranscript() (string, error) {
	if a.options.refText == "" {
		return "", nil
	}
	text, err := cli.ReadTextFile(a.options.refText)
	if err == nil && text == "" {
		err = cli.Inputf("%s: the transcript is empty", a.options.refText)
	}
	return text, err
}
