package main

// #include "bridge.h"
import "C"

import (
	"github.com/libqwen/libqwen/core"
)

// extractVoice is the body of qt_extract_voice_ref and qt_extract_voice_ref_ex.
func extractVoice(
	ctx *C.struct_qt_context, pcm C.qwen_floats, n C.int, cancel C.qt_cancel_cb, user C.uintptr_t, out *C.struct_qt_voice_ref,
) error {
	if out == nil {
		return invalid("out: NULL")
	}
	*out = C.struct_qt_voice_ref{}
	h, err := contexts.enter(number(ctx))
	if err != nil {
		return err
	}
	defer h.leave()

	clip, err := array("pcm_24k", (*float32)((*C.float)(pcm)), "n_samples", n, maxRefSamples)
	if err != nil {
		return err
	}
	if clip == nil {
		return invalid("pcm_24k: NULL")
	}
	self := currentThread()
	if err := h.begin(self); err != nil {
		return err
	}
	defer h.end(self)

	voice, err := h.engine.ExtractVoice(&polled{handle: h, owner: self, cancel: cancel, user: user}, clip)
	if err != nil {
		return err
	}
	*out, err = newVoice(voice, h.engine.NumCodebooks())
	return err
}

// newVoice copies a voice to C memory, its codes as [codebooks][frames].
func newVoice(voice *core.Voice, codebooks int) (out C.struct_qt_voice_ref, err error) {
	frames := len(voice.Codes)
	rows := make([]int32, codebooks*frames)
	for t, codes := range voice.Codes {
		for k, code := range codes {
			rows[k*frames+t] = code
		}
	}
	xvector, err := newArray(voice.XVector)
	if err != nil {
		return out, err
	}
	codes, err := newArray(rows)
	if err != nil {
		cFree(xvector)
		return out, err
	}
	return C.struct_qt_voice_ref{
		ref_spk_emb:   (*C.float)(xvector),
		ref_spk_dim:   C.int(len(voice.XVector)),
		ref_codes:     (*C.int32_t)(codes),
		ref_T:         C.int(frames),
		num_codebooks: C.int(codebooks),
	}, nil
}
