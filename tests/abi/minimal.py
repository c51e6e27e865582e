"""The C interface from Python's ctypes: python3 minimal.py libqwen.so TALKER.gguf CODEC.gguf

Written from qwen.h alone; the struct sizes are compared with those in layout.golden.
"""
import ctypes as c
import pathlib
import sys

CANCEL = c.CFUNCTYPE(c.c_bool, c.c_void_p)
CHUNK = c.CFUNCTYPE(c.c_bool, c.POINTER(c.c_float), c.c_int, c.c_void_p)
LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class InitParams(c.Structure):
    _fields_ = [
        ("abi_version", c.c_int),
        ("talker_path", c.c_char_p),
        ("codec_path", c.c_char_p),
        ("use_fa", c.c_bool),
        ("clamp_fp16", c.c_bool),
        ("max_batch", c.c_int),
        ("codec_chunk_sec", c.c_float),
    ]


class TTSParams(c.Structure):
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
        ("cancel", CANCEL),
        ("cancel_user_data", c.c_void_p),
        ("on_chunk", CHUNK),
        ("on_chunk_user_data", c.c_void_p),
        ("ref_spk_emb", c.POINTER(c.c_float)),
        ("ref_spk_dim", c.c_int),
        ("ref_codes", c.POINTER(c.c_int32)),
        ("ref_T", c.c_int),
    ]


class Audio(c.Structure):
    _fields_ = [
        ("samples", c.POINTER(c.c_float)),
        ("n_samples", c.c_int),
        ("sample_rate", c.c_int),
        ("channels", c.c_int),
    ]


def load(path):
    lib = c.CDLL(path)
    lib.qt_version.restype = c.c_char_p
    lib.qt_last_error.restype = c.c_char_p
    lib.qt_init.restype = c.c_void_p
    lib.qt_free.argtypes = [c.c_void_p]
    lib.qt_free.restype = None
    lib.qt_synthesize.argtypes = [c.c_void_p, c.POINTER(TTSParams), c.POINTER(Audio)]
    lib.qt_n_speakers.argtypes = [c.c_void_p]
    lib.qt_speaker_name.argtypes = [c.c_void_p, c.c_int]
    lib.qt_speaker_name.restype = c.c_char_p
    lib.qt_log_set.argtypes = [LOG, c.c_void_p]
    return lib


def check(name, ok):
    print(("ok" if ok else "not ok") + " - python: " + name, flush=True)
    return ok


def golden_sizes():
    lines = pathlib.Path(__file__).with_name("layout.golden").read_text().splitlines()
    return {f[1]: int(f[2]) for f in map(str.split, lines) if f[0] == "struct"}


def main(library, talker, codec):
    sizes = golden_sizes()
    good = check(
        "sizes of the structs",
        [c.sizeof(s) for s in (InitParams, TTSParams, Audio)]
        == [sizes[n] for n in ("qt_init_params", "qt_tts_params", "qt_audio")],
    )

    lib = load(library)
    log_lines = []
    log = LOG(lambda level, msg, user: log_lines.append(msg.decode()))
    lib.qt_log_set(log, None)

    init = InitParams()
    lib.qt_init_default_params(c.byref(init))
    init.talker_path = talker.encode()
    init.codec_path = codec.encode()
    ctx = lib.qt_init(c.byref(init))
    if not check("qt_init", ctx is not None):
        print("#", lib.qt_last_error().decode())
        return False

    params = TTSParams()
    lib.qt_tts_default_params(c.byref(params))
    params.text = "Grüße aus Python.".encode()
    params.lang = b"auto"
    params.seed = 42
    params.max_new_tokens = 6
    audio = Audio()
    if lib.qt_n_speakers(ctx) > 0:
        params.speaker = lib.qt_speaker_name(ctx, 0)
    elif lib.qt_synthesize(ctx, c.byref(params), c.byref(audio)) == -2:  # a voice_design model
        params.instruct = b"A calm voice."
    lib.qt_audio_free(c.byref(audio))

    status = lib.qt_synthesize(ctx, c.byref(params), c.byref(audio))
    whole = audio.samples[: audio.n_samples]
    good &= check("qt_synthesize", status == 0 and len(whole) > 0 and audio.sample_rate == 24000)
    lib.qt_audio_free(c.byref(audio))

    pieces = []

    def on_chunk(samples, n, user):
        pieces.extend(samples[:n])
        return True

    params.on_chunk = CHUNK(on_chunk)
    status = lib.qt_synthesize(ctx, c.byref(params), None)
    worst = max((abs(a - b) for a, b in zip(pieces, whole)), default=1)
    good &= check("on_chunk", status == 0 and len(pieces) == len(whole) and worst <= 2e-6)

    params.on_chunk = CHUNK()
    params.cancel = CANCEL(lambda user: True)
    status = lib.qt_synthesize(ctx, c.byref(params), c.byref(audio))
    good &= check("cancel", status == -5 and not audio.samples)

    params.abi_version = 5
    status = lib.qt_synthesize(ctx, c.byref(params), c.byref(audio))
    good &= check("abi_version 5", status == -1 and b"abi_version" in lib.qt_last_error())
    lib.qt_free(ctx)
    lib.qt_free(ctx)
    good &= check("log callback", len(log_lines) > 0)
    lib.qt_log_set(LOG(), None)
    print("#", lib.qt_version().decode())
    return good


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(0 if main(*sys.argv[1:]) else 1)
