package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/prompt"
)

// cast finds the voice that a request asks for and puts it, with the instructions, into the engine's request. A name
// is, in this order: a registered voice, a speaker of the model, an alias. A name that is none of these is an error: no
// request ever gets another voice than it asked for. It returns the name of the voice and what the client should know.
func (m *model) cast(ctx context.Context, r *speechRequest, req *core.Request) (name string, warnings []string, err error) {
	req.Instruct = r.instructions
	if m.kind == baseModel && !prompt.IsBlank(r.instructions) {
		req.Instruct = ""
		warnings = append(warnings, "instructions: ignored, a base model follows none")
	}
	if r.refAudio != "" {
		more, err := m.castReference(ctx, r, req)
		return "ref_audio", append(warnings, more...), err
	}
	if r.refText != "" || r.xvectorOnly != nil && *r.xvectorOnly && r.voice == "" {
		return "", nil, refuse("ref_audio", "missing_required_field", "ref_audio: missing, but ref_text or x_vector_only_mode were sent")
	}
	name, more, err := m.castName(r.voice, req)
	if err == nil && req.Voice != nil && r.xvectorOnly != nil && *r.xvectorOnly {
		req.Voice, req.RefText = &core.Voice{XVector: req.Voice.XVector}, ""
	}
	return name, append(warnings, more...), err
}

// castReference takes the voice of a recording that came with the request.
func (m *model) castReference(ctx context.Context, r *speechRequest, req *core.Request) (warnings []string, err error) {
	if m.kind != baseModel {
		return nil, refuse("ref_audio", "mode_invalid", "ref_audio: this is a %s model; only a base model clones a recording", m.kind)
	}
	data, err := m.server.references.open(ctx, r.refAudio)
	if err != nil {
		return nil, err
	}
	if r.xvectorOnly == nil || !*r.xvectorOnly {
		req.RefText = r.refText
	}
	req.RefAudio, warnings, err = m.server.decodeClip(ctx, "ref_audio", data, req.RefText)
	if r.voice != "" && foldName(r.voice) != defaultVoice && !isOpenAIVoice(r.voice) {
		warnings = append(warnings, "voice: ignored, ref_audio takes its place")
	}
	return warnings, err
}

// castName finds a voice by its name; "" and "default" are no voice in particular, if the operator has not named one.
func (m *model) castName(name string, req *core.Request) (string, []string, error) {
	wanted := strings.TrimSpace(name)
	if wanted == "" || foldName(wanted) == defaultVoice {
		if wanted = m.server.opts.DefaultVoice; wanted == "" {
			return m.castNobody()
		}
	}
	if found := m.castOwn(wanted, req); found != "" {
		return found, nil, nil
	}
	if to, ok := m.aliases()[foldName(wanted)]; ok {
		if found := m.castOwn(to, req); found != "" {
			return found, []string{fmt.Sprintf("voice: %s is an alias of %s here", foldName(wanted), found)}, nil
		}
		return "", nil, refuse("voice", "voice_not_found", "voice: %q is an alias of %q, which does not exist; %s", wanted, to, m.offer())
	}
	if m.kind == voiceDesign && isOpenAIVoice(wanted) {
		return "", []string{"voice: ignored, the instructions of a voice_design model describe the voice"}, nil
	}
	return "", nil, refuse("voice", "voice_not_found", "voice: there is no %q; %s", wanted, m.offer())
}

// castOwn looks among registered voices and speakers; "" if the name is none of these.
func (m *model) castOwn(name string, req *core.Request) string {
	if c := m.voices.get(name); c != nil {
		c.apply(req)
		return c.name
	}
	for _, s := range m.engine.Speakers() {
		if foldName(s) == foldName(name) {
			req.Speaker = s
			return s
		}
	}
	return ""
}

// castNobody lets the model speak in a voice of its own choice, if it can.
func (m *model) castNobody() (string, []string, error) {
	if m.kind == customVoice {
		return "", nil, refuse("voice", "missing_required_field", "voice: missing; %s", m.offer())
	}
	return "", nil, nil
}

// names are those of the registered voices and of the speakers that no such voice hides.
func (m *model) names() []string {
	var names []string
	for _, c := range m.voices.list() {
		names = append(names, c.name)
	}
	for _, s := range m.engine.Speakers() {
		if m.voices.get(s) == nil {
			names = append(names, s)
		}
	}
	return names
}

// aliases are other names of voices; speakers come before registered voices, which may change.
func (m *model) aliases() map[string]string {
	if m.server.opts.Strict {
		return aliases(m.server.opts.Aliases, nil)
	}
	voices := slices.Clone(m.engine.Speakers())
	if len(voices) == 0 {
		voices = m.names()
	}
	return aliases(m.server.opts.Aliases, voices)
}

// offer tells what names can be asked for.
func (m *model) offer() string {
	const most = 40
	switch names := m.names(); {
	case len(names) > most:
		return fmt.Sprintf("there are %d others, see GET /v1/audio/voices", len(names))
	case len(names) > 0:
		return "there are: " + strings.Join(names, ", ")
	case m.kind == voiceDesign:
		return "a voice_design model takes its voice from the instructions; send no voice, or \"default\""
	}
	return "no voice is registered: POST one to /v1/audio/voices, send ref_audio, or send the voice \"default\" for one of the model's choice"
}
