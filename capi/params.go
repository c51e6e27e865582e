package main

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// From C structs to core.Options, core.Request and core.Voice: shapes, counts, encodings and versions are
// checked here; what the values mean is core's business. No C memory is referred to afterwards.

// Bounds of a reference; a context holds far less, but nothing of theirs is read beyond them.
const (
	maxRefSeconds = core.MaxReferenceSeconds
	maxRefSamples = maxRefSeconds * core.SampleRate
	maxRefFrames  = maxRefSeconds * core.SampleRate / frameSamples
	maxXVector    = 1 << 16
	frameSamples  = 1920
)

// checkVersion comes before any other field is read.
func checkVersion(version C.int) error {
	if version < C.QT_ABI_MIN_VERSION || version > C.QT_ABI_VERSION {
		return invalid("abi_version: %d, this library accepts %d to %d; set it by the _default_params function",
			version, C.QT_ABI_MIN_VERSION, C.QT_ABI_VERSION)
	}
	return nil
}

// ---- Strings and arrays ----

// text copies a string that must be UTF-8; NULL is "".
func text(field string, s *C.char) (string, error) {
	if s == nil {
		return "", nil
	}
	t := C.GoString(s)
	for i, r := range t {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(t[i:]); n == 1 {
			return "", invalid("%s: not valid UTF-8 at byte %d", field, i)
		}
	}
	return t, nil
}

// path copies a file name, in whatever encoding the system has.
func path(field string, s *C.char) (string, error) {
	if s == nil || *s == 0 {
		return "", invalid("%s: required", field)
	}
	return C.GoString(s), nil
}

