"""One measured synthesis in a process of its own: worker.py JOB, JOB being JSON; the result is JSON on stdout.

The job: lib, model, codec, init ("std", or "cpu" for libraries with qt_init_cpu), threads (for "cpu"), text, frames,
seed, stream, warmup (frames spoken before the measurement, 0 for none), log (a file for what the library prints);
and for some rows layout ("whole" or "streamed": asks for it with qt_synthesize_ex, which not every library has),
reference (seconds of a clip whose voice the measured requests clone), requests (how many; the last one counts),
concurrent (so many threads call qt_synthesize at the same time, requests times each; all count), max_batch.
"""

import array
import ctypes as C
import itertools
import json
import math
import os
import random
import resource
import sys
import threading
import time

HOP, RATE = 1920, 24000
LAYOUTS = {"whole": 1, "streamed": 2}
REFERENCE_TEXT = b"These words stand for what the voice of the clip says."


class Audio(C.Structure):
    _fields_ = [("samples", C.POINTER(C.c_float)), ("n_samples", C.c_int), ("sample_rate", C.c_int),
                ("channels", C.c_int)]


class InitParams(C.Structure):
    _fields_ = [("abi_version", C.c_int), ("talker_path", C.c_char_p), ("codec_path", C.c_char_p),
                ("use_fa", C.c_bool), ("clamp_fp16", C.c_bool), ("max_batch", C.c_int), ("codec_chunk_sec", C.c_float),
                ("spare", C.c_char * 64)]


CancelCallback = C.CFUNCTYPE(C.c_bool, C.c_void_p)
ChunkCallback = C.CFUNCTYPE(C.c_bool, C.POINTER(C.c_float), C.c_int, C.c_void_p)
LogCallback = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)


class TTSParams(C.Structure):
    """struct qt_tts_params of ABI 4, and room for what a library of a later ABI writes behind it."""

    _fields_ = [
        ("abi_version", C.c_int), ("text", C.c_char_p), ("lang", C.c_char_p), ("instruct", C.c_char_p),
        ("speaker", C.c_char_p), ("ref_audio_24k", C.POINTER(C.c_float)), ("ref_n_samples", C.c_int),
        ("ref_text", C.c_char_p), ("seed", C.c_int64), ("max_new_tokens", C.c_int), ("do_sample", C.c_bool),
        ("temperature", C.c_float), ("top_k", C.c_int), ("top_p", C.c_float), ("repetition_penalty", C.c_float),
        ("subtalker_do_sample", C.c_bool), ("subtalker_temperature", C.c_float), ("subtalker_top_k", C.c_int),
        ("subtalker_top_p", C.c_float), ("dump_dir", C.c_char_p), ("cancel", CancelCallback),
        ("cancel_user_data", C.c_void_p), ("on_chunk", ChunkCallback), ("on_chunk_user_data", C.c_void_p),
        ("ref_spk_emb", C.POINTER(C.c_float)), ("ref_spk_dim", C.c_int), ("ref_codes", C.POINTER(C.c_int32)),
        ("ref_T", C.c_int), ("spare", C.c_char * 128),
    ]


class Request(C.Structure):
    """struct qt_request."""

    _fields_ = [("struct_size", C.c_int), ("text_layout", C.c_int), ("progress", C.c_void_p),
                ("progress_user_data", C.c_void_p), ("chunk_frames", C.c_int)]


def load(path):
    lib = C.CDLL(path)
    for f in (lib.qt_version, lib.qt_last_error, lib.qt_speaker_name):
        f.restype = C.c_char_p
    lib.qt_init.restype = C.c_void_p
    lib.qt_free.argtypes = [C.c_void_p]
    lib.qt_n_speakers.argtypes = [C.c_void_p]
    lib.qt_speaker_name.argtypes = [C.c_void_p, C.c_int]
    lib.qt_synthesize.argtypes = [C.c_void_p, C.POINTER(TTSParams), C.POINTER(Audio)]
    lib.qt_audio_free.argtypes = [C.POINTER(Audio)]
    return lib


