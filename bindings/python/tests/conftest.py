"""What the tests share. The models are the tiny ones that `make tiny` makes; LIBQWEN_TEST_MODELS names their folder."""

import os
import signal
import wave
from pathlib import Path

import numpy as np
import pytest

import libqwen

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell started in the background

MODELS = Path(os.environ.get("LIBQWEN_TEST_MODELS", Path(__file__).parents[3] / "build" / "demo"))
ROOT = Path(__file__).parents[3]
CODEC = MODELS / "tiny-tokenizer-12hz.gguf"
SHORT = {"seed": 42, "max_new_tokens": 8}
PATIENCE = 600  # seconds to wait for what must happen: on a busy machine, and only a failing test waits so long


def talker(family):
    return MODELS / f"tiny-{family}-17.gguf"


def open_tts(family, **options):
    return libqwen.TTS(talker(family), CODEC, **{"n_threads": 1, **options})


def _tts(family):
    @pytest.fixture(scope="session", name=family)
    def fixture():
        with open_tts(family) as tts:
            yield tts

    return fixture


customvoice, base, voicedesign = _tts("customvoice"), _tts("base"), _tts("voicedesign")


@pytest.fixture(scope="session")
def clip():
    return ROOT / "tests" / "golden" / "audio" / "speech_24k.wav"


@pytest.fixture(scope="session")
def expected(customvoice):
    """What the short request gives."""
    return customvoice.synthesize("Hello world.", speaker="vivian", **SHORT)


def samples(audio):
    return bytes(memoryview(audio.samples))


def assert_wav(path, audio):
    """The file has that audio: what is computed together may differ in rounding."""
    with wave.open(str(path)) as file:
        got = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    want = np.frombuffer(libqwen.to_pcm16(audio.samples), "<i2")
    assert len(got) == len(want)
    assert np.abs(got.astype(int) - want).max() <= 1