// optionalPath is path where NULL and "" mean none.
func optionalPath(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// checkCount checks an array's pointer against the field that counts its elements: NULL goes with 0.
func checkCount[T any](field string, p *T, count string, n C.int, most int) error {
	switch {
	case p == nil && n != 0:
		return invalid("%s: NULL, but %s is %d", field, count, n)
	case p != nil && (n < 1 || int(n) > most):
		return invalid("%s: %d, want 1 to %d with %s", count, n, most, field)
	}
	return nil
}

// array copies an array; NULL is nil.
func array[T any](field string, p *T, count string, n C.int, most int) ([]T, error) {
	if err := checkCount(field, p, count, n, most); err != nil || p == nil {
		return nil, err
	}
	return slices.Clone(unsafe.Slice(p, n)), nil
}

// ---- Opening ----

func defaultInitParams() C.struct_qt_init_params {
	return C.struct_qt_init_params{
		abi_version: C.QT_ABI_VERSION, use_fa: true, max_batch: 1, codec_chunk_sec: 24,
	}
}

// newOptions reads the parameters of qt_init and qt_init_ex.
func newOptions(p C.qwen_init_params, options C.qwen_options) (opts core.Options, queue int, err error) {
	if p == nil {
		return opts, 0, invalid("params: NULL")
	}
	if err := checkVersion(p.abi_version); err != nil {
		return opts, 0, err
	}
	if opts.TalkerPath, err = path("talker_path", p.talker_path); err != nil {
		return opts, 0, err
	}
	if p.codec_path != nil || !core.HoldsCodec(opts.TalkerPath) {
		if opts.CodecPath, err = path("codec_path", p.codec_path); err != nil {
			return opts, 0, err
		}
	}
	if p.max_batch < 1 {
		return opts, 0, invalid("max_batch: %d, want 1 or more", p.max_batch)
	}
	if !(p.codec_chunk_sec > 0) {
		return opts, 0, invalid("codec_chunk_sec: %v, want more than 0", p.codec_chunk_sec)
	}
	opts.NoFlashAttention = !bool(p.use_fa)
	opts.ClampFP16 = bool(p.clamp_fp16)
	opts.MaxBatch = int(p.max_batch)
	opts.ChunkSeconds = float32(p.codec_chunk_sec)
	opts.Logger = logger
	queue, err = addOptions(&opts, options)
	return opts, queue, err
}

// addOptions reads struct qt_options; max_queue is not for core.
func addOptions(opts *core.Options, o C.qwen_options) (queue int, err error) {
	if o == nil {
		return 0, nil
	}
	if err := checkSized("options", (*C.struct_qt_options)(o), minOptions); err != nil {
		return 0, err
	}
	bf16 := 0
	for _, f := range []struct {
		field string
		value C.int
		to    *int
	}{
		{"options.n_threads", o.n_threads, &opts.Threads},
		{"options.n_ctx", o.n_ctx, &opts.Context},
		{"options.max_queue", o.max_queue, &queue},
		{"options.codec_bf16", o.codec_bf16, &bf16},
	} {
		if f.value < 0 {
			return 0, invalid("%s: %d, want 0 or more", f.field, f.value)
		}
		*f.to = int(f.value)
	}
	if opts.Device, err = text("options.device", o.device); err != nil {
		return 0, err
	}
	opts.GGMLDir, opts.CodecBF16 = optionalPath(o.ggml_dir), bf16 != 0
	return queue, addLater(opts, o)
}

// addLater reads the fields of struct qt_options that the first release did not have: on models of several files, and
// on ONNX vocoders.
func addLater(opts *core.Options, o C.qwen_options) error {
	p := (*C.struct_qt_options)(o)
	if reaches(p, unsafe.Offsetof(p.predictor_path)) {
		opts.PredictorPath = optionalPath(o.predictor_path)
	}
	if reaches(p, unsafe.Offsetof(p.tokenizer_path)) {
		opts.TokenizerPath = optionalPath(o.tokenizer_path)
	}
	if reaches(p, unsafe.Offsetof(p.mode)) {
		mode, err := text("options.mode", o.mode)
		if err != nil {
			return err
		}
		opts.Mode = core.Mode(mode)
	}
	if !reaches(p, unsafe.Offsetof(p.onnx_provider)) {
		return nil
	}
	provider, err := text("options.onnx_provider", o.onnx_provider)
	if err != nil {
		return err
	}
	opts.ONNXProvider = provider
	if reaches(p, unsafe.Offsetof(p.kv_type)) {
		opts.KVType, err = text("options.kv_type", o.kv_type)
	}
	return err
}

// ---- Speaking ----

// defaultTTSParams are a request's values as C has them. Those of core.DefaultRequest are the constants of the ABI.
func defaultTTSParams(d core.Request) C.struct_qt_tts_params {
	return C.struct_qt_tts_params{
		abi_version:    C.QT_ABI_VERSION,
		seed:           C.int64_t(d.Seed),
		max_new_tokens: C.int(d.MaxFrames),

		do_sample:          C.bool(d.Talker.DoSample),
		temperature:        C.float(d.Talker.Temperature),
		top_k:              C.int(d.Talker.TopK),
		top_p:              C.float(d.Talker.TopP),
		repetition_penalty: C.float(d.Talker.RepetitionPenalty),

		subtalker_do_sample:   C.bool(d.Predictor.DoSample),
		subtalker_temperature: C.float(d.Predictor.Temperature),
		subtalker_top_k:       C.int(d.Predictor.TopK),
		subtalker_top_p:       C.float(d.Predictor.TopP),
	}
}

// newRequest reads the parameters of a synthesis, all but the callbacks. The reference codes are
// [codebooks][ref_T].
func newRequest(p C.qwen_tts_params, codebooks int) (*core.Request, error) {
	if p.text == nil {
		return nil, invalid("text: NULL")
	}
	r := core.DefaultRequest()
	for _, s := range []struct {
		field string
		from  *C.char
		to    *string
	}{
		{"text", p.text, &r.Text},
		{"lang", p.lang, &r.Language},
		{"instruct", p.instruct, &r.Instruct},
		{"speaker", p.speaker, &r.Speaker},
		{"ref_text", p.ref_text, &r.RefText},
	} {
		var err error
		if *s.to, err = text(s.field, s.from); err != nil {
			return nil, err
		}
	}
	r.DumpDir = optionalPath(p.dump_dir)
	if err := setReference(&r, p, codebooks); err != nil {
		return nil, err
	}
	setSampling(&r, p)
	return &r, nil
}

func setReference(r *core.Request, p C.qwen_tts_params, codebooks int) (err error) {
	r.RefAudio, err = array("ref_audio_24k", (*float32)(p.ref_audio_24k), "ref_n_samples", p.ref_n_samples, maxRefSamples)
	if err != nil {
		return err
	}
	xvector, err := array("ref_spk_emb", (*float32)(p.ref_spk_emb), "ref_spk_dim", p.ref_spk_dim, maxXVector)
	if err != nil {
		return err
	}
	codes, err := referenceCodes(p, codebooks)
	if err != nil {
		return err
	}
	if xvector != nil || codes != nil {
		r.Voice = &core.Voice{XVector: xvector, Codes: codes}
	}
	return nil
}

// referenceCodes are ref_codes as [ref_T][codebooks].
func referenceCodes(p C.qwen_tts_params, codebooks int) ([][]int32, error) {
	return transposed("ref_codes", p.ref_codes, "ref_T", p.ref_T, codebooks)
}

// transposed copies codes [codebooks][frames] as [frames][codebooks]; NULL is nil.
func transposed(field string, from *C.int32_t, count string, frames C.int, codebooks int) ([][]int32, error) {
	if err := checkCount(field, from, count, frames, maxRefFrames); err != nil || from == nil {
		return nil, err
	}
	n := int(frames)
	rows := unsafe.Slice((*int32)(from), codebooks*n)
	flat := make([]int32, codebooks*n)
	codes := make([][]int32, n)
	for t := range codes {
		codes[t] = flat[t*codebooks : (t+1)*codebooks : (t+1)*codebooks]
		for k := range codes[t] {
			codes[t][k] = rows[k*n+t]
		}
	}
	return codes, nil
}

func setSampling(r *core.Request, p C.qwen_tts_params) {
	r.Seed = int64(p.seed)
	r.MaxFrames = int(p.max_new_tokens)
	r.Talker = core.Sampling{
		DoSample:          bool(p.do_sample),
		Temperature:       float32(p.temperature),
		TopK:              int(p.top_k),
		TopP:              float32(p.top_p),
		RepetitionPenalty: float32(p.repetition_penalty),
	}
	r.Predictor = core.Sampling{
		DoSample:          bool(p.subtalker_do_sample),
		Temperature:       float32(p.subtalker_temperature),
		TopK:              int(p.subtalker_top_k),
		TopP:              float32(p.subtalker_top_p),
		RepetitionPenalty: r.Predictor.RepetitionPenalty,
	}
}

// manner is what a caller asks of a synthesis that is not part of core's request.
type manner struct {
	long   bool
	pieces core.LongOptions
	speed  float64
}

// newManner reads the fields of struct qt_request that the first release did not have. long_text lies where that release
// had padding: it counts only in a struct that reaches further.
func newManner(q C.qwen_request) (m manner, err error) {
	m.speed = 1
	if q == nil || !reaches((*C.struct_qt_request)(q), unsafe.Offsetof(q.piece_chars)) {
		return m, nil
	}
	if q.piece_chars < 0 {
		return m, invalid("request.piece_chars: %d, want 0 or more", q.piece_chars)
	}
	m.long = q.long_text != 0
	if q.speed != 0 { // as in a struct that was zeroed
		m.speed = float64(q.speed)
	}
	if m.pieces.PieceCharacters = int(q.piece_chars); m.pieces.PieceCharacters > 0 && !m.long {
		return m, invalid("request.piece_chars: %d without request.long_text", q.piece_chars)
	}
	if err := audio.CheckSpeed(m.speed); errors.Is(err, audio.ErrNoLibrary) {
		return m, fmt.Errorf("request.%w", err)
	} else if err != nil {
		return m, invalid("request.%v", err)
	}
	return m, nil
}

// setExtras reads struct qt_request into the request.
func setExtras(r *core.Request, q C.qwen_request) error {
	if q == nil {
		return nil
	}
	if err := checkSized("request", (*C.struct_qt_request)(q), minRequest); err != nil {
		return err
	}
	switch q.text_layout {
	case C.QT_LAYOUT_AUTO:
		r.Layout = core.LayoutAuto
	case C.QT_LAYOUT_WHOLE:
		r.Layout = core.LayoutWhole
	case C.QT_LAYOUT_STREAMED:
		r.Layout = core.LayoutStreamed
	default:
		return invalid("request.text_layout: %d, want 0 to 2", q.text_layout)
	}
	r.ChunkFrames = int(q.chunk_frames)
	r.Progress = progressReporter(q.progress, userData(&q.progress_user_data))
	return nil
}
