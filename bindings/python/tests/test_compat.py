import importlib
import sys
import types

import numpy as np
import pytest
from conftest import CODEC, MODELS, samples, talker

from libqwen import Voice, compat
from libqwen.compat import QwenLibrary, QwenTTS, QwenTTSError, VoiceRef

SHORT = {"seed": 42, "max_new_tokens": 8}


@pytest.fixture(scope="module")
def tts():
    with QwenTTS(talker("customvoice"), CODEC) as tts:
        yield tts


@pytest.fixture(scope="module")
def base_tts():
    with QwenTTS(talker("base"), CODEC) as tts:
        yield tts


@pytest.fixture(scope="module")
def reference(clip):
    from libqwen.voice import read_recording

    return np.frombuffer(read_recording(clip), dtype=np.float32)


def test_names():
    for name in compat.__all__:
        assert hasattr(compat, name), name
    assert compat.QT_ABI_VERSION == 4 and compat.RVQ_CODE_BITS == 11
    assert compat.QwenStatus.CANCELLED == -5
    assert issubclass(QwenTTSError, RuntimeError)


def test_library():
    library = QwenLibrary()
    assert library.path.is_file() and "(" in library.version() and isinstance(library.last_error(), str)
    assert QwenLibrary(library.path).path == library.path
    with pytest.raises(compat.LibraryNotFoundError, match="QWEN_LIBRARY"):
        QwenLibrary("/nowhere/libqwen.so")


def test_log_callback():
    lines = []
    QwenLibrary().set_log_callback(lambda level, line: lines.append((level, line)))
    QwenTTS(talker("customvoice"), CODEC).close()
    QwenLibrary().set_log_callback(None)
    n = len(lines)
    QwenTTS(talker("customvoice"), CODEC).close()
    assert n > 0 and len(lines) == n
    assert all(isinstance(level, int) and isinstance(line, str) for level, line in lines)


def test_synthesize(tts, customvoice):
    audio, rate = tts.synthesize(text="Hello world.", speaker="vivian", codec_chunk_sec=1.0, **SHORT)
    assert rate == 24000 and audio.dtype == np.float32
    want = customvoice.synthesize("Hello world.", lang="english", speaker="vivian", **SHORT)
    assert audio.tobytes() == samples(want)
    assert "vivian" in tts.speaker_names() and tts.num_codebooks() == 16 and tts.duration_sec_to_tokens(8) == 100


def test_the_code_predictor_follows_the_talker(tts, customvoice):
    audio, _ = tts.synthesize(
        text="Hello world.", speaker="vivian", temperature=0.5, top_k=3, subtalker_top_k=None, **SHORT
    )
    want = customvoice.synthesize(
        "Hello world.", lang="english", speaker="vivian", temperature=0.5, top_k=3,
        subtalker_temperature=0.5, subtalker_top_k=3, **SHORT,
    )  # fmt: skip
    assert audio.tobytes() == samples(want)


def test_stream(tts):
    whole, _ = tts.synthesize(text="Hello world.", speaker="vivian", **SHORT)
    chunks = list(tts.stream(text="Hello world.", speaker="vivian", codec_left_context_sec=2, **SHORT))
    assert {rate for _, rate in chunks} == {24000}
    np.testing.assert_allclose(np.concatenate([c for c, _ in chunks]), whole, atol=2e-6)
    stream = tts.stream(text="Hi.", speaker="vivian", max_new_tokens=2000)
    next(stream)
    stream.close()


def test_errors(tts):
    with pytest.raises(QwenTTSError, match="nobody"):
        tts.synthesize(text="Hi.", speaker="nobody")
    with pytest.raises(QwenTTSError):
        QwenTTS("nowhere", "nowhere")
    closed = QwenTTS(talker("customvoice"), CODEC)
    closed.close()
    with pytest.raises(QwenTTSError, match="closed"):
        closed.speaker_names()


def test_voice_refs(base_tts, reference, tmp_path):
    ref = base_tts.save_voice_ref(reference, tmp_path / "new" / "a.spk", tmp_path / "a.rvq")
    assert ref.ref_codes.shape == (16, ref.ref_T) and ref.num_codebooks == 16 and ref.ref_spk_emb.shape == (256,)
    assert (tmp_path / "new" / "a.spk").read_bytes() == ref.ref_spk_emb.astype("<f4").tobytes()
    assert (tmp_path / "a.rvq").stat().st_size == (16 * ref.ref_T * 11 + 7) // 8
    again = base_tts.load_voice_ref(tmp_path / "new" / "a.spk", tmp_path / "a.rvq")
    np.testing.assert_array_equal(again.ref_codes, ref.ref_codes)
    np.testing.assert_array_equal(again.ref_spk_emb, ref.ref_spk_emb)
    assert again.save(tmp_path / "b.spk", tmp_path / "b.rvq") == (tmp_path / "b.spk", tmp_path / "b.rvq")
    assert (tmp_path / "b.rvq").read_bytes() == (tmp_path / "a.rvq").read_bytes()

    text = "What the reference says, more or less."
    latents = {"ref_spk_emb": ref.ref_spk_emb, "ref_codes": ref.ref_codes, "ref_text": text}
    spoken, _ = base_tts.synthesize(text="Hi.", **latents, **SHORT)
    direct, _ = base_tts.synthesize(text="Hi.", ref_audio_24k=reference, ref_text=text, **SHORT)
    assert spoken.tobytes() == direct.tobytes()
    for wrong in (
        {"ref_codes": ref.ref_codes, "ref_text": text}, {"ref_spk_emb": ref.ref_spk_emb, "ref_codes": ref.ref_codes},
        {"ref_audio_24k": reference, "ref_spk_emb": ref.ref_spk_emb},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="ref_"):
            base_tts.synthesize(text="Hi.", **wrong, **SHORT)


