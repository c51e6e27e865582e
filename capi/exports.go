// Command capi is libqwen.so: the C interface of include/qwen.h over package core.
//
// Every export checks and converts, calls core, and turns the outcome into a status: see guard.
// It is built with -buildmode=c-shared; four more public functions are C (bridge.c): qt_last_error, qt_last_status and
// qt_log_set, as they concern nothing of Go's, and qt_extract_voice_ref_ex, which passes its user data on as a number.
package main

// #cgo CFLAGS: -I${SRCDIR}/../include -std=gnu11 -Wall -Wextra
// #cgo LDFLAGS: -pthread -lm
// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/libqwen/libqwen/core"
)

func main() {} // never called in a shared library

// The state of the process that a C library cannot do without.
var (
	contexts  table // what struct qt_context * stands for
	constants = constantStrings{text: &C.qwen_constants}
)

// ---- Version ----

//export qt_version
func qt_version() (s C.qwen_string) {
	guard("qt_version", func() (err error) {
		s, err = constants.get(C.QWEN_VERSION_TEXT, versionString)
		return err
	})
	return s
}

//export qt_abi_version
func qt_abi_version() (v C.int) {
	guard("qt_abi_version", func() error {
		v = C.QT_ABI_VERSION
		return nil
	})
	return v
}

// ---- Context ----

//export qt_init_default_params
func qt_init_default_params(params *C.struct_qt_init_params) {
	guard("qt_init_default_params", func() error {
		if params != nil {
			*params = defaultInitParams()
		}
		return nil
	})
}

//export qt_options_init
func qt_options_init(options *C.struct_qt_options, size C.size_t) {
	guard("qt_options_init", func() error {
		return initSized(options, uintptr(size), C.struct_qt_options{})
	})
}

//export qt_init
func qt_init(params C.qwen_init_params) (ctx *C.struct_qt_context) {
	compute("qt_init", func() (err error) {
		ctx, err = open(params, nil)
		return err
	})
	return ctx
}

//export qt_init_ex
func qt_init_ex(params C.qwen_init_params, options C.qwen_options) (ctx *C.struct_qt_context) {
	compute("qt_init_ex", func() (err error) {
		ctx, err = open(params, options)
		return err
	})
	return ctx
}

//export qt_free
func qt_free(ctx *C.struct_qt_context) {
	guard("qt_free", func() error {
		contexts.free(number(ctx), currentThread())
		return nil
	})
}

// ---- Synthesis ----

//export qt_tts_default_params
func qt_tts_default_params(params *C.struct_qt_tts_params) {
	guard("qt_tts_default_params", func() error {
		if params != nil {
			*params = defaultTTSParams(core.DefaultRequest())
		}
		return nil
	})
}

//export qt_model_default_params
func qt_model_default_params(ctx C.qwen_context, params *C.struct_qt_tts_params) C.enum_qt_status {
	return guard("qt_model_default_params", func() error {
		if params == nil {
			return invalid("params: NULL")
		}
		*params = defaultTTSParams(core.DefaultRequest())
		return contexts.with(number(ctx), func(m *model) { *params = defaultTTSParams(m.engine.DefaultRequest()) })
	})
}

//export qt_request_init
func qt_request_init(request *C.struct_qt_request, size C.size_t) {
	guard("qt_request_init", func() error {
		return initSized(request, uintptr(size), C.struct_qt_request{speed: 1})
	})
}

//export qt_result_init
func qt_result_init(result *C.struct_qt_result, size C.size_t) {
	guard("qt_result_init", func() error {
		return initSized(result, uintptr(size), C.struct_qt_result{})
	})
}

//export qt_synthesize
func qt_synthesize(ctx *C.struct_qt_context, params C.qwen_tts_params, out *C.struct_qt_audio) C.enum_qt_status {
	return compute("qt_synthesize", func() error {
		return synthesize(ctx, params, nil, out, nil)
	})
}

//export qt_synthesize_ex
func qt_synthesize_ex(
	ctx *C.struct_qt_context, params C.qwen_tts_params, request C.qwen_request,
	out *C.struct_qt_audio, result *C.struct_qt_result,
) C.enum_qt_status {
	return compute("qt_synthesize_ex", func() error {
		return synthesize(ctx, params, request, out, result)
	})
}

//export qt_audio_free
func qt_audio_free(audio *C.struct_qt_audio) {
	guard("qt_audio_free", func() error {
		if audio != nil {
			cFree(audio.samples)
			*audio = C.struct_qt_audio{}
		}
		return nil
	})
}

//export qt_result_free
func qt_result_free(result *C.struct_qt_result) {
	guard("qt_result_free", func() error { return freeResult(result) })
}

// ---- Reference voices ----

//export qt_extract_voice_ref
func qt_extract_voice_ref(
	ctx *C.struct_qt_context, pcm C.qwen_floats, n C.int, out *C.struct_qt_voice_ref,
) C.enum_qt_status {
	return compute("qt_extract_voice_ref", func() error {
		return extractVoice(ctx, pcm, n, nil, 0, out)
	})
}

