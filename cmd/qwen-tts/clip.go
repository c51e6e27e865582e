package main

import (
	"fmt"
	"os"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// readClip reads a reference recording as mono samples: the mean of its channels.
func readClip(path string) ([]float32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, ioError{err}
	}
	clip, err := audio.DecodeWAV(data)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	if clip.Rate != core.SampleRate {
		return nil, usageError{fmt.Errorf("%s has %d Hz, must have %d Hz", path, clip.Rate, core.SampleRate)}
	}
	mono := make([]float32, len(clip.Samples)/clip.Channels)
	for i := range mono {
		for _, x := range clip.Samples[i*clip.Channels : (i+1)*clip.Channels] {
			mono[i] += x / float32(clip.Channels)
		}
	}
	return mono, nil
}