@pytest.mark.parametrize("bits", [1, 7, 8, 11, 16, 31])
def test_rvq_files(tmp_path, bits):
    codes = np.arange(16 * 5).reshape(16, 5) * 7919 % (1 << bits)
    compat.save_rvq_codes(tmp_path / "x.rvq", codes, code_bits=bits)
    np.testing.assert_array_equal(compat.load_rvq_codes(tmp_path / "x.rvq", 16, code_bits=bits), codes)
    bit = np.unpackbits(np.frombuffer((tmp_path / "x.rvq").read_bytes(), np.uint8), bitorder="little")[: 80 * bits]
    np.testing.assert_array_equal(bit.reshape(80, bits) @ (1 << np.arange(bits, dtype=np.int64)), codes.reshape(-1))


def test_wrong_files(tmp_path):
    for data in (b"", b"abc"):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(ValueError, match="x-vector"):
            compat.load_speaker_embedding(tmp_path / "x")
        with pytest.raises(ValueError, match="no frames"):
            compat.load_rvq_codes(tmp_path / "x", 16)
    (tmp_path / "x").write_bytes(np.array([np.nan], "<f4").tobytes())
    with pytest.raises(ValueError, match="nan"):
        compat.load_speaker_embedding(tmp_path / "x")
    with pytest.raises(ValueError, match="2048"):
        compat.save_rvq_codes(tmp_path / "y", [2048])
    for codebooks, bits in ((0, 11), (16, 0), (16, 32)):
        with pytest.raises(ValueError, match=r"num_codebooks|code_bits"):
            compat.load_rvq_codes(tmp_path / "x", codebooks, code_bits=bits)
    assert not (tmp_path / "y").exists()
    assert VoiceRef([1.0], [0] * 32).ref_T == 2


def test_they_are_the_files_of_qwen_codec(base, clip, tmp_path):
    """.spk and .rvq files hold what a .qvoice file does."""
    voice = Voice.from_wav(base, clip)
    VoiceRef(voice.x_vector, voice.codes).save(tmp_path / "a.spk", tmp_path / "a.rvq")
    again = compat.load_voice_ref(tmp_path / "a.spk", tmp_path / "a.rvq", 16)
    assert Voice(again.ref_spk_emb, again.ref_codes).to_bytes(base) == voice.to_bytes(base)


# ---- Models by name ----


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_from_a_folder(tmp_path):
    link(tmp_path / "qwen-talker-0.6b-customvoice-F32.gguf", talker("customvoice"))
    link(tmp_path / "qwen-tokenizer-12hz-F32.gguf", CODEC)
    with QwenTTS.from_pretrained(str(tmp_path), quant="F32") as tts:
        assert "vivian" in tts.speaker_names()
    assert compat.resolve_gguf_paths(str(tmp_path))[0].name == "qwen-talker-0.6b-customvoice-F32.gguf"  # the only one
    link(tmp_path / "qwen-talker-0.6b-customvoice-Q8_0.gguf", talker("customvoice"))
    assert compat.resolve_gguf_paths(str(tmp_path), quant="q8")[0].name.endswith("Q8_0.gguf")
    with pytest.raises(ValueError, match="BF16"):
        compat.resolve_gguf_paths(str(tmp_path))
    with pytest.raises(ValueError, match="neither"):
        compat.resolve_gguf_paths("Qwen/Nothing")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    repo = tmp_path / "hub" / "models--Serveurperso--Qwen3-TTS-GGUF"
    for revision in ("aaa", "bbb"):
        link(repo / "snapshots" / revision / "qwen-talker-0.6b-customvoice-Q8_0.gguf", talker("customvoice"))
        link(repo / "snapshots" / revision / "qwen-tokenizer-12hz-Q8_0.gguf", CODEC)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("bbb")
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "hub"


MODEL = "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice"


def test_from_the_hubs_cache(hub, monkeypatch):
    talker_path, codec_path = compat.resolve_gguf_paths(MODEL, quant="Q8_0", cache_dir=hub, local_files_only=True)
    assert talker_path.parent.name == codec_path.parent.name == "bbb"
    with QwenTTS.from_pretrained(MODEL, quant="Q8_0", cache_dir=hub) as tts:
        assert "vivian" in tts.speaker_names()
    monkeypatch.setenv("HF_HOME", str(hub.parent))
    assert compat.resolve_gguf_paths(MODEL, quant="Q8_0", local_files_only=True)[0] == talker_path
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    assert compat.resolve_gguf_paths(MODEL, quant="Q8_0", local_files_only=True)[0] == talker_path
    with pytest.raises(ValueError, match="local_files_only"):
        compat.resolve_gguf_paths(MODEL, quant="F32", cache_dir=hub, local_files_only=True)


def test_fetched(hub, monkeypatch):
    asked = []

    def hf_hub_download(**options):
        asked.append(options)
        return str(MODELS / "fetched.gguf")

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=hf_hub_download))
    paths = compat.resolve_gguf_paths("Qwen/Qwen3-TTS-12Hz-1.7B-Base", quant="Q4", cache_dir=hub)
    assert [p.name for p in paths] == ["fetched.gguf"] * 2
    assert [a["filename"] for a in asked] == ["qwen-talker-1.7b-base-Q4_K_M.gguf", "qwen-tokenizer-12hz-Q4_K_M.gguf"]
    assert {a["repo_id"] for a in asked} == {compat.GGUF_REPO}
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match="huggingface_hub"):
        compat.resolve_gguf_paths("Qwen/Qwen3-TTS-12Hz-1.7B-Base", cache_dir=hub)


def test_import_by_star():
    module = importlib.import_module("libqwen.compat")
    assert set(module.__all__) <= set(dir(module))
