package main

import (
	"context"
	"fmt"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

// fetch brings the models that --hf names, and makes --model, --codec and --base name their files, unless the user
// did.
func (s *session) fetch(ctx context.Context) error {
	o := s.options
	p := cli.Puller{Console: s.app.console, Stderr: s.app.stderr, Bar: s.showBar, Version: version}
	if err := o.model.Fetch(ctx, p, o.impliedMode(), !o.listSpeakers); err != nil {
		return err
	}
	if o.model.HF == "" || o.design == "" || o.base != "" {
		return nil
	}
	base, err := o.model.FetchTalker(ctx, p, core.ModeBase)
	if err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	o.base = base
	return nil
}

// impliedMode is the kind of model that the other flags need; "" leaves it to what there is.
func (o *options) impliedMode() core.Mode {
	switch {
	case o.speaker != "" || o.listSpeakers:
		return core.ModeCustomVoice
	case o.design != "" || o.instruct != "":
		return core.ModeVoiceDesign
	case len(o.voiceSources()) > 0:
		return core.ModeBase
	}
	return o.itemsMode
}
