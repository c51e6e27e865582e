"""The C interface in ctypes, word for word from ``include/qwen.h``; the tests compare it with the library's layout."""

from __future__ import annotations

import ctypes as c
from typing import Any

ABI_VERSION = 4

OK = 0
CANCELLED = -5

FINISH_BUSY = 6
FINISH = ("none", "stop", "length", "cancelled", "empty", "error", "busy")
LAYOUTS = ("auto", "whole", "streamed")
DEVICE_TYPES = ("cpu", "gpu", "integrated gpu", "accelerator", "other")

CancelCallback = c.CFUNCTYPE(c.c_bool, c.c_void_p)
ChunkCallback = c.CFUNCTYPE(c.c_bool, c.POINTER(c.c_float), c.c_int, c.c_void_p)
LogCallback = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class qt_progress(c.Structure):
    """How far a synthesis is."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("n_frames", c.c_int),
        ("max_frames", c.c_int),
        ("elapsed_ms", c.c_double),
    ]


ProgressCallback = c.CFUNCTYPE(None, c.POINTER(qt_progress), c.c_void_p)


class qt_init_params(c.Structure):
    """Which files to load, and how."""

    _fields_ = [
        ("abi_version", c.c_int),
        ("talker_path", c.c_char_p),
        ("codec_path", c.c_char_p),
        ("use_fa", c.c_bool),
        ("clamp_fp16", c.c_bool),
        ("max_batch", c.c_int),
        ("codec_chunk_sec", c.c_float),
    ]


class qt_options(c.Structure):
    """Where and how to run a model."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("n_threads", c.c_int),
        ("device", c.c_char_p),
        ("ggml_dir", c.c_char_p),
        ("n_ctx", c.c_int),
        ("max_queue", c.c_int),
        ("codec_bf16", c.c_int),
        ("predictor_path", c.c_char_p),
        ("tokenizer_path", c.c_char_p),
        ("mode", c.c_char_p),
        ("onnx_provider", c.c_char_p),
        ("kv_type", c.c_char_p),
    ]


class qt_tts_params(c.Structure):
    """One synthesis."""

    _fields_ = [
        ("abi_version", c.c_int),
        ("text", c.c_char_p),
        ("lang", c.c_char_p),
        ("instruct", c.c_char_p),
        ("speaker", c.c_char_p),
        ("ref_audio_24k", c.POINTER(c.c_float)),
        ("ref_n_samples", c.c_int),
        ("ref_text", c.c_char_p),
        ("seed", c.c_int64),
        ("max_new_tokens", c.c_int),
        ("do_sample", c.c_bool),
        ("temperature", c.c_float),
        ("top_k", c.c_int),
        ("top_p", c.c_float),
        ("repetition_penalty", c.c_float),
        ("subtalker_do_sample", c.c_bool),
        ("subtalker_temperature", c.c_float),
        ("subtalker_top_k", c.c_int),
        ("subtalker_top_p", c.c_float),
        ("dump_dir", c.c_char_p),
        ("cancel", CancelCallback),
        ("cancel_user_data", c.c_void_p),
        ("on_chunk", ChunkCallback),
        ("on_chunk_user_data", c.c_void_p),
        ("ref_spk_emb", c.POINTER(c.c_float)),
        ("ref_spk_dim", c.c_int),
        ("ref_codes", c.POINTER(c.c_int32)),
        ("ref_T", c.c_int),
    ]


class qt_request(c.Structure):
    """What one may ask of a synthesis beyond qt_tts_params."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("text_layout", c.c_int),
        ("progress", ProgressCallback),
        ("progress_user_data", c.c_void_p),
        ("chunk_frames", c.c_int),
        ("long_text", c.c_int),
        ("piece_chars", c.c_int),
        ("speed", c.c_float),
    ]


class qt_audio(c.Structure):
    """Samples of the library's."""

    _fields_ = [
        ("samples", c.POINTER(c.c_float)),
        ("n_samples", c.c_int),
        ("sample_rate", c.c_int),
        ("channels", c.c_int),
    ]