class Clock:
    """Wall and CPU seconds since it was made."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), self.cpu_now()

    @staticmethod
    def cpu_now():
        r = resource.getrusage(resource.RUSAGE_SELF)
        return r.ru_utime + r.ru_stime

    def read(self):
        return time.perf_counter() - self.wall, self.cpu_now() - self.cpu


def memory(*keys):
    """Lines of /proc/self/status, in MiB."""
    with open("/proc/self/status") as f:
        status = dict(line.split(":", 1) for line in f)
    return [int(status[k].split()[0]) / 1024 for k in keys]


def init(lib, job):
    p = InitParams()
    lib.qt_init_default_params(C.byref(p))
    p.talker_path, p.codec_path = job["model"].encode(), job["codec"].encode()
    p.max_batch = job.get("max_batch", 1)
    clock = Clock()
    if job["init"] == "cpu":
        lib.qt_init_cpu.restype = C.c_void_p
        ctx = lib.qt_init_cpu(C.byref(p), C.c_int(job["threads"]))
    else:
        ctx = lib.qt_init(C.byref(p))
    if not ctx:
        raise RuntimeError(f"qt_init: {lib.qt_last_error().decode()}")
    return ctx, clock.read()


def clip(seconds):
    """A reference clip: a glide with a little noise. What it sounds like doesn't matter, the work is the same."""
    r = random.Random(1)
    return array.array("f", (0.3 * math.sin(600 * t + 150 * t * t) + 0.02 * r.uniform(-1, 1)
                             for t in (i / RATE for i in range(int(seconds * RATE)))))


def synthesize(lib, ctx, params, layout, audio):
    if not layout:
        return lib.qt_synthesize(ctx, C.byref(params), C.byref(audio))
    request = Request()
    lib.qt_request_init.argtypes = [C.POINTER(Request), C.c_size_t]
    lib.qt_request_init(C.byref(request), C.sizeof(request))
    request.text_layout = LAYOUTS[layout]
    lib.qt_synthesize_ex.argtypes = [C.c_void_p, C.POINTER(TTSParams), C.POINTER(Request), C.POINTER(Audio), C.c_void_p]
    return lib.qt_synthesize_ex(ctx, C.byref(params), C.byref(request), C.byref(audio), None)


class Speech:
    """What one synthesis gave: when each chunk came, how many samples, how loud."""

    def __init__(self, lib, ctx, job, frames, reference=None, number=0):
        stream = job["stream"]
        self.arrivals, self.samples, self.energy = [], 0, 0.0
        p = TTSParams()
        lib.qt_tts_default_params(C.byref(p))
        p.text, p.lang, p.seed, p.max_new_tokens = job["text"].encode(), b"english", job["seed"], frames
        p.seed += number
        if lib.qt_n_speakers(ctx) > 0:
            p.speaker = lib.qt_speaker_name(ctx, 0)
        if reference:
            samples = (C.c_float * len(reference)).from_buffer(reference)
            p.ref_audio_24k, p.ref_n_samples, p.ref_text = samples, len(reference), REFERENCE_TEXT
        clock, audio = Clock(), Audio()

        def on_chunk(samples, n, _):
            self.arrivals.append(clock.read())
            self.take(samples, n)
            return True

        if stream:
            p.on_chunk = ChunkCallback(on_chunk)
        status = synthesize(lib, ctx, p, job.get("layout"), audio)
        self.wall, self.cpu = clock.read()
        if status != 0:
            raise RuntimeError(f"qt_synthesize: status {status}: {lib.qt_last_error().decode()}")
        if not stream:
            self.take(audio.samples, audio.n_samples)
        lib.qt_audio_free(C.byref(audio))
        if self.samples != frames * HOP:
            raise RuntimeError(f"{self.samples} samples, want {frames} frames of {HOP}")
        if not (math.isfinite(self.energy) and self.energy > 0):
            raise RuntimeError(f"the samples are silent or not finite (sum of squares {self.energy})")

    def take(self, samples, n):
        if n:
            x = array.array("f", C.string_at(samples, 4 * n))
            self.samples, self.energy = self.samples + n, self.energy + sum(v * v for v in x[::97])


