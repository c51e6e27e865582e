package main

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"
	"strings"
	"unsafe"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// synthesize is the body of qt_synthesize and qt_synthesize_ex.
func synthesize(
	ctx *C.struct_qt_context, p C.qwen_tts_params, q C.qwen_request,
	out *C.struct_qt_audio, result *C.struct_qt_result,
) error {
	if out != nil {
		*out = C.struct_qt_audio{}
	}
	if err := clearResult(result); err != nil {
		return err
	}
	if p == nil {
		return invalid("params: NULL")
	}
	if err := checkVersion(p.abi_version); err != nil {
		return err
	}
	if out == nil && p.on_chunk == nil {
		return invalid("out: NULL without on_chunk")
	}
	h, err := contexts.enter(number(ctx))
	if err != nil {
		return err
	}
	defer h.leave()

	r, err := newRequest(p, h.engine.NumCodebooks())
	if err != nil {
		return err
	}
	if err := setExtras(r, q); err != nil {
		return err
	}
	m, err := newManner(q)
	if err != nil {
		return err
	}
	res, err := h.speak(r, m, p, out)
	setResult(result, res, err)
	return err
}

// speak runs the request, to on_chunk or into out.
func (h *handle) speak(r *core.Request, m manner, p C.qwen_tts_params, out *C.struct_qt_audio) (core.Result, error) {
	self := currentThread()
	if err := h.begin(self); err != nil {
		return core.Result{}, err
	}
	defer h.end(self)

	ctx := &polled{handle: h, owner: self, cancel: p.cancel, user: userData(&p.cancel_user_data)}
	if p.on_chunk != nil {
		r.Stream = true
		return h.perform(ctx, r, m, chunkEmitter(p.on_chunk, userData(&p.on_chunk_user_data)))
	}
	var pcm pcmBuffer
	defer pcm.free()
	res, err := h.perform(ctx, r, m, pcm.append)
	if err != nil {
		res.Samples = 0 // none of them reaches the caller
		return res, err
	}
	*out = pcm.take()
	return res, nil
}

// perform speaks in one piece or several, at the speed that is wanted. The result counts what is emitted.
func (h *handle) perform(ctx context.Context, r *core.Request, m manner, emit func([]float32) error) (res core.Result, err error) {
	emitted := 0
	speed, err := audio.NewSpeed(core.SampleRate, m.speed, func(pcm []float32) error {
		emitted += len(pcm)
		return emit(pcm)
	})
	if err != nil {
		return res, err
	}
	defer speed.Discard()
	if m.long {
		var whole core.LongResult
		whole, err = h.engine.SynthesizeLong(ctx, r, m.pieces, speed.Write)
		res = whole.Result
	} else {
		res, err = h.engine.Synthesize(ctx, r, speed.Write)
	}
	if err == nil {
		err = speed.Close() // emits the rest
	}
	res.Samples = emitted
	return res, err
}

// clearResult checks and empties the struct at the start of a call; NULL is nobody who asks.
func clearResult(to *C.struct_qt_result) error {
	if to == nil {
		return nil
	}
	size := structSize(to)
	if err := checkSize("result.struct_size", size, minResult); err != nil {
		return err
	}
	writeSized(to, size, C.struct_qt_result{})
	return nil
}

// setResult tells what became of a synthesis, whether it failed or not.
func setResult(to *C.struct_qt_result, res core.Result, err error) {
	if to == nil {
		return
	}
	t := res.Timings
	writeSized(to, structSize(to), C.struct_qt_result{
		finish:         finish(res, err),
		n_frames:       C.int(res.Frames),
		sample_rate:    core.SampleRate,
		n_samples:      C.int64_t(res.Samples),
		seed:           C.int64_t(res.Seed),
		n_prompt:       C.int(res.Prompt),
		n_text_tokens:  C.int(res.TextTokens),
		prefill_ms:     milliseconds(t.Prefill),
		talker_ms:      milliseconds(t.Talker),
		predictor_ms:   milliseconds(t.Predictor),
		codec_ms:       milliseconds(t.Codec),
		first_audio_ms: milliseconds(t.FirstAudio),
		total_ms:       milliseconds(t.Total),
		warnings:       warningText(res.Warnings),
		reference_ms:   milliseconds(t.Reference),
		load_ms:        milliseconds(t.Load),
		tokenise_ms:    milliseconds(t.Tokenise),
		sampling_ms:    milliseconds(t.Sampling),
		rtf:            C.double(res.RTF()),
	})
}

func freeResult(r *C.struct_qt_result) error {
	if r == nil || structSize(r) == 0 {
		return nil
	}
	warnings := r.warnings
	if err := clearResult(r); err != nil {
		return err
	}
	cFree(warnings)
	return nil
}

func finish(res core.Result, err error) C.int {
	switch status(err) {
	case C.QT_STATUS_OK:
		switch res.Finish {
		case core.FinishLength:
			return C.QT_FINISH_LENGTH
		case core.FinishEmpty:
			return C.QT_FINISH_EMPTY
		}
		return C.QT_FINISH_STOP
	case C.QT_STATUS_CANCELLED:
		return C.QT_FINISH_CANCELLED
	case C.QT_STATUS_INVALID_PARAMS, C.QT_STATUS_MODE_INVALID:
		return C.QT_FINISH_NONE
	}
	if errors.Is(err, errBusy) {
		return C.QT_FINISH_BUSY
	}
	return C.QT_FINISH_ERROR
}

// warningText joins the warnings in C memory; NULL if there are none, or no memory for them.
func warningText(warnings []string) *C.char {
	if len(warnings) == 0 {
		return nil
	}
	s, err := newArray(append([]byte(printable(strings.Join(warnings, "\n"))), 0))
	if err != nil {
		return nil
	}
	return (*C.char)(unsafe.Pointer(s))
}
