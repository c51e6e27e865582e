package main

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
)

// saveVoice is the body of qt_voice_save.
func saveVoice(ctx *C.struct_qt_context, ref C.qwen_voice_ref, refText *C.char, out *C.struct_qt_bytes) error {
	if out == nil {
		return invalid("out: NULL")
	}
	*out = C.struct_qt_bytes{}
	if ref == nil {
		return invalid("ref: NULL")
	}
	transcript, err := text("ref_text", refText)
	if err != nil {
		return err
	}
	h, err := contexts.enter(number(ctx))
	if err != nil {
		return err
	}
	defer h.leave()
	model, err := h.voiceModel()
	if err != nil {
		return err
	}
	v := &voicefile.Voice{Model: model, Transcript: transcript}
	if v.Tool, err = versionString(); err != nil {
		return err
	}
	v.Tool = "libqwen " + v.Tool
	if err := readVoiceRef(v, ref, model.Codebooks); err != nil {
		return err
	}
	data, err := voicefile.FormatVoice(v)
	if err != nil {
		return invalid("%v", err)
	}
	*out, err = newBytes(data)
	return err
}

// voiceModel is what a voice file says of the model; other families than base have no voices to keep.
func (h *handle) voiceModel() (voicefile.Identity, error) {
	id := voicefile.Identity(h.engine.Identity())
	if kind := h.engine.ModelType(); kind != "base" {
		return id, modeError(fmt.Sprintf("ctx: this is a %s model; only a base model has voice files", kind))
	}
	return id, nil
}

// readVoiceRef copies a caller's voice.
func readVoiceRef(v *voicefile.Voice, ref C.qwen_voice_ref, codebooks int) (err error) {
	v.XVector, err = array("ref.ref_spk_emb", (*float32)(ref.ref_spk_emb), "ref.ref_spk_dim", ref.ref_spk_dim, maxXVector)
	if err != nil {
		return err
	}
	if v.XVector == nil {
		return invalid("ref.ref_spk_emb: NULL")
	}
	if ref.ref_codes != nil && int(ref.num_codebooks) != codebooks {
		return invalid("ref.num_codebooks: %d, the model has %d", ref.num_codebooks, codebooks)
	}
	v.Codes, err = transposed("ref.ref_codes", ref.ref_codes, "ref.ref_T", ref.ref_T, codebooks)
	return err
}

// loadVoice is the body of qt_voice_load.
func loadVoice(
	ctx *C.struct_qt_context, file unsafe.Pointer, size C.size_t, out *C.struct_qt_voice_ref, refText *C.struct_qt_bytes,
) error {
	if refText != nil {
		*refText = C.struct_qt_bytes{}
	}
	if out == nil {
		return invalid("out: NULL")
	}
	*out = C.struct_qt_voice_ref{}
	h, err := contexts.enter(number(ctx))
	if err != nil {
		return err
	}
	defer h.leave()
	model, err := h.voiceModel()
	if err != nil {
		return err
	}
	data, err := fileBytes("file", file, size)
	if err != nil {
		return err
	}
	v, err := voicefile.ParseVoice(slices.Clone(data))
	if err != nil {
		return invalid("file: %v", err)
	}
	if err := v.Check(model); errors.Is(err, voicefile.ErrMismatch) {
		return modeError("file: " + err.Error())
	} else if err != nil {
		return invalid("file: %v", err)
	}
	voice, err := newVoice(&core.Voice{XVector: v.XVector, Codes: v.Codes}, model.Codebooks)
	if err != nil {
		return err
	}
	if refText != nil {
		if *refText, err = newBytes([]byte(v.Transcript)); err != nil {
			cFree(voice.ref_spk_emb)
			cFree(voice.ref_codes)
			return err
		}
	}
	*out = voice
	return nil
}

// modeError is a call that does not fit the model.
type modeError string

func (e modeError) Error() string        { return string(e) }
func (e modeError) Is(target error) bool { return target == core.ErrMode }