class Callers:
    """Threads that speak at the same time, a number of requests each, one after the other."""

    def __init__(self, lib, ctx, job, frames, requests):
        self.speeches, self.errors, self.job = [], [], job
        threads = [threading.Thread(target=self.call, args=(lib, ctx, frames, range(i * requests, (i + 1) * requests)))
                   for i in range(job["concurrent"])]
        clock = Clock()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.wall, self.cpu = clock.read()
        if self.errors:
            raise RuntimeError(self.errors[0])

    def call(self, lib, ctx, frames, numbers):
        try:
            for number in numbers:
                self.speeches.append(Speech(lib, ctx, self.job, frames, number=number))
        except (OSError, RuntimeError) as e:
            self.errors.append(str(e))

    def result(self):
        times = [s.arrivals for s in self.speeches if s.arrivals]
        gaps = [b[0] - a[0] for x in times for a, b in itertools.pairwise(x)]
        return {"wall": self.wall, "cpu": self.cpu, "samples": sum(s.samples for s in self.speeches), "perf": [],
                "first_audio": [x[0][0] for x in times], "longest_gap": max(gaps, default=0.0)}


def measure_callers(lib, ctx, job):
    if job["warmup"]:
        Callers(lib, ctx, job, job["warmup"], 1)
    return Callers(lib, ctx, job, job["frames"], job.get("requests", 1)).result()


def measure_last(lib, ctx, job, lines):
    """The last of some requests, one after the other."""
    if job["warmup"]:
        Speech(lib, ctx, job, job["warmup"])
    reference = clip(job["reference"]) if job.get("reference") else None
    speeches = []
    for _ in range(job.get("requests", 1)):
        lines.clear()
        speeches.append(Speech(lib, ctx, job, job["frames"], reference))
    s = speeches[-1]
    result = {"wall": s.wall, "cpu": s.cpu, "samples": s.samples, "perf": [x for x in lines if "[Perf]" in x]}
    if s.arrivals:
        times = [w for w, _ in s.arrivals]
        result |= {"first": s.arrivals[0], "firsts": [x.arrivals[0] for x in speeches], "chunks": len(times),
                   "longest_gap": max((b - a for a, b in itertools.pairwise(times)), default=0.0)}
    return result


def measure(job, log):
    lib, lines = load(job["lib"]), []

    def on_log(_, message, __):
        text = (message or b"").decode("utf8", "replace").rstrip()
        lines.append(text)
        log.write(text + "\n")

    callback = LogCallback(on_log)  # ctypes frees it with its last reference: it must outlive the library's use
    lib.qt_log_set(callback, None)
    ctx, (load_wall, load_cpu) = init(lib, job)
    result = measure_callers(lib, ctx, job) if job.get("concurrent") else measure_last(lib, ctx, job, lines)
    peak, anonymous = memory("VmHWM", "RssAnon")
    result |= {"version": lib.qt_version().decode(), "load": [load_wall, load_cpu], "peak_mib": peak,
               "anon_mib": anonymous}
    lib.qt_free(ctx)
    lib.qt_log_set(LogCallback(), None)
    return result


def main():
    job = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w")
    with open(job["log"], "w") as log:
        os.dup2(log.fileno(), 1)  # what a library prints by itself must not mix with the result
        os.dup2(log.fileno(), 2)
        try:
            result = measure(job, log)
        except (OSError, RuntimeError, AttributeError) as e:
            result = {"error": str(e)}
    print(json.dumps(result), file=out, flush=True)


if __name__ == "__main__":
    main()
