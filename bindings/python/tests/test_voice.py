import array
import io
import signal
import threading
import wave

import numpy as np
import pytest
from conftest import SHORT, samples

import libqwen
from libqwen import Voice
from libqwen.voice import read_recording

TEXT = "This is what the recording says, it is not quite true."


@pytest.fixture(scope="module")
def voice(base, clip):
    return Voice.from_wav(base, clip, text=TEXT)


@pytest.fixture(scope="module")
def pcm(clip):
    with wave.open(str(clip)) as w:
        return np.frombuffer(w.readframes(w.getnframes()), dtype="<i2")


def test_parts(voice, base):
    assert voice.x_vector.dtype == np.float32 and voice.codes.dtype == np.int32
    assert voice.codes.shape == (16, voice.frames) and voice.frames > 5 and voice.text == TEXT
    again = Voice(voice.x_vector, voice.codes, text=TEXT)
    flat = Voice(list(voice.x_vector), voice.codes.reshape(-1), text=TEXT)
    want = samples(base.synthesize("Hi.", voice=voice, **SHORT))
    assert want == samples(base.synthesize("Hi.", voice=again, **SHORT))
    assert want == samples(base.synthesize("Hi.", voice=flat, **SHORT))
    assert "256" in repr(voice) and TEXT in repr(voice)


def test_a_recording_speaks_like_its_voice(base, voice, clip):
    want = base.synthesize("Hi.", voice=voice, **SHORT)
    direct = base.synthesize("Hi.", ref_audio=clip, ref_text=TEXT, **SHORT)
    assert samples(want) == samples(direct)
    x_only = base.synthesize("Hi.", ref_audio=clip, **SHORT)
    assert samples(x_only) != samples(direct)
    assert samples(x_only) == samples(base.synthesize("Hi.", voice=Voice(voice.x_vector), **SHORT))
    assert samples(x_only) == samples(base.synthesize("Hi.", voice=Voice(voice.x_vector, voice.codes), **SHORT))
    retold = base.synthesize("Hi.", voice=voice, ref_text="Something else was said, and longer.", **SHORT)
    assert samples(retold) not in (samples(want), samples(x_only))


def test_save_and_load(base, voice, tmp_path):
    voice.save(tmp_path / "a.qvoice")
    out = io.BytesIO()
    voice.save(out)
    data = (tmp_path / "a.qvoice").read_bytes()
    assert out.getvalue() == data == voice.to_bytes(base)
    for source in (tmp_path / "a.qvoice", str(tmp_path / "a.qvoice"), data, io.BytesIO(data)):
        again = Voice.load(base, source)
        assert again.text == TEXT
        np.testing.assert_array_equal(again.x_vector, voice.x_vector)
        np.testing.assert_array_equal(again.codes, voice.codes)
    parts = Voice(voice.x_vector)
    with pytest.raises(libqwen.InvalidParams, match="tts"):
        parts.save(tmp_path / "b.qvoice")
    parts.save(tmp_path / "b.qvoice", tts=base)
    again = Voice.load(base, tmp_path / "b.qvoice")
    assert again.text is None and again.codes is None and again.frames == 0


class TestCancel:
    def test_a_true_answer(self, base, clip):
        polls = []
        with pytest.raises(libqwen.Cancelled):
            Voice.from_wav(base, fresh(clip, 1), cancel=lambda: polls.append(1) or len(polls) == 2)
        assert len(polls) == 2
        assert Voice.from_wav(base, fresh(clip, 1), cancel=lambda: False).frames > 5

    @pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
    def test_exceptions_come_out(self, base, clip, error):
        def fail():
            raise error("mine")

        with pytest.raises(error, match="mine"):
            Voice.from_wav(base, fresh(clip, 2), cancel=fail)

    def test_ctrl_c(self, base, clip):
        """A real SIGINT stops the extraction, not only the waiting for it."""
        whole, polls, interrupted = [], [], threading.Event()
        Voice.from_wav(base, fresh(clip, 3), cancel=lambda: whole.append(1) and False)

        def poll():
            polls.append(1)
            if len(polls) == 1:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            interrupted.wait(1)  # the main thread sets it when the extraction is over: each further poll is late

        with pytest.raises(KeyboardInterrupt):
            Voice.from_wav(base, fresh(clip, 4), cancel=poll)
        interrupted.set()
        assert len(polls) < len(whole)


def fresh(clip, n):
    """A recording that was not listened to before: voices are kept."""
    with wave.open(str(clip)) as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2").copy()
    pcm = np.resize(pcm, 20 * 24000)
    pcm[0] = n
    return pcm


def test_files_that_are_no_voices(base, customvoice, voice, tmp_path, clip):
    data = voice.to_bytes(base)
    with pytest.raises(FileNotFoundError):
        Voice.load(base, tmp_path / "nowhere.qvoice")
    for bad in (b"x", data[:-1], data + b"x", data[:100] + b"\xff" + data[101:], clip.read_bytes()):
        with pytest.raises(libqwen.InvalidParams):
            Voice.load(base, bad)
    with pytest.raises(libqwen.InvalidParams):
        Voice.load(base, b"")
    with pytest.raises(libqwen.ModeError, match="base"):
        Voice.load(customvoice, data)
    with pytest.raises(libqwen.ModeError):
        Voice.from_wav(customvoice, clip)
    with pytest.raises(libqwen.ModeError):
        customvoice.synthesize("Hi.", voice=voice, **SHORT)
    with pytest.raises(libqwen.InvalidParams, match="speaker"):
        customvoice.synthesize("Hi.", voice=voice, speaker="vivian", **SHORT)


