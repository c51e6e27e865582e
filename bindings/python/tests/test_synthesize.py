import array
import inspect
import io
import logging
import sys
import threading
import wave
from pathlib import Path

import numpy as np
import pytest
from conftest import CODEC, SHORT, open_tts, samples, talker

import libqwen
from libqwen import _abi
from libqwen import tts as tts_module


def test_a_seed_replays_the_samples(customvoice, expected):
    again = customvoice.synthesize("Hello world.", speaker="VIVIAN", lang="auto", **SHORT)
    assert samples(again) == samples(expected)
    other = customvoice.synthesize("Hello world.", speaker="vivian", **{**SHORT, "seed": 43})
    assert samples(other) != samples(expected)


def test_audio(expected):
    assert isinstance(expected.samples, np.ndarray) and expected.samples.dtype == np.float32
    assert expected.samples.flags.owndata or expected.samples.base.flags.owndata
    assert expected.samples.flags.writeable
    assert len(expected) == 8 * 1920 and expected.sample_rate == 24000 and expected.duration == 8 * 0.08
    assert expected.finish_reason == "length" and expected.seed == 42
    assert np.asarray(expected, dtype=np.float64).dtype == np.float64
    assert expected.info.frames == 8 and expected.info.samples == len(expected)
    assert expected.info.text_tokens > 0 and expected.info.prompt_positions > expected.info.text_tokens
    assert expected.info.total_ms > 0 and expected.info.first_audio_ms > 0 and expected.info.load_ms > 0
    assert abs(expected.info.rtf - expected.info.total_ms / 1000 / expected.duration) < 1e-6
    assert "0.64 s" in repr(expected) and "seed 42" in repr(expected)
    assert expected._repr_html_().startswith('<audio controls src="data:audio/wav;base64,UklGR')


def test_a_drawn_seed_is_told(customvoice):
    first = customvoice.synthesize("Hi.", speaker="vivian", max_new_tokens=3)
    assert first.seed >= 0
    again = customvoice.synthesize("Hi.", speaker="vivian", max_new_tokens=3, seed=first.seed)
    assert samples(first) == samples(again)


def test_families(customvoice, base, voicedesign):
    assert (customvoice.model_type, base.model_type, voicedesign.model_type) == ("custom_voice", "base", "voice_design")
    assert "vivian" in customvoice.speakers and base.speakers == []
    assert {"english", "chinese"} <= set(base.languages)
    assert base.num_codebooks == 16 and base.sample_rate == 24000
    assert base.frames_for(8) == 100 and base.frames_for(0) == 1
    assert len(voicedesign.synthesize("Hi.", instruct="A calm voice.", lang="de", **SHORT)) > 0
    assert len(base.synthesize("Hi.", **SHORT)) > 0


