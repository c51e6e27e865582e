package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core"
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
	if err := o.wantMode(&ref.Want); err != nil {
		return err
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
	o.base = takeBase(choice, snapshot)
	return nil
}

// wantMode completes what is wanted by --mode, or by what the other flags need.
func (o *options) wantMode(w *hub.Want) error {
	mode := o.impliedMode()
	if o.mode != "" {
		m, err := core.ParseMode(o.mode)
		if err != nil {
			return err
		}
		mode = strings.ReplaceAll(string(m), "_", "")
	}
	switch {
	case w.Mode == "":
		w.Mode = mode
	case o.mode != "" && w.Mode != mode:
		return cli.Usagef("--hf %s and --mode %s exclude each other", o.hf, o.mode)
	}
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
	return o.itemsMode
}

// take makes the options name the files of a choice.
func (s *session) take(ref hub.Ref, c hub.Choice, snapshot *hub.Snapshot) error {
	o := s.options
	path := func(name string) string {
		if name == "" {
			return ""
		}
		return snapshot.Path(name)
	}
	switch {
	case c.Checkpoint != nil:
		o.model = snapshot.Dir
		return nil
	case c.Talker == "":
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no talker", ref.Repo)}
	}
	o.model, o.predictor, o.tokenizer = path(c.Talker), path(c.Predictor), path(c.Tokenizer)
	if o.codec == "" {
		o.codec = path(cmp.Or(c.Codec, c.Vocoder))
	}
	if o.codec == "" && !o.listSpeakers {
		return cli.ModeError{Err: fmt.Errorf("--hf %s: has no codec (qwen-tokenizer-*.gguf); name one with --codec", ref.Repo)}
	}
	return nil
}

// takeBase is the talker of a choice for --base.
func takeBase(c hub.Choice, snapshot *hub.Snapshot) string {
	if c.Checkpoint != nil {
		return snapshot.Dir
	}
	return snapshot.Path(c.Talker)
}
