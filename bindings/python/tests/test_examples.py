import subprocess
import sys
import wave
from pathlib import Path

import pytest
from conftest import CODEC, PATIENCE, talker

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *args):
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, args)], capture_output=True, timeout=PATIENCE, check=False
    )


def frames(path):
    with wave.open(str(path)) as w:
        return w.readframes(w.getnframes())


def test_hello(tmp_path, expected):
    result = run("hello.py", talker("customvoice"), CODEC, "Hello world.", "vivian", tmp_path / "x.wav", 42, 8)
    assert result.returncode == 0, result.stderr
    assert frames(tmp_path / "x.wav") == expected.pcm16() and b"0.64 s, seed 42" in result.stdout


def test_stream(expected):
    result = run("stream.py", talker("customvoice"), CODEC, "Hello world.", "vivian", 42, 8)
    assert result.returncode == 0, result.stderr
    assert result.stdout == expected.pcm16()


def test_clone(tmp_path, clip, base):
    result = run("clone.py", talker("base"), CODEC, "Hello world.", clip, "", tmp_path / "x.wav", 42, 8)
    assert result.returncode == 0, result.stderr
    assert (
        frames(tmp_path / "x.wav") == base.synthesize("Hello world.", ref_audio=clip, seed=42, max_new_tokens=8).pcm16()
    )
    text = "What is spoken in the recording, more or less."
    result = run("clone.py", talker("base"), CODEC, "Hello world.", clip, text, tmp_path / "y.wav", 42, 8)
    assert result.returncode == 0, result.stderr
    assert frames(tmp_path / "y.wav") not in (b"", frames(tmp_path / "x.wav"))


def test_design(tmp_path):
    result = run("design.py", talker("voicedesign"), CODEC, "Hello world.", "A calm voice.", tmp_path / "x.wav", 42, 8)
    assert result.returncode == 0, result.stderr
    assert len(frames(tmp_path / "x.wav")) == 2 * 8 * 1920


@pytest.mark.parametrize("name", ["hello.py", "stream.py", "clone.py", "design.py"])
def test_failures(name, tmp_path):
    assert run(name).returncode == 2
    extra = ["out.wav"] if name != "stream.py" else []
    extra = ["clip.wav", *extra] if name == "clone.py" else extra
    result = run(name, "/nowhere/talker.gguf", CODEC, "Hi.", *extra, "x")
    assert result.returncode == 1 and b"/nowhere/talker.gguf" in result.stderr and b"Traceback" not in result.stderr
    assert result.stderr.count(b"\n") == 1
