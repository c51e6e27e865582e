package main

import (
	"context"
	"fmt"
	"io"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/cli"
)

// fetch brings the models that --hf names, and makes --model and --codec name their files.
func (o *options) fetch(ctx context.Context, stderr io.Writer) error {
	if o.hf == "" {
		return nil
	}
	ref, err := hub.ParseRef(o.hf)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	p := cli.Puller{Console: cli.NewConsole(stderr, name), Stderr: stderr, Version: version}
	choice, snapshot, err := p.Pull(ctx, ref)
	if err != nil {
		return err
	}
	if choice.Talker == "" {
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no talker", ref.Repo)}
	}
	o.model = snapshot.Path(choice.Talker)
	switch {
	case o.codec != "":
	case choice.Codec == "":
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no codec (qwen-tokenizer-*.gguf); name one with --codec", ref.Repo)}
	default:
		o.codec = snapshot.Path(choice.Codec)
	}
	return nil
}