class TestSave:
    def test_wav(self, expected, tmp_path):
        expected.save(tmp_path / "x.wav")
        with wave.open(str(tmp_path / "x.wav")) as w:
            assert (w.getnchannels(), w.getsampwidth(), w.getframerate()) == (1, 2, 24000)
            data = w.readframes(w.getnframes())
        want = np.clip(np.rint(expected.samples.astype(np.float64) * 32768), -32768, 32767).astype("<i2").tobytes()
        assert data == want == expected.pcm16() == libqwen.to_pcm16(expected.samples)

    @pytest.mark.parametrize(("fmt", "size"), [("wav24", 3), ("wav32", 4), ("pcm", 2)])
    def test_formats(self, expected, tmp_path, fmt, size):
        out = io.BytesIO()
        expected.save(out, format=fmt)
        assert len(out.getvalue()) == size * len(expected) + (0 if fmt == "pcm" else 44)
        if fmt == "wav32":
            assert out.getvalue()[44:] == expected.samples.tobytes()

    @pytest.mark.parametrize(
        ("name", "magic"), [("x.flac", b"fLaC"), ("x.ogg", b"OggS"), ("x.opus", b"OggS"), ("x.mp3", None)]
    )
    def test_compressed(self, expected, tmp_path, name, magic):
        try:
            expected.save(tmp_path / name)
        except libqwen.GenerateError as err:
            assert "libsndfile" in str(err)
            pytest.skip(str(err))
        data = (tmp_path / name).read_bytes()
        assert len(data) > 500 and (magic is None or data.startswith(magic))

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    def test_what_was_there_stays_until_a_file_is_complete(self, expected, tmp_path, monkeypatch):
        out, link = tmp_path / "x.wav", tmp_path / "link.wav"
        out.write_bytes(b"before")
        out.chmod(0o640)
        link.symlink_to(out)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
            with pytest.raises(OSError, match="full"):
                expected.save(out)
        assert out.read_bytes() == b"before" and sorted(tmp_path.iterdir()) == [link, out]
        expected.save(link)
        assert link.is_symlink() and out.read_bytes() == expected.encode("wav")
        assert out.stat().st_mode & 0o777 == 0o640
        out.unlink()
        out.symlink_to("/dev/full")
        with pytest.raises(OSError):
            expected.save(out)
        assert Path("/dev/full").is_char_device() and sorted(tmp_path.iterdir()) == [link, out]
        expected.save(tmp_path / ("a" * 251 + ".wav"))

    def test_a_format_that_is_given_takes_any_name(self, expected, tmp_path):
        for name, fmt in (("x.txt", "wav"), ("x.wav", "pcm")):
            expected.save(tmp_path / name, format=fmt)
            assert (tmp_path / name).read_bytes() == expected.encode(fmt)
        expected.save(tmp_path / "x")
        assert (tmp_path / "x").read_bytes() == expected.encode("wav")

    def test_refused(self, expected, tmp_path):
        for name in ("x.m4a", "x.txt", "x.wav24"):
            with pytest.raises(libqwen.InvalidParams, match=rf"{name}: .*choose one of \.wav, \.mp3"):
                expected.save(tmp_path / name)
        with pytest.raises(OSError):
            expected.save(tmp_path / "nowhere" / "x.wav")
        with pytest.raises(libqwen.InvalidParams, match="format"):
            expected.save(io.BytesIO(), format="wav\0")
        assert list(tmp_path.iterdir()) == []

    def test_pcm16_saturates(self):
        pcm = libqwen.to_pcm16([0, 1, -1, 2, -2, float("nan"), 0.5])
        assert array.array("h", pcm).tolist() == [0, 32767, -32768, 32767, -32768, 0, 16384]
        assert libqwen.to_pcm16([]) == b""


