package server

import (
	"io"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// outlet turns samples into bytes: at another speed, if asked for, in one file of a format, however many pieces of text
// were spoken. Nothing is written before the first samples: until then a failure must still be able to take the place
// of the audio.
type outlet struct {
	format audio.Format
	speed  float64
	to     io.Writer

	stretch *audio.Speed  // nil until the first samples
	file    *audio.Writer // nil until the first samples come out of stretch
}

func (o *outlet) write(pcm []float32) (err error) {
	if o.stretch == nil {
		if o.stretch, err = audio.NewSpeed(core.SampleRate, o.speed, o.encode); err != nil {
			return err
		}
	}
	return o.stretch.Write(pcm)
}

func (o *outlet) encode(pcm []float32) (err error) {
	if o.file == nil {
		if o.file, err = audio.NewWriter(o.to, o.format, core.SampleRate); err != nil {
			return err
		}
	}
	return o.file.Write(pcm)
}

// close writes what is left.
func (o *outlet) close() error {
	if o.stretch == nil {
		return nil
	}
	if err := o.stretch.Close(); err != nil || o.file == nil {
		return err
	}
	return o.file.Close()
}

// discard frees what an error left open.
func (o *outlet) discard() {
	if o.stretch != nil {
		o.stretch.Discard()
	}
	if o.file != nil {
		o.file.Discard()
	}
}
