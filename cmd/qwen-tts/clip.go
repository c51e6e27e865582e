package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/libqwen/libqwen/core/audio"
)

// readClip reads a reference recording as mono at the codec's rate, and says what is odd about it.
func (s *session) readClip(path string) ([]float32, error) {
	clip, err := audio.Load(path)
	if err != nil {
		return nil, fileError(err)
	}
	pcm, warnings, err := clip.Mono24k()
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	for _, w := range warnings {
		s.app.console.linef("warning: --ref-wav: %s", w)
	}
	return pcm, nil
}

// fileError tells a file that cannot be read (I/O) from one whose content is wrong (usage).
func fileError(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return ioError{err}
	}
	return usageError{err}
}
