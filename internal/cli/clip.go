package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// ReadClip reads a reference recording as mono at the codec's rate, if asked for without silence at its ends. The
// console tells what is odd about it or its transcript, which may be "".
func ReadClip(console *Console, path, transcript string, trim bool) ([]float32, error) {
	clip, err := audio.Load(path)
	if err != nil {
		return nil, FileError(err)
	}
	r := Examine(clip, transcript)
	if err := r.Err(); err != nil {
		return nil, Inputf("%s: %w", path, err)
	}
	console.Warn(path, r.Warnings)
	pcm, _, err := clip.Mono24k()
	if err != nil {
		return nil, Inputf("%s: %w", path, err)
	}
	if trim {
		whole := len(pcm)
		pcm = audio.TrimSilence(pcm, core.SampleRate)
		console.Linef("%s: trimmed %.2f of %.2f s", path, seconds(whole-len(pcm)), seconds(whole))
	}
	return pcm, nil
}

// Examine judges a recording as a reference; the transcript may be "".
func Examine(clip *audio.Clip, transcript string) *audio.Report {
	r := clip.Report()
	if transcript != "" {
		r.AddTranscript(transcript)
	}
	return r
}

// ReadTranscript reads the file that a flag names; it must not be empty.
func ReadTranscript(path string) (string, error) {
	text, err := ReadTextFile(path)
	if err == nil && text == "" {
		err = Inputf("%s: the transcript is empty", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (the transcript is read from a file)", err)
	}
	return text, err
}

func seconds(samples int) float64 { return float64(samples) / core.SampleRate }