class qt_result(c.Structure):
    """What is to be known of a synthesis."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("finish", c.c_int),
        ("n_frames", c.c_int),
        ("sample_rate", c.c_int),
        ("n_samples", c.c_int64),
        ("seed", c.c_int64),
        ("n_prompt", c.c_int),
        ("n_text_tokens", c.c_int),
        ("prefill_ms", c.c_double),
        ("talker_ms", c.c_double),
        ("predictor_ms", c.c_double),
        ("codec_ms", c.c_double),
        ("first_audio_ms", c.c_double),
        ("total_ms", c.c_double),
        ("warnings", c.c_char_p),
        ("reference_ms", c.c_double),
        ("load_ms", c.c_double),
        ("tokenise_ms", c.c_double),
        ("sampling_ms", c.c_double),
        ("rtf", c.c_double),
    ]


class qt_voice_ref(c.Structure):
    """A reference voice of the library's."""

    _fields_ = [
        ("ref_spk_emb", c.POINTER(c.c_float)),
        ("ref_spk_dim", c.c_int),
        ("ref_codes", c.POINTER(c.c_int32)),
        ("ref_T", c.c_int),
        ("num_codebooks", c.c_int),
    ]


class qt_recording(c.Structure):
    """A recording as it comes."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("trim", c.c_int),
        ("file", c.c_char_p),  # const void *
        ("file_size", c.c_size_t),
        ("samples", c.POINTER(c.c_float)),
        ("n_frames", c.c_int),
        ("channels", c.c_int),
        ("sample_rate", c.c_int),
        ("ref_text", c.c_char_p),
    ]


class qt_bytes(c.Structure):
    """Bytes that the library made."""

    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]


class qt_device(c.Structure):
    """A device that a model can run on."""

    _fields_ = [
        ("struct_size", c.c_int),
        ("type", c.c_int),
        ("name", c.c_char * 64),
        ("description", c.c_char * 128),
        ("memory_free", c.c_uint64),
        ("memory_total", c.c_uint64),
    ]


_ctx = c.c_void_p
_string = c.c_char_p
_P = c.POINTER

# Result and arguments of every function.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "qt_version": (_string, []),
    "qt_abi_version": (c.c_int, []),
    "qt_last_error": (_string, []),
    "qt_last_status": (c.c_int, []),
    "qt_log_set": (None, [LogCallback, c.c_void_p]),
    "qt_init_default_params": (None, [_P(qt_init_params)]),
    "qt_options_init": (None, [_P(qt_options), c.c_size_t]),
    "qt_init": (_ctx, [_P(qt_init_params)]),
    "qt_init_ex": (_ctx, [_P(qt_init_params), _P(qt_options)]),
    "qt_free": (None, [_ctx]),
    "qt_tts_default_params": (None, [_P(qt_tts_params)]),
    "qt_model_default_params": (c.c_int, [_ctx, _P(qt_tts_params)]),
    "qt_request_init": (None, [_P(qt_request), c.c_size_t]),
    "qt_result_init": (None, [_P(qt_result), c.c_size_t]),
    "qt_synthesize": (c.c_int, [_ctx, _P(qt_tts_params), _P(qt_audio)]),
    "qt_synthesize_ex": (
        c.c_int,
        [_ctx, _P(qt_tts_params), _P(qt_request), _P(qt_audio), _P(qt_result)],
    ),
    "qt_audio_free": (None, [_P(qt_audio)]),
    "qt_result_free": (None, [_P(qt_result)]),
    "qt_extract_voice_ref": (c.c_int, [_ctx, _P(c.c_float), c.c_int, _P(qt_voice_ref)]),
    "qt_extract_voice_ref_ex": (
        c.c_int,
        [_ctx, _P(c.c_float), c.c_int, CancelCallback, c.c_void_p, _P(qt_voice_ref)],
    ),
    "qt_voice_ref_free": (None, [_P(qt_voice_ref)]),
    "qt_recording_init": (None, [_P(qt_recording), c.c_size_t]),
    "qt_read_recording": (c.c_int, [_P(qt_recording), _P(qt_audio)]),
    "qt_encode_audio": (c.c_int, [_P(c.c_float), c.c_int, c.c_int, _string, _P(qt_bytes)]),
    "qt_bytes_free": (None, [_P(qt_bytes)]),
    "qt_voice_save": (c.c_int, [_ctx, _P(qt_voice_ref), _string, _P(qt_bytes)]),
    "qt_voice_load": (c.c_int, [_ctx, c.c_char_p, c.c_size_t, _P(qt_voice_ref), _P(qt_bytes)]),
    "qt_num_codebooks": (c.c_int, [_ctx]),
    "qt_duration_sec_to_tokens": (c.c_int, [_ctx, c.c_float]),
    "qt_n_speakers": (c.c_int, [_ctx]),
    "qt_speaker_name": (_string, [_ctx, c.c_int]),
    "qt_model_type": (_string, [_ctx]),
    "qt_n_languages": (c.c_int, [_ctx]),
    "qt_language_name": (_string, [_ctx, c.c_int]),
    "qt_devices": (c.c_int, [_string, _P(qt_device), c.c_int, c.c_size_t]),
    "qt_system_info": (_string, []),
}
