package core

import (
	"fmt"
	"math"
	"strings"

	"github.com/libqwen/libqwen/core/prompt"
)

// rule is one condition under which a request is refused before any compute.
type rule struct {
	broken func(e *Engine, r *Request) bool
	kind   error
	text   func(e *Engine, r *Request) string
}

// rules are the demands of the model families and the contradictions among fields, in the order of checking.
var rules = []rule{
	{func(_ *Engine, r *Request) bool { return r.Speaker != "" && r.hasReference() }, ErrInvalid,
		words("speaker: excludes a reference (ref_audio_24k, ref_spk_emb, ref_codes)")},
	{func(_ *Engine, r *Request) bool { return r.RefText != "" && !r.hasReference() }, ErrInvalid,
		words("ref_text: given without a reference (ref_audio_24k, or ref_spk_emb with ref_codes)")},
	{func(_ *Engine, r *Request) bool { return r.RefAudio != nil && r.Voice != nil }, ErrInvalid,
		words("ref_audio_24k: excludes ref_spk_emb and ref_codes")},
	{func(e *Engine, r *Request) bool { return r.Speaker != "" && e.vocab.ModelType != prompt.CustomVoice }, ErrMode,
		func(e *Engine, r *Request) string {
			return fmt.Sprintf("speaker: this is a %s model, which has no named speakers; %s", e.vocab.ModelType, e.accepts())
		}},
	{func(e *Engine, r *Request) bool {
		return prompt.IsBlank(r.Speaker) && e.vocab.ModelType == prompt.CustomVoice
	}, ErrMode,
		func(e *Engine, r *Request) string {
			return "speaker: a custom_voice model needs one of " + strings.Join(e.Speakers(), ", ")
		}},
	{func(e *Engine, r *Request) bool {
		return !prompt.IsBlank(r.Instruct) && e.vocab.ModelType == prompt.Base
	}, ErrMode,
		func(e *Engine, r *Request) string {
			return "instruct: a base model takes no instruction; " + e.accepts()
		}},
	{func(e *Engine, r *Request) bool {
		return prompt.IsBlank(r.Instruct) && e.vocab.ModelType == prompt.VoiceDesign
	}, ErrMode,
		words("instruct: a voice_design model needs a description of the voice")},
	{func(e *Engine, r *Request) bool { return r.hasReference() && e.vocab.ModelType != prompt.Base }, ErrMode,
		func(e *Engine, r *Request) string {
			return fmt.Sprintf("ref_audio_24k, ref_spk_emb, ref_codes: this is a %s model; only a base model clones a reference; %s", e.vocab.ModelType, e.accepts())
		}},
}

func words(s string) func(*Engine, *Request) string {
	return func(*Engine, *Request) string { return s }
}

func (r *Request) hasReference() bool { return r.RefAudio != nil || r.Voice != nil }

// accepts says what the loaded family is steered by.
func (e *Engine) accepts() string {
	switch e.vocab.ModelType {
	case prompt.CustomVoice:
		return "it takes a speaker and an optional instruct"
	case prompt.VoiceDesign:
		return "it takes an instruct"
	}
	return "it takes an optional reference"
}

// maxChunkFrames is some five seconds of audio.
const maxChunkFrames = 64

// maxText bounds each text of a request, bytes. A context ends long before it; what is longer would be cut into tokens,
// at a hundred times its size in memory, only to be found too long.
const maxText = 1 << 20

// checkSizes looks at the texts before anything else does.
func (r *Request) checkSizes() error {
	for _, t := range []struct{ field, text string }{
		{"text", r.Text}, {"lang", r.Language}, {"speaker", r.Speaker}, {"instruct", r.Instruct}, {"ref_text", r.RefText},
	} {
		if len(t.text) > maxText {
			return fail(ErrInvalid, "%s: %d bytes, at most %d are taken", t.field, len(t.text), maxText)
		}
	}
	return nil
}

// validate checks all that can be checked before the prompt is laid out.
func (e *Engine) validate(r *Request) error {
	if err := r.checkSizes(); err != nil {
		return err
	}
	for _, rule := range rules {
		if rule.broken(e, r) {
			return fail(rule.kind, "%s", rule.text(e, r))
		}
	}
	if err := r.Talker.Validate(""); err != nil {
		return as(ErrInvalid, err)
	}
	if err := r.Predictor.ValidateCodebooks("subtalker_"); err != nil {
		return as(ErrInvalid, err)
	}
	if r.Layout < LayoutAuto || r.Layout > LayoutStreamed {
		return fail(ErrInvalid, "text_layout: %d is not in 0..2", r.Layout)
	}
	if r.ChunkFrames < 0 || r.ChunkFrames > maxChunkFrames {
		return fail(ErrInvalid, "chunk_frames: %d is not in 0..%d", r.ChunkFrames, maxChunkFrames)
	}
	if r.MaxFrames < 1 || r.MaxFrames >= e.context {
		return fail(ErrInvalid, "max_new_tokens: %d is not in 1..%d", r.MaxFrames, e.context-1)
	}
	if r.RefAudio != nil {
		return checkReference("ref_audio_24k", r.RefAudio, e.decoder.Hop())
	}
	return e.validateVoice(r)
}

// validateVoice checks a reference given as latents.
func (e *Engine) validateVoice(r *Request) error {
	v := r.Voice
	if v == nil {
		return nil
	}
	if want := e.lm.Talker.Width; len(v.XVector) != want {
		return fail(ErrInvalid, "ref_spk_emb: %d values, this model's speaker vectors have %d", len(v.XVector), want)
	}
	for i, x := range v.XVector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fail(ErrInvalid, "ref_spk_emb: value %d is not finite", i)
		}
	}
	if len(v.Codes) > 0 && prompt.IsBlank(r.RefText) {
		return fail(ErrInvalid, "ref_codes: given without ref_text; leave the codes out to clone by the speaker vector alone")
	}
	if len(v.Codes) == 0 && r.RefText != "" {
		return fail(ErrInvalid, "ref_text: given without ref_codes; leave the text out to clone by the speaker vector alone")
	}
	return nil
}