class TestErrors:
    def test_kinds(self):
        for error, status in [
            (libqwen.InvalidParams, -1), (libqwen.ModeError, -2), (libqwen.GenerateError, -3),
            (libqwen.OutOfMemory, -4), (libqwen.Cancelled, -5),
        ]:  # fmt: skip
            assert type(libqwen.errors.from_status(status, "why")) is error
            assert libqwen.errors.from_status(status, "why").status == status
        assert issubclass(libqwen.InvalidParams, ValueError) and issubclass(libqwen.OutOfMemory, MemoryError)
        assert type(libqwen.errors.from_status(-99, "")) is libqwen.GenerateError

    @pytest.mark.parametrize(
        ("options", "error", "word"),
        [
            ({"speaker": "nobody"}, libqwen.InvalidParams, "nobody"),
            ({}, libqwen.ModeError, "speaker"),
            ({"speaker": "vivian", "lang": "klingon"}, libqwen.QwenError, "klingon"),
            ({"speaker": "vivian", "temperature": -1}, libqwen.InvalidParams, "temperature"),
            ({"speaker": "vivian", "temperature": float("nan")}, libqwen.InvalidParams, "temperature"),
            ({"speaker": "vivian", "top_p": 0}, libqwen.InvalidParams, "top_p"),
            ({"speaker": "vivian", "top_k": -1}, libqwen.InvalidParams, "top_k"),
            ({"speaker": "vivian", "repetition_penalty": 0}, libqwen.InvalidParams, "repetition_penalty"),
            ({"speaker": "vivian", "max_new_tokens": 0}, libqwen.InvalidParams, "max_new_tokens"),
            ({"speaker": "vivian", "max_new_tokens": 1 << 40}, libqwen.InvalidParams, "max_new_tokens"),
            ({"speaker": "vivian", "seed": 1 << 63}, libqwen.InvalidParams, "seed"),
            ({"speaker": "vivian", "seed": 1.5}, TypeError, "seed"),
            ({"speaker": "vivian", "text_layout": "sideways"}, libqwen.InvalidParams, "text_layout.*whole"),
            ({"speaker": "vivian", "chunk_frames": 65}, libqwen.InvalidParams, "chunk_frames"),
            (
                {"speaker": "vivian", "piece_chars": 9},
                libqwen.InvalidParams,
                "piece_chars: 9 without request.long_text",
            ),
            ({"speaker": "vivian", "long": True, "piece_chars": -1}, libqwen.InvalidParams, "piece_chars: -1"),
            ({"speaker": "vivian", "speed": 5}, libqwen.InvalidParams, "speed: 5 is not in 0.25..4"),
            ({"speaker": "vi\0vian"}, libqwen.InvalidParams, "speaker: NUL"),
            ({"speaker": "\ud800"}, libqwen.InvalidParams, "speaker: .*UTF-8"),
            ({"speaker": 7}, TypeError, "speaker"),
            ({"speaker": "vivian", "temperature": "0.5"}, TypeError, "temperature: str, want float"),
            ({"speaker": "vivian", "voice": "vivian"}, TypeError, "voice"),
            ({"speaker": "vivian", "ref_text": "x"}, libqwen.InvalidParams, "ref_text"),
            ({"speaker": "vivian", "dump_dir": "/dev/null/x"}, libqwen.QwenError, "/dev/null"),
        ],
    )
    def test_wrong_options(self, customvoice, options, error, word):
        with pytest.raises(error, match=word):
            customvoice.synthesize("Hi.", **{"max_new_tokens": 2, **options})

    @pytest.mark.parametrize(
        ("text", "error"), [("", libqwen.InvalidParams), (None, libqwen.InvalidParams), (b"x", TypeError)]
    )
    def test_wrong_text(self, customvoice, text, error):
        with pytest.raises(error, match="text"):
            customvoice.synthesize(text, speaker="vivian")

    def test_unknown_option(self, customvoice):
        with pytest.raises(TypeError, match="langauge"):
            customvoice.stream("Hi.", langauge="en")
        with pytest.raises(TypeError):
            customvoice.synthesize("Hi.", "vivian")  # keyword-only

    def test_files(self, tmp_path):
        with pytest.raises(libqwen.GenerateError, match="nowhere"):
            libqwen.TTS(tmp_path / "nowhere.gguf", CODEC)
        (tmp_path / "text.gguf").write_text("this is no model")
        with pytest.raises(libqwen.GenerateError, match=r"text\.gguf"):
            libqwen.TTS(tmp_path / "text.gguf", CODEC)
        with pytest.raises(libqwen.InvalidParams, match="talker_path"):
            libqwen.TTS("", CODEC)
        with pytest.raises(libqwen.InvalidParams, match="NUL"):
            libqwen.TTS("a\0b", CODEC)
        with pytest.raises(TypeError):
            libqwen.TTS(None, CODEC, 3)

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"device": "nonsense"}, "nonsense"), ({"n_threads": -1}, "n_threads"), ({"n_ctx": -1}, "n_ctx"),
            ({"max_queue": -1}, "max_queue"), ({"mode": "base"}, "custom_voice|base"), ({"max_batch": 0}, "max_batch"), ({"codec_chunk_sec": 0}, "codec_chunk_sec"),
            ({"n_threads": 1 << 31}, "n_threads"),
        ],
    )  # fmt: skip
    def test_wrong_engine_options(self, options, word):
        with pytest.raises(libqwen.QwenError, match=word):
            open_tts("customvoice", **options)

    def test_closed(self, expected):
        tts = open_tts("customvoice")
        assert not tts.closed
        tts.close()
        tts.close()
        assert tts.closed
        for use in (
            lambda: tts.speakers,
            lambda: tts.synthesize("Hi."),
            lambda: tts.stream("Hi."),
            lambda: tts.model_type,
        ):
            with pytest.raises(libqwen.ClosedError, match="closed"):
                use()
        with pytest.raises(libqwen.ClosedError), tts:
            tts.frames_for(1)


