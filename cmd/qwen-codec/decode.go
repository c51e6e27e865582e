package main

import (
	"context"
	"errors"
	"io"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/cli"
)

// decode writes the audio of codes, which come from a .rvq or a .qvoice file.
func (a *app) decode(ctx context.Context) error {
	o := a.options
	if o.output == "-" {
		if cli.IsTerminal(a.stdout) {
			return cli.Usagef("-o -: stdout is a terminal; pipe it into a player or a file")
		}
		_, err := a.decodeTo(ctx, struct{ io.Writer }{a.stdout})
		return err
	}
	path := o.output
	if path == "" {
		path = sibling(o.input, a.format.Ending())
	}
	out, err := a.create(path)
	if err != nil {
		return err
	}
	defer out.Discard()
	samples, err := a.decodeTo(ctx, out.Writer())
	if err != nil {
		return err
	}
	if err := save(out, nil); err != nil {
		return err
	}
	return a.tell("%s: %d samples, %.2f s", path, samples, seconds(samples))
}

// decodeTo writes a file and returns its length.
func (a *app) decodeTo(ctx context.Context, w io.Writer) (samples int, err error) {
	c, err := a.open()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	codes, err := a.readCodes(c)
	if err != nil {
		return 0, err
	}
	out, err := audio.NewWriter(w, a.format, core.SampleRate)
	if err != nil {
		return 0, cli.IOError{Err: err}
	}
	defer out.Discard()
	err = c.Decode(ctx, codes, func(pcm []float32) error {
		samples += len(pcm)
		if err := out.Write(pcm); err != nil {
			return cli.IOError{Err: err} // the codec hands it back, wrapped
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := out.Close(); err != nil {
		return 0, cli.IOError{Err: err}
	}
	return samples, nil
}

// readCodes reads the input's codes, which must be the codec's.
func (a *app) readCodes(c *core.Codec) ([][]int32, error) {
	path := a.options.input
	if extension(path) == ".rvq" {
		codes, err := voicefile.ReadCodes(path, c.Codebooks(), c.CodebookSize())
		if err != nil {
			return nil, cli.FileError(err)
		}
		return codes, nil
	}
	v, err := voicefile.ReadVoice(path)
	if err != nil {
		return nil, cli.FileError(err)
	}
	if err := checkVoice(path, v, c); err != nil {
		return nil, err
	}
	if len(v.Codes) == 0 {
		return nil, cli.Inputf("%s: %w", path, errors.New("this voice has no codes, so there is nothing to decode"))
	}
	return v.Codes, nil
}