@pytest.mark.parametrize(
    ("x_vector", "codes", "word"),
    [
        ([], None, "x_vector"),
        ("abc", None, "x_vector"),
        ([1.0] * 256, [[1, 2]], "codes"),
        ([1.0] * 256, [1] * 17, "codes"),
        ([1.0] * 256, [], "codes"),
        ([1.0] * 256, [[1.5]] * 16, "codes"),
        ([1.0] * 256, np.zeros((16, 2, 2), int), "codes"),
    ],
)
def test_wrong_parts(x_vector, codes, word):
    with pytest.raises(libqwen.InvalidParams, match=word):
        Voice(x_vector, codes)


def test_wrong_values_are_the_librarys_to_find(base):
    with pytest.raises(libqwen.InvalidParams, match="ref_spk_emb"):
        base.synthesize("Hi.", voice=Voice([1.0] * 7), **SHORT)
    with pytest.raises(libqwen.InvalidParams, match="ref_spk_emb"):
        base.synthesize("Hi.", voice=Voice([float("nan")] * 256), **SHORT)
    with pytest.raises(libqwen.InvalidParams, match="ref_codes"):
        base.synthesize("Hi.", voice=Voice([1.0] * 256, [[99999]] * 16, text="words are spoken here"), **SHORT)
    with pytest.raises(libqwen.InvalidParams, match="exclude"):
        base.synthesize("Hi.", voice=Voice([1.0] * 256), ref_audio=b"", **SHORT)


class Tensor:
    """What has __array__ only, as tensors do."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype=dtype)


class TestRecordings:
    def test_every_kind_of_source(self, clip, pcm):
        floats = pcm.astype(np.float32) / 32768
        want = floats.tobytes()
        sources = [
            clip, str(clip), clip.read_bytes(), bytearray(clip.read_bytes()), io.BytesIO(clip.read_bytes()),
            pcm, floats, floats.astype(np.float64), pcm.astype(np.int32) << 16, (pcm, 24000), (24000, floats),
            (floats, np.int64(24000)), array.array("f", floats), array.array("h", pcm), memoryview(floats), floats.tolist(),
            Tensor(floats), np.stack([floats, floats]), np.stack([floats, floats], axis=1), floats[None, :], floats[::1],
        ]  # fmt: skip
        for source in sources:
            assert bytes(read_recording(source)) == want, type(source)
        with clip.open("rb") as file:
            assert bytes(read_recording(file)) == want

    def test_strided(self, pcm):
        floats = np.repeat(pcm.astype(np.float32) / 32768, 2)
        assert bytes(read_recording(floats[::2])) == bytes(read_recording(pcm))

    @pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
    def test_rates(self, rate):
        x = np.sin(np.arange(rate) * 440 * 2 * np.pi / rate).astype(np.float32)
        got = np.frombuffer(read_recording((x, rate)), dtype="f4")
        assert abs(len(got) - 24000) <= 1
        want = np.sin(np.arange(len(got)) * 440 * 2 * np.pi / 24000)
        assert np.abs(got - want)[200:-200].max() < 2e-2

    def test_warnings_are_logged(self, clip, caplog):
        read_recording(clip, text="x")
        assert any("transcript" in r.message and r.levelname == "WARNING" for r in caplog.records)

    def test_trim(self, pcm):
        padded = np.concatenate([np.zeros(24000, np.int16), pcm, pcm, np.zeros(24000, np.int16)])
        assert len(read_recording(padded, trim=True)) < len(padded) - 24000

    @pytest.mark.parametrize(
        ("source", "word"),
        [
            (b"neither this nor that", "recording"),
            (b"", "recording"),
            (np.zeros(0, np.float32), "shape"),
            (np.zeros(24000, np.float32), "silen"),
            (np.full(24000, np.nan, np.float32), "finite"),
            (np.zeros((3, 4, 5)), "shape"),
            (np.zeros(24000, complex), "complex"),
            (np.zeros(24000, bool), "bool"),
            (np.ones(100, np.float32), "recording"),
            ((np.ones(24000, np.float32), 0), "Hz"),
            ((np.ones(24000, np.float32), -5), "Hz"),
            ((np.ones(24000, np.float32), 1 << 40), "rate"),
            (["a", "b"], "recording"),
            (None, "recording"),
            (42, "recording"),
        ],
    )
    def test_refused(self, source, word):
        with pytest.raises(libqwen.InvalidParams, match=word):
            read_recording(source)

    def test_text_files(self, tmp_path, clip):
        (tmp_path / "x.txt").write_text("words")
        with (tmp_path / "x.txt").open() as file, pytest.raises(TypeError, match="binary"):
            read_recording(file)
        with pytest.raises(libqwen.InvalidParams):
            read_recording(tmp_path / "x.txt")
        with pytest.raises(IsADirectoryError):
            read_recording(tmp_path)
        with pytest.raises(FileNotFoundError):
            read_recording("nowhere.wav")
        with pytest.raises(libqwen.InvalidParams, match="text"):
            read_recording(clip, text="\ud800")

    def test_what_was_saved_is_read(self, expected):
        for fmt in ("wav", "wav24", "wav32", "flac"):
            try:
                got = np.frombuffer(read_recording(expected.encode(fmt)), dtype="f4")
            except libqwen.GenerateError as err:
                assert "libsndfile" in str(err)
                continue
            np.testing.assert_allclose(got, np.clip(expected.samples, -1, 1), atol=2**-15)
