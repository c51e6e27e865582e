package main

import (
	"context"
	"fmt"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/cli"
)

// fetch brings the models that --hf names, and makes --model, --codec and --base name their files, unless the user
// did.
func (s *session) fetch(ctx context.Context) error {
	o := s.options
	if o.hf == "" {
		return nil
	}
	ref, err := hub.ParseRef(o.hf)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	p := cli.Puller{Console: s.app.console, Stderr: s.app.stderr, Bar: s.showBar, Version: version}
	if ref.Want.Mode == "" {
		ref.Want.Mode = o.impliedMode()
	}
	choice, snapshot, err := p.Pull(ctx, ref)
	if err != nil {
		return err
	}
	if err := s.take(ref, choice, snapshot); err != nil {
		return err
	}
	if o.design == "" || o.base != "" {
		return nil
	}
	ref.Want.Mode = "base"
	if choice, snapshot, err = p.Pull(ctx, ref); err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	o.base = snapshot.Path(choice.Talker)
	return nil
}

// impliedMode is the kind of model that the other flags need; "" leaves it to what there is.
func (o *options) impliedMode() string {
	switch {
	case o.speaker != "" || o.listSpeakers:
		return "customvoice"
	case o.design != "" || o.instruct != "":
		return "voicedesign"
	case len(o.voiceSources()) > 0:
		return "base"
	}
	return ""
}

// take makes the options name the files of a choice.
func (s *session) take(ref hub.Ref, c hub.Choice, snapshot *hub.Snapshot) error {
	o := s.options
	if c.Talker == "" {
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no talker", ref.Repo)}
	}
	o.model = snapshot.Path(c.Talker)
	switch {
	case o.codec != "":
	case c.Codec == "":
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no codec (qwen-tokenizer-*.gguf); name one with --codec", ref.Repo)}
	default:
		o.codec = snapshot.Path(c.Codec)
	}
	return nil
}
