package server

import (
	"context"

	"github.com/libqwen/libqwen/core"
)

// Engine is what speaks: a *core.Engine, or one that a test has rigged. It is called by many goroutines at once.
type Engine interface {
	CheckLong(ctx context.Context, req *core.Request, opts core.LongOptions) error
	SynthesizeLong(ctx context.Context, req *core.Request, opts core.LongOptions, emit func(pcm []float32) error) (core.LongResult, error)
	ExtractVoice(ctx context.Context, pcm []float32) (*core.Voice, error)
	DefaultRequest() core.Request
	ModelType() string
	Speakers() []string
	Languages() []string
	Identity() core.Identity
}

var _ Engine = (*core.Engine)(nil)

// The families of models, as Engine.ModelType names them.
const (
	baseModel   = "base"
	customVoice = "custom_voice"
	voiceDesign = "voice_design"
)
