package main

import (
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/cli"
)

// readClip reads a reference recording as mono at the codec's rate, and says what is odd about it.
func (s *session) readClip(path string) ([]float32, error) {
	clip, err := audio.Load(path)
	if err != nil {
		return nil, cli.FileError(err)
	}
	pcm, warnings, err := clip.Mono24k()
	if err != nil {
		return nil, cli.Inputf("%s: %w", path, err)
	}
	s.app.console.Warn("--ref-wav", warnings)
	return pcm, nil
}
