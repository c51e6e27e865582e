package voicefile

import (
	"errors"
	"fmt"
)

// Identity is what a voice has to have in common with a model. Name and Size are for people; what decides is the
// geometry and, where both sides have them, the fingerprints. It converts to and from core.Identity.
type Identity struct {
	Name         string // what the model calls itself
	Size         string // "0.6b" or "1.7b"
	Width        int    // of the Talker and so of x-vectors; 0: not known
	Codebooks    int    // codes a frame
	CodebookSize int    // entries of a codebook

	Speaker [32]byte // of the speaker encoder; zero: not known
	Codec   [32]byte // of the speech tokenizer; zero: not known
}

// ErrMismatch: a voice belongs to another model.
var ErrMismatch = errors.New("the voice belongs to another model")

// mismatch is an error that is ErrMismatch, in words of its own.
type mismatch struct{ text string }

func (m mismatch) Error() string        { return m.text }
func (m mismatch) Is(target error) bool { return target == ErrMismatch }

// Check tells whether a model can speak with the voice; if not, the error is ErrMismatch. Files of one model at
// different precisions have the same identity. An identity of a codec alone, of width 0, is compared by what is known.
func (v *Voice) Check(model Identity) error {
	of := v.Model
	if model.Width != 0 && of.Width != model.Width {
		return v.misfit(model, "")
	}
	if len(v.Codes) > 0 && (of.Codebooks != model.Codebooks || of.CodebookSize != model.CodebookSize) {
		return v.misfit(model, fmt.Sprintf(": its frames have %d codes of %d, the model's %d of %d",
			of.Codebooks, of.CodebookSize, model.Codebooks, model.CodebookSize))
	}
	if differ(of.Speaker, model.Speaker) {
		return v.misfit(model, ": their speaker encoders differ")
	}
	if len(v.Codes) > 0 && differ(of.Codec, model.Codec) {
		return v.misfit(model, ": its codes are those of another speech tokenizer")
	}
	return nil
}

// differ compares fingerprints, as far as they are known.
func differ(a, b [32]byte) bool { return a != [32]byte{} && b != [32]byte{} && a != b }

func (v *Voice) misfit(model Identity, why string) error {
	return mismatch{fmt.Sprintf("voice of %s does not fit %s%s", v.Model, model, why)}
}

// String is the identity in a line: "Qwen3-TTS-12Hz-1.7B-Base (1.7b, width 2048)".
func (i Identity) String() string {
	name, facts := i.Name, i.Size
	if name == "" {
		name = "a model without name"
	}
	if i.Width == 0 {
		return name
	}
	if facts != "" {
		facts += ", "
	}
	return fmt.Sprintf("%s (%swidth %d)", name, facts, i.Width)
}