// qt_extract_voice_ref_ex, whose user data bridge.c has made a number.
//
//export qwen_extract_voice_ref_ex
func qwen_extract_voice_ref_ex(
	ctx *C.struct_qt_context, pcm C.qwen_floats, n C.int, cancel C.qt_cancel_cb, user C.uintptr_t, out *C.struct_qt_voice_ref,
) C.enum_qt_status {
	return compute("qt_extract_voice_ref_ex", func() error {
		return extractVoice(ctx, pcm, n, cancel, user, out)
	})
}

//export qt_voice_ref_free
func qt_voice_ref_free(ref *C.struct_qt_voice_ref) {
	guard("qt_voice_ref_free", func() error {
		if ref != nil {
			cFree(ref.ref_spk_emb)
			cFree(ref.ref_codes)
			*ref = C.struct_qt_voice_ref{}
		}
		return nil
	})
}

//export qt_recording_init
func qt_recording_init(recording *C.struct_qt_recording, size C.size_t) {
	guard("qt_recording_init", func() error {
		return initSized(recording, uintptr(size), C.struct_qt_recording{channels: 1, sample_rate: core.SampleRate})
	})
}

//export qt_read_recording
func qt_read_recording(recording C.qwen_recording, out *C.struct_qt_audio) C.enum_qt_status {
	return compute("qt_read_recording", func() error { return readRecording(recording, out) })
}

//export qt_encode_audio
func qt_encode_audio(
	samples C.qwen_floats, n, rate C.int, format C.qwen_string, out *C.struct_qt_bytes,
) C.enum_qt_status {
	return compute("qt_encode_audio", func() error { return encodeAudio(samples, n, rate, format, out) })
}

//export qt_bytes_free
func qt_bytes_free(bytes *C.struct_qt_bytes) {
	guard("qt_bytes_free", func() error {
		if bytes != nil {
			C.free(bytes.data)
			*bytes = C.struct_qt_bytes{}
		}
		return nil
	})
}

//export qt_voice_save
func qt_voice_save(
	ctx *C.struct_qt_context, ref C.qwen_voice_ref, refText C.qwen_string, out *C.struct_qt_bytes,
) C.enum_qt_status {
	return guard("qt_voice_save", func() error { return saveVoice(ctx, ref, refText, out) })
}

//export qt_voice_load
func qt_voice_load(
	ctx *C.struct_qt_context, file C.qwen_data, size C.size_t, out *C.struct_qt_voice_ref, refText *C.struct_qt_bytes,
) C.enum_qt_status {
	return guard("qt_voice_load", func() error { return loadVoice(ctx, unsafe.Pointer(file), size, out, refText) })
}

// ---- What a context has ----

//export qt_num_codebooks
func qt_num_codebooks(ctx C.qwen_context) (n C.int) {
	guard("qt_num_codebooks", func() error {
		return contexts.with(number(ctx), func(m *model) { n = C.int(m.engine.NumCodebooks()) })
	})
	return n
}

//export qt_duration_sec_to_tokens
func qt_duration_sec_to_tokens(ctx C.qwen_context, seconds C.float) (n C.int) {
	guard("qt_duration_sec_to_tokens", func() error {
		return contexts.with(number(ctx), func(m *model) {
			n = C.int(min(m.engine.FramesFor(float32(seconds)), math.MaxInt32))
		})
	})
	return n
}

//export qt_n_speakers
func qt_n_speakers(ctx C.qwen_context) (n C.int) {
	guard("qt_n_speakers", func() error {
		return contexts.with(number(ctx), func(m *model) { n = C.int(len(m.speakers)) })
	})
	return n
}

//export qt_speaker_name
func qt_speaker_name(ctx C.qwen_context, index C.int) (name C.qwen_string) {
	guard("qt_speaker_name", func() error {
		return contexts.with(number(ctx), func(m *model) { name = at(m.speakers, index) })
	})
	return name
}

//export qt_model_type
func qt_model_type(ctx C.qwen_context) (name C.qwen_string) {
	guard("qt_model_type", func() error {
		return contexts.with(number(ctx), func(m *model) { name = m.kind })
	})
	return name
}

//export qt_n_languages
func qt_n_languages(ctx C.qwen_context) (n C.int) {
	guard("qt_n_languages", func() error {
		return contexts.with(number(ctx), func(m *model) { n = C.int(len(m.languages)) })
	})
	return n
}

//export qt_language_name
func qt_language_name(ctx C.qwen_context, index C.int) (name C.qwen_string) {
	guard("qt_language_name", func() error {
		return contexts.with(number(ctx), func(m *model) { name = at(m.languages, index) })
	})
	return name
}

// ---- What the machine has ----

//export qt_devices
func qt_devices(ggmlDir C.qwen_string, devices *C.struct_qt_device, capacity C.int, size C.size_t) C.int {
	n := 0
	s := compute("qt_devices", func() (err error) {
		n, err = listDevices(ggmlDir, devices, capacity, uintptr(size))
		return err
	})
	if s != C.QT_STATUS_OK {
		return C.int(s)
	}
	return C.int(n)
}

//export qt_system_info
func qt_system_info() (s C.qwen_string) {
	compute("qt_system_info", func() (err error) {
		s, err = constants.get(C.QWEN_SYSTEM_INFO_TEXT, func() (string, error) { return core.SystemInfo("") })
		return err
	})
	return s
}
