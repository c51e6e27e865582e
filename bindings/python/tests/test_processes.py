"""What takes a process of its own: Ctrl-C, fork, the end of the interpreter, memory."""

import os
import platform
import signal
import subprocess
import sys
import textwrap

import pytest
from conftest import CODEC, MODELS, PATIENCE, talker

PREAMBLE = f"""
import libqwen, sys, os, time
tts = libqwen.TTS({str(talker("customvoice"))!r}, {str(CODEC)!r}, n_threads=1)
LONG = dict(speaker="vivian", seed=7, max_new_tokens=2000)
SHORT = dict(speaker="vivian", seed=42, max_new_tokens=8)
"""


def script(code):
    return [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)]


def run(code, **options):
    return subprocess.run(script(code), capture_output=True, text=True, timeout=PATIENCE, **options)


def succeeds(code):
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", result.stderr
    return result.stdout


CALLS = {
    "synthesize": "tts.synthesize('Hi.', on_progress=seen, **LONG)",
    "stream": "list(tts.stream('Hi.', on_progress=seen, **LONG))",
    "many": "list(tts.synthesize_many(['Hi.'] * 5, **LONG))",
    "on_chunk": "tts.synthesize('Hi.', on_chunk=lambda c: None, on_progress=seen, **LONG)",
    "asyncio": "asyncio.run(tts.asynthesize('Hi.', on_progress=seen, **LONG))",
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c(call):
    """A real SIGINT: KeyboardInterrupt within a frame, and the models are as good as before."""
    code = f"""
    import asyncio, threading
    frames = []
    def seen(p):
        frames.append(p.frames)
        if p.frames == 2: started.set()
    started = threading.Event()
    if {call!r} == "many": started.set()
    def announce():
        started.wait()
        time.sleep(0.1)
        print("started", flush=True)
    want = tts.synthesize("Hello world.", **SHORT)
    threading.Thread(target=announce, daemon=True).start()
    try:
        {CALLS[call]}
    except KeyboardInterrupt:
        print("interrupted after", frames[-1:], flush=True)
    from libqwen import _job
    for job in list(_job._running): job.join()
    again = tts.synthesize("Hello world.", **SHORT)
    print("again", bytes(memoryview(again.samples)) == bytes(memoryview(want.samples)))
    """
    with subprocess.Popen(script(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n", process.stderr.read()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 0 and err == "", err
    assert out.startswith("interrupted after"), out
    assert "2000" not in out and out.endswith("again True\n")


def test_ctrl_c_unhandled():
    code = "print('started', flush=True); tts.synthesize('Hi.', **LONG)"
    with subprocess.Popen(script(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT and err.rstrip().endswith("KeyboardInterrupt")


def test_fork():
    """The child gets an exception, not a hang; the parent goes on; the child's end frees nothing of the parent's."""
    out = succeeds("""
    import warnings
    warnings.simplefilter("ignore")  # newer Pythons warn of any fork with threads
    stream = tts.stream("Hi.", **LONG)
    next(stream)
    pid = os.fork()
    if pid == 0:
        code = 1
        calls = [lambda: tts.synthesize("Hi."), lambda: tts.speakers, lambda: next(stream), stream.close, libqwen.devices,
                 lambda: libqwen.TTS("a", "b"), lambda: libqwen.to_pcm16([0.5]), libqwen.version]
        refused = 0
        for call in calls:
            try:
                call()
            except libqwen.ForkError as err:
                refused += "spawn" in str(err)
        tts.close()
        del stream
        sys.exit(0 if refused == len(calls) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stream.close()
    print(len(tts.synthesize("Hello.", **SHORT)))
    """)
    assert out.split() == ["0", str(8 * 1920)]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    (tmp_path / "work.py").write_text(
        textwrap.dedent(f"""
        import multiprocessing, libqwen
        def speak(seed):
            with libqwen.TTS({str(talker("customvoice"))!r}, {str(CODEC)!r}, n_threads=1) as tts:
                return len(tts.synthesize("Hi.", speaker="vivian", seed=seed, max_new_tokens=3))
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(speak, [1, 2]))
        """)
    )
    result = subprocess.run([sys.executable, tmp_path / "work.py"], capture_output=True, text=True, timeout=PATIENCE)
    assert result.stdout == f"[{3 * 1920}, {3 * 1920}]\n", result.stderr


def test_subprocess_after_load():
    assert (
        succeeds("import subprocess; print(subprocess.run(['echo', 'x'], capture_output=True).stdout)") == "b'x\\n'\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "tts.stream('Hi.', **LONG)",
        "s = tts.stream('Hi.', **LONG); next(s)",
        "many = tts.synthesize_many(['Hi.'] * 9, concurrency=4, **SHORT); next(many)",
        "import threading; threading.Thread(target=lambda: list(tts.stream('Hi.', **LONG)), daemon=True).start(); time.sleep(.1)",
        "import libqwen.compat; libqwen.compat.QwenLibrary().set_log_callback(lambda level, line: None); del tts",
        "s = tts.stream('Hi.', **LONG); tts.close()",
        "class A: pass\na = A(); a.a, a.tts = a, tts; del a, tts",
        "sys.exit(0)",
    ],
)
def test_the_end_of_the_interpreter(code):
    """Whatever is under way: no hang, no crash, no noise."""
    assert succeeds("\n" + code) == ""


def test_nothing_on_stdout_and_stderr():
    assert succeeds("tts.synthesize('Hi.', **SHORT); tts.close()") == ""


def test_signal_handlers_are_left_alone():
    out = succeeds("""
    import signal
    signal.signal(signal.SIGUSR1, lambda *_: print("usr1"))
    tts.synthesize("Hi.", on_progress=lambda p: p.frames == 3 and os.kill(os.getpid(), signal.SIGUSR1), **SHORT)
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """)
    assert out.split() == ["usr1", "True"]


def test_rounding_mode_of_the_loader():
    """Go's threads are made when the library is loaded, and would keep the rounding mode of the thread that loads it."""
    upward = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())
    if upward is None:
        pytest.skip("FE_UPWARD of this processor")
    code = "import zlib; print(zlib.crc32(tts.synthesize('Hi.', **SHORT).samples))"
    change = f"import ctypes; libm = ctypes.CDLL('libm.so.6'); libm.fesetround({upward})"
    check = f"; assert libm.fegetround() == {upward}"
    changed = subprocess.run(
        [sys.executable, "-c", change + PREAMBLE + code + check], capture_output=True, text=True, timeout=120
    )
    assert changed.stderr == "" and changed.stdout == succeeds(code)


def test_memory_stays():
    """Hundreds of calls of every kind, errors and cancels included, leave nothing behind."""
    out = succeeds(f"""
    import gc, threading
    base = libqwen.TTS({str(talker("base"))!r}, {str(CODEC)!r}, n_threads=1)
    x = [((i * i) % 200 - 100) / 150 for i in range(24000)]
    mean = sum(x) / len(x)
    x = [(v - mean) / 2 for v in x]
    voice = libqwen.Voice.from_wav(base, x, text="words that were")
    import asyncio, resource

    def fail(*_): raise ZeroDivisionError

    def refused(call, error):
        try: call()
        except error: return
        raise AssertionError(call)

    async def asynchronous():
        async with tts.astream("Hi.", **LONG) as s:
            await anext(s)
        await tts.asynthesize("Hi.", speaker="vivian", max_new_tokens=1)

    def once(i):
        tts.synthesize("Hi.", speaker="vivian", max_new_tokens=3, on_chunk=lambda c: None, on_progress=lambda p: None)
        tts.synthesize("Hi.", speaker="vivian", max_new_tokens=2).encode("wav")
        with tts.stream("Hi.", **LONG) as s: next(s)
        tts.stream("Hi.", **LONG)
        refused(lambda: tts.synthesize("Hi.", speaker="nobody"), libqwen.InvalidParams)
        refused(lambda: tts.synthesize("Hi.", on_progress=fail, **LONG), ZeroDivisionError)
        refused(lambda: tts.synthesize("Hi.", cancel=fail, **LONG), ZeroDivisionError)
        refused(lambda: libqwen.TTS("nowhere", "nowhere"), libqwen.QwenError)
        base.synthesize("Hi.", voice=voice, max_new_tokens=1)
        libqwen.Voice.load(base, voice.to_bytes(base))
        base.synthesize("Hi.", ref_audio=x, max_new_tokens=1)
        list(tts.synthesize_many(["a", "b"], speaker="vivian", max_new_tokens=1))
        asyncio.run(asynchronous())
        if i % 10 == 0:
            libqwen.TTS({str(talker("customvoice"))!r}, {str(CODEC)!r}, n_threads=1).close()

    def state():
        gc.collect()
        with open("/proc/self/status") as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return rss, len(gc.get_objects())

    before, growth = None, (1 << 40, 1 << 40)
    for round_ in range(16):  # heaps and caches fill up for a while; a leak grows in each round
        for i in range(25): once(i)
        time.sleep(0.2)
        now = state()
        if before: growth = [min(g, n - b) for g, n, b in zip(growth, now, before)]
        if growth[0] < 1024 and growth[1] < 20: break
        before = now
    print(*growth, threading.active_count(), len(os.listdir("/proc/self/fd")) < 60)
    """)
    rss_kib, objects, threads, few_files = out.split()
    assert int(objects) < 20, out
    assert int(threads) <= 2 and few_files == "True", out  # asyncio's executor may keep one
    assert int(rss_kib) < 1024, out


def test_without_numpy():
    """NumPy is not asked for; where it is missing, samples are array.array."""
    out = succeeds("""
    assert "numpy" not in sys.modules
    sys.modules["numpy"] = None
    import array, io
    audio = tts.synthesize("Hi.", **SHORT)
    assert type(audio.samples) is array.array and audio.samples.typecode == "f"
    audio.save(io.BytesIO(), format="wav24")
    chunks = list(tts.stream("Hi.", **SHORT))
    assert sum(map(len, chunks)) == len(audio) and type(chunks[0]) is array.array
    print(len(tts.synthesize("Hi.", on_chunk=lambda c: None, **SHORT).samples))
    """)
    assert out == f"{8 * 1920}\n"


@pytest.mark.parametrize(
    ("value", "word"),
    [("/nowhere/libqwen.so", "QWEN_LIBRARY"), (__file__, "cannot be used"), ("libc.so.6", "cannot be used|not a file")],
)
def test_a_wrong_library(value, word):
    import re

    result = subprocess.run(
        [sys.executable, "-c", "import libqwen"],
        capture_output=True,
        text=True,
        env={**os.environ, "QWEN_LIBRARY": value},
    )
    assert result.returncode == 1 and "LibraryError" in result.stderr
    assert re.search(word, result.stderr)


def test_a_library_of_another_abi(tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int qt_abi_version(void) { return 3; }\n")
    old = tmp_path / "old.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", old], check=True)
    result = subprocess.run(
        [sys.executable, "-c", "import libqwen"],
        capture_output=True,
        text=True,
        env={**os.environ, "QWEN_LIBRARY": str(old)},
    )
    assert "has ABI version 3; this package needs 4" in result.stderr
    source.write_text("int qt_abi_version(void) { return 4; }\n")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", old], check=True)
    result = subprocess.run(
        [sys.executable, "-c", "import libqwen"],
        capture_output=True,
        text=True,
        env={**os.environ, "QWEN_LIBRARY": str(old)},
    )
    assert "is older than this package" in result.stderr


def test_models_are_there():
    assert len(list(MODELS.glob("*.gguf"))) >= 4
