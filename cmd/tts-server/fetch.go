package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

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
	return o.take(ref, choice, snapshot)
}

// take makes the options name the files of a choice.
func (o *options) take(ref hub.Ref, c hub.Choice, snapshot *hub.Snapshot) error {
	path := func(name string) string {
		if name == "" {
			return ""
		}
		return snapshot.Path(name)
	}
	switch {
	case c.Checkpoint != nil:
		o.model = snapshot.Dir
		o.alias = cmp.Or(o.alias, ref.Repo[strings.LastIndex(ref.Repo, "/")+1:]) // the folder is named by a commit
		return nil
	case c.Talker == "":
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no talker", ref.Repo)}
	}
	o.model, o.predictor, o.tokenizer = path(c.Talker), path(c.Predictor), path(c.Tokenizer)
	o.codec = cmp.Or(o.codec, path(cmp.Or(c.Codec, c.Vocoder)))
	if o.codec == "" {
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no codec (qwen-tokenizer-*.gguf); name one with --codec", ref.Repo)}
	}
	return nil
}