class TestCallbacks:
    def test_progress_on_the_calling_thread(self, customvoice):
        seen = []
        customvoice.synthesize(
            "Hi.", speaker="vivian", on_progress=lambda p: seen.append((p, threading.get_ident())), **SHORT
        )
        assert [p.frames for p, _ in seen] == list(range(1, 9))
        assert all(p.max_frames == 8 and p.elapsed_ms > 0 for p, _ in seen)
        assert {t for _, t in seen} == {threading.get_ident()}

    def test_chunks_are_the_whole(self, customvoice, expected):
        parts = []
        audio = customvoice.synthesize("Hello world.", speaker="vivian", on_chunk=parts.append, **SHORT)
        assert len(parts) == 8
        np.testing.assert_allclose(np.concatenate(parts), expected.samples, atol=2e-6)
        np.testing.assert_array_equal(np.concatenate(parts), audio.samples)
        assert audio.finish_reason == "length"

    def test_a_long_text_is_its_pieces(self, customvoice):
        options = {"speaker": "vivian", "seed": 3, "max_new_tokens": 5}
        pieces = [samples(customvoice.synthesize(text, **options)) for text in ("One two.", "Three four.")]
        text = "One two. Three four."
        whole = customvoice.synthesize(text, long=True, piece_chars=12, **options)
        assert samples(whole) == pieces[0] + pieces[1]
        assert whole.info.frames == 10
        chunks = list(customvoice.stream(text, long=True, piece_chars=12, **options))
        assert b"".join(bytes(memoryview(chunk)) for chunk in chunks) == samples(whole)

    def test_speed(self, customvoice):
        options = {"speaker": "vivian", "seed": 3, "max_new_tokens": 25}
        plain = customvoice.synthesize("Hello world.", **options)
        assert samples(customvoice.synthesize("Hello world.", speed=1, **options)) == samples(plain)
        try:
            fast = customvoice.synthesize("Hello world.", speed=2, **options)
        except libqwen.GenerateError as err:
            assert "libsonic" in str(err)
            pytest.skip(str(err))
        assert fast.info.frames == plain.info.frames
        assert len(fast) == pytest.approx(len(plain) / 2, rel=0.05)

    def test_chunk_frames(self, customvoice):
        sizes = []
        customvoice.synthesize(
            "Hi.",
            speaker="vivian",
            chunk_frames=4,
            on_chunk=lambda c: sizes.append(len(c) // 1920),
            seed=1,
            max_new_tokens=20,
        )
        assert sum(sizes) == 20 and sizes[0] == 1 and max(sizes) == 4

    def test_false_stops(self, customvoice):
        parts = []

        def on_chunk(chunk):
            parts.append(chunk)
            return len(parts) < 3

        audio = customvoice.synthesize("Hi.", speaker="vivian", on_chunk=on_chunk, seed=1, max_new_tokens=2000)
        assert len(audio) == 3 * 1920 and audio.finish_reason == "cancelled"
        assert audio.info.frames < 2000

    @pytest.mark.parametrize("callback", ["on_chunk", "on_progress", "cancel"])
    @pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
    def test_exceptions_come_out(self, customvoice, expected, callback, error):
        def fail(*_):
            raise error("mine")

        with pytest.raises(error, match="mine"):
            customvoice.synthesize("Hi.", speaker="vivian", max_new_tokens=2000, **{callback: fail})
        again = customvoice.synthesize("Hello world.", speaker="vivian", **SHORT)
        assert samples(again) == samples(expected)

    def test_cancel(self, customvoice):
        stop = threading.Event()
        with pytest.raises(libqwen.Cancelled):
            customvoice.synthesize(
                "Hi.", speaker="vivian", max_new_tokens=2000, cancel=stop.is_set, on_progress=lambda p: stop.set()
            )

    def test_callbacks_may_use_the_library(self, customvoice):
        inner = []

        def on_progress(p):
            if p.frames == 2:
                inner.append(customvoice.speakers)

        customvoice.synthesize("Hi.", speaker="vivian", on_progress=on_progress, **SHORT)
        assert inner == [customvoice.speakers]

    def test_close_in_a_callback(self):
        tts = open_tts("customvoice")
        with pytest.raises(libqwen.Cancelled, match="closed"):
            tts.synthesize("Hi.", speaker="vivian", max_new_tokens=2000, on_progress=lambda p: tts.close())


class TestLogging:
    def test_lines_go_to_the_logger(self, caplog):
        with caplog.at_level(logging.DEBUG, logger="libqwen"):
            open_tts("customvoice").close()
        assert any(r.levelno == logging.INFO for r in caplog.records)
        assert all(r.name == "libqwen" for r in caplog.records)

    def test_a_broken_handler_does_no_harm(self, customvoice):
        class Broken(logging.Filter):
            def filter(self, record):
                raise ZeroDivisionError

        logger, broken = logging.getLogger("libqwen"), Broken()
        logger.addFilter(broken)
        logger.setLevel(logging.DEBUG)
        try:
            open_tts("customvoice").close()
        finally:
            logger.removeFilter(broken)
            logger.setLevel(logging.NOTSET)


def test_what_the_machine_has():
    devices = libqwen.devices()
    assert [d.type for d in devices].count("cpu") == 1
    assert all(d.name and d.memory_free <= d.memory_total for d in devices)
    assert "ggml" in libqwen.system_info()
    assert libqwen.abi_version() == 4 and "(" in libqwen.version()


class TestLayout:
    """The structs are those of the library that is loaded, and of qwen.h."""

    def test_structs(self):
        golden = Path(__file__).parents[3] / "tests" / "abi" / "layout.golden"
        structs, now = {}, None
        for line in golden.read_text().splitlines():
            name, *rest = line.split()
            if name == "struct":
                now = structs.setdefault(rest[0], {"": int(rest[1])})
            elif line.startswith("  "):
                now[name] = int(rest[0])
        ours = {n: s for n, s in vars(_abi).items() if n.startswith("qt_") and inspect.isclass(s)}
        assert set(ours) == set(structs)
        import ctypes

        for name, struct in ours.items():
            fields = {"": ctypes.sizeof(struct), **{f[0]: getattr(struct, f[0]).offset for f in struct._fields_}}
            assert fields == structs[name], name

    def test_functions(self):
        golden = Path(__file__).parents[3] / "tests" / "abi" / "symbols.golden"
        assert set(_abi.FUNCTIONS) == set(golden.read_text().split())

    def test_version(self):
        header = (Path(__file__).parents[3] / "include" / "qwen.h").read_text()
        import re

        parts = [re.search(rf"QT_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        assert libqwen.__version__ == ".".join(parts)
        assert f'version = "{libqwen.__version__}"' in (Path(__file__).parents[1] / "pyproject.toml").read_text()


class TestReach:
    """Each field of the C structs can be set from here, and arrives."""

    def test_every_request_field(self, monkeypatch, base, clip, tmp_path):
        voice = libqwen.Voice.from_wav(base, clip, text="what is spoken in the clip, more or less")
        values = {
            "lang": "english", "instruct": "calm", "speaker": "vivian", "seed": 5, "max_new_tokens": 7, "do_sample": False,
            "temperature": 0.5, "top_k": 3, "top_p": 0.25, "repetition_penalty": 1.5, "subtalker_do_sample": False,
            "subtalker_temperature": 0.125, "subtalker_top_k": 4, "subtalker_top_p": 0.75, "dump_dir": str(tmp_path),
        }  # fmt: skip
        params, request, _keep = tts_module._request(
            base._context.handle, "words", {**values, "text_layout": "streamed", "chunk_frames": 9, "long": True,
                                                   "piece_chars": 7, "speed": 1.5}
        )  # fmt: skip
        for name, value in values.items():
            got = getattr(params, name)
            assert got == (value.encode() if isinstance(value, str) else value), name
        assert params.text == b"words"
        assert (request.text_layout, request.chunk_frames) == (2, 9)
        assert (request.long_text, request.piece_chars, request.speed) == (1, 7, 1.5)

        reached = {*values, "abi_version", "text"}
        params, _, keep = tts_module._request(base._context.handle, "words", {"voice": voice})
        assert params.ref_spk_dim == len(voice.x_vector) and params.ref_T == voice.frames > 0
        assert params.ref_codes[3] == voice.codes[0][3] and params.ref_spk_emb[1] == voice.x_vector[1]
        assert params.ref_text == voice.text.encode()
        reached |= {"ref_spk_emb", "ref_spk_dim", "ref_codes", "ref_T", "ref_text"}
        params, _, keep = tts_module._request(base._context.handle, "words", {"ref_audio": clip})
        assert params.ref_n_samples == len(keep[0]) and params.ref_audio_24k[9] == keep[0][9]
        reached |= {"ref_audio_24k", "ref_n_samples"}
        reached |= {"cancel", "cancel_user_data", "on_chunk", "on_chunk_user_data"}  # TestCallbacks
        assert reached == {f[0] for f in _abi.qt_tts_params._fields_}
        assert {f[0] for f in _abi.qt_request._fields_} == {
            "struct_size", "text_layout", "chunk_frames", "progress", "progress_user_data", "long_text", "piece_chars", "speed"
        }  # fmt: skip

    def test_every_engine_field(self, monkeypatch):
        from libqwen._library import Library

        seen = {}

        def qt_init_ex(params, options):
            for struct in (params._obj, options._obj):
                seen.update({f[0]: getattr(struct, f[0]) for f in struct._fields_})
            return 0

        monkeypatch.setattr(Library, "qt_init_ex", staticmethod(qt_init_ex), raising=False)
        values = {
            "use_fa": False, "clamp_fp16": True, "max_batch": 2, "codec_chunk_sec": 1.5, "n_threads": 3, "device": "d",
            "ggml_dir": "g", "n_ctx": 4, "max_queue": 5, "predictor_path": "p", "tokenizer_path": "tok", "mode": "m",
            "codec_bf16": True, "onnx_provider": "o", "kv_type": "k",
        }  # fmt: skip
        with pytest.raises(libqwen.QwenError):
            libqwen.TTS("t", "c", **values)
        want = {k: v.encode() if isinstance(v, str) else v for k, v in values.items()}
        assert seen == {
            **want,
            "talker_path": b"t",
            "codec_path": b"c",
            "abi_version": 4,
            "struct_size": seen["struct_size"],
        }

    def test_engine_options_work(self, expected):
        with open_tts(
            "customvoice", device="cpu", n_ctx=100, max_batch=2, max_queue=3, use_fa=False, codec_chunk_sec=0.1
        ) as tts:
            audio = tts.synthesize("Hello world.", speaker="vivian", **SHORT)
            np.testing.assert_allclose(audio.samples, expected.samples, atol=1e-4)
            with pytest.raises(libqwen.InvalidParams, match="max_new_tokens"):
                tts.synthesize("Hello world.", speaker="vivian", max_new_tokens=101)

    def test_defaults_are_the_librarys(self):
        """The defaults in the signatures are those of qt_*_default_params, or None: the model's."""
        import ctypes

        params, init = _abi.qt_tts_params(), _abi.qt_init_params()
        libqwen._library.library.qt_tts_default_params(ctypes.byref(params))
        libqwen._library.library.qt_init_default_params(ctypes.byref(init))
        for function, struct in ((libqwen.TTS.synthesize, params), (libqwen.TTS.__init__, init)):
            for name, parameter in inspect.signature(function).parameters.items():
                if hasattr(struct, name) and isinstance(parameter.default, (int, float)):
                    assert ctypes.c_float(parameter.default).value == getattr(struct, name), name

    def test_defaults_are_the_models(self, customvoice, expected, monkeypatch):
        """What is not said, or None, is what qt_model_default_params gives."""
        from libqwen._library import Library

        def qt_model_default_params(_handle, params):
            libqwen._library.library.qt_tts_default_params(params)
            params._obj.top_k, params._obj.subtalker_top_k, params._obj.max_new_tokens = 1, 1, 3
            return 0

        greedy = customvoice.synthesize(
            "Hi.", speaker="vivian", max_new_tokens=3, do_sample=False, subtalker_do_sample=False, seed=1
        )
        monkeypatch.setattr(Library, "qt_model_default_params", staticmethod(qt_model_default_params), raising=False)
        for options in ({}, {"top_k": None, "max_new_tokens": None}):
            assert samples(customvoice.synthesize("Hi.", speaker="vivian", seed=2, **options)) == samples(greedy)
            assert samples(customvoice.synthesize("Hi.", speaker="vivian", seed=2, top_k=50)) != samples(greedy)

    def test_dump(self, customvoice, tmp_path):
        customvoice.synthesize("Hi.", speaker="vivian", dump_dir=tmp_path, max_new_tokens=2)
        assert list(tmp_path.glob("*.npy"))


def test_options_and_synthesize_agree():
    signature = set(inspect.signature(libqwen.TTS.synthesize).parameters) - {"self", "text", "on_chunk"}
    assert signature == set(libqwen.Options.__annotations__)


def test_non_ascii_paths(tmp_path, expected):
    folder = tmp_path / "模型 ünï"
    folder.mkdir()
    (folder / "räder.gguf").symlink_to(talker("customvoice"))
    with libqwen.TTS(folder / "räder.gguf", CODEC, n_threads=1) as tts:
        audio = tts.synthesize("Hello world.", speaker="vivian", **SHORT)
        audio.save(folder / "ö.wav")
    assert samples(audio) == samples(expected) and (folder / "ö.wav").stat().st_size > 44


def test_the_package_wants_no_numpy_to_be_imported():
    assert "numpy" in sys.modules  # the tests do; test_processes.py checks the package alone
