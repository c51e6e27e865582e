package core

import (
	"fmt"
	"math"
	"strings"

	"github.com/libqwen/libqwen/core/prompt"
)

// target is what a request has to fit.
type target struct {
	mode     Mode
	speakers []string // that a custom_voice model has, for messages
}

// rule is one condition under which a request is refused before any compute.
type rule struct {
	broken func(t target, r *Request) bool
	kind   error
	text   func(t target) string
}

// rules are the demands of the modes and the contradictions among fields, in the order of checking.
var rules = []rule{
	{func(t target, r *Request) bool { return r.Mode != "" && r.Mode != t.mode }, ErrMode,
		func(t target) string { return fmt.Sprintf("mode: this is a %s model; %s", t.mode, t.accepts()) }},
	{func(_ target, r *Request) bool { return r.Speaker != "" && r.hasReference() }, ErrInvalid,
		words("speaker: excludes a reference (ref_audio_24k, ref_spk_emb, ref_codes)")},
	{func(_ target, r *Request) bool { return r.RefText != "" && r.RefAudio == nil && r.Voice == nil }, ErrInvalid,
		words("ref_text: given without a reference (ref_audio_24k, or ref_spk_emb with ref_codes)")},
	{func(_ target, r *Request) bool { return r.RefAudio != nil && r.Voice != nil }, ErrInvalid,
		words("ref_audio_24k: excludes ref_spk_emb and ref_codes")},
	{func(t target, r *Request) bool { return r.Speaker != "" && t.mode != ModeCustomVoice }, ErrMode,
		func(t target) string {
			return fmt.Sprintf("speaker: this is a %s model, which has no named speakers; %s", t.mode, t.accepts())
		}},
	{func(t target, r *Request) bool { return prompt.IsBlank(r.Speaker) && t.mode == ModeCustomVoice }, ErrMode,
		func(t target) string { return "speaker: a custom_voice model needs one of " + t.names() }},
	{func(t target, r *Request) bool { return !prompt.IsBlank(r.Instruct) && t.mode == ModeBase }, ErrMode,
		func(t target) string { return "instruct: a base model takes no instruction; " + t.accepts() }},
	{func(t target, r *Request) bool { return prompt.IsBlank(r.Instruct) && t.mode == ModeVoiceDesign }, ErrMode,
		words("instruct: a voice_design model needs a description of the voice")},
	{func(t target, r *Request) bool { return r.hasReference() && t.mode != ModeBase }, ErrMode,
		func(t target) string {
			return fmt.Sprintf("ref_audio_24k, ref_spk_emb, ref_codes: this is a %s model; only a base model clones a reference; %s", t.mode, t.accepts())
		}},
}

func words(s string) func(target) string { return func(target) string { return s } }

func (r *Request) hasReference() bool {
	return r.RefAudio != nil || r.Voice != nil || r.SpeakerEmbedding != nil
}

// accepts says what models of the mode are steered by.
func (t target) accepts() string {
	switch t.mode {
	case ModeCustomVoice:
		return "it takes a speaker and an optional instruct"
	case ModeVoiceDesign:
		return "it takes an instruct"
	}
	return "it takes an optional reference"
}

func (t target) names() string {
	if len(t.speakers) == 0 {
		return "its speakers"
	}
	return strings.Join(t.speakers, ", ")
}

// CheckMode tells whether a request has what a model of the mode needs, and nothing that it cannot use:
//
//	base          optional: a reference (RefAudio or Voice), SpeakerEmbedding; no Speaker, no Instruct
//	custom_voice  Speaker; optional: Instruct, which models of size 0.6b ignore; no reference
//	voice_design  Instruct; no Speaker, no reference
//
// Synthesize checks it, too, against the model that is open.
func (r *Request) CheckMode(mode Mode) error { return r.fits(target{mode: mode}) }

func (r *Request) fits(t target) error {
	for _, rule := range rules {
		if rule.broken(t, r) {
			return fail(rule.kind, "%s", rule.text(t))
		}
	}
	return nil
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
	if err := r.fits(target{e.Mode(), e.Speakers()}); err != nil {
		return err
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
	if r.SpeakerEmbedding != nil {
		if err := e.validateXVector("speaker_embedding", r.SpeakerEmbedding); err != nil {
			return err
		}
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
	if err := e.validateXVector("ref_spk_emb", v.XVector); err != nil {
		return err
	}
	if len(v.Codes) > 0 && prompt.IsBlank(r.RefText) {
		return fail(ErrInvalid, "ref_codes: given without ref_text; leave the codes out to clone by the speaker vector alone")
	}
	if len(v.Codes) == 0 && r.RefText != "" {
		return fail(ErrInvalid, "ref_text: given without ref_codes; leave the text out to clone by the speaker vector alone")
	}
	return nil
}

func (e *Engine) validateXVector(field string, v []float32) error {
	if want := e.lm.Talker.Width; len(v) != want {
		return fail(ErrInvalid, "%s: %d values, this model's speaker vectors have %d", field, len(v), want)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fail(ErrInvalid, "%s: value %d is not finite", field, i)
		}
	}
	return nil
}
