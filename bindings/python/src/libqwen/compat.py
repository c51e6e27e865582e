"""The names that Python programs for qwentts.cpp's libqwen use, over this package.

    from libqwen.compat import QwenTTS

    tts = QwenTTS.from_pretrained("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", quant="Q8_0")
    samples, sample_rate = tts.synthesize(text="Good morning!", lang="english", speaker="vivian")

New programs are better off with :class:`libqwen.TTS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _library, errors
from ._abi import ABI_VERSION as QT_ABI_VERSION
from ._files import write_file
from ._latents import CODE_BITS, pack_codes, pack_floats, unpack_codes, unpack_floats
from ._library import library
from ._samples import Codes, Samples
from .errors import LibraryError as LibraryNotFoundError
from .errors import QwenError as QwenTTSError
from .tts import TTS
from .voice import Voice

__all__ = [
    "GGUF_REPO",
    "QT_ABI_VERSION",
    "RVQ_CODE_BITS",
    "LibraryNotFoundError",
    "QwenLibrary",
    "QwenStatus",
    "QwenTTS",
    "QwenTTSError",
    "VoiceRef",
    "load_rvq_codes",
    "load_speaker_embedding",
    "load_voice_ref",
    "resolve_gguf_paths",
    "save_rvq_codes",
    "save_speaker_embedding",
    "save_voice_ref",
]

RVQ_CODE_BITS = CODE_BITS
GGUF_REPO = "Serveurperso/Qwen3-TTS-GGUF"

_AnyPath = str | os.PathLike[str]


class QwenStatus(IntEnum):
    """``enum qt_status``."""

    OK = 0
    INVALID_PARAMS = -1
    MODE_INVALID = -2
    GENERATE_FAILED = -3
    OOM = -4
    CANCELLED = -5


class QwenLibrary:
    """The shared library, of which a process has one: it was found when libqwen was imported."""

    def __init__(self, library_path: _AnyPath | None = None) -> None:
        if library_path is not None and Path(library_path).resolve() != library.path:
            raise LibraryNotFoundError(
                f"{library_path}: {library.path} is loaded already; name another in QWEN_LIBRARY before the import"
            )
        self.path: Path = library.path

    def version(self) -> str:
        """ "<git hash> (<commit date>)"."""
        return _library.text(library.qt_version())

    def last_error(self) -> str:
        """The message of the latest failure on this thread."""
        return _library.text(library.qt_last_error())

    def set_log_callback(self, callback: Callable[[int, str], object] | None) -> None:
        """Gives the log lines of the process to a callback as well as to ``logging``; None ends that."""
        _library.set_listener(callback)


class VoiceRef:
    """A reference voice: x-vector and codes [num_codebooks, frames]."""

    def __init__(self, ref_spk_emb: Any, ref_codes: Any, *, num_codebooks: int = 16) -> None:
        shape = getattr(ref_codes, "shape", None)
        self._voice = Voice(
            ref_spk_emb, ref_codes, num_codebooks=shape[0] if shape and len(shape) == 2 else num_codebooks
        )

    @classmethod
    def _of(cls, voice: Voice) -> VoiceRef:
        return cls(voice.x_vector, voice.codes, num_codebooks=voice.num_codebooks)

    @property
    def ref_spk_emb(self) -> Samples:
        """The x-vector."""
        return self._voice.x_vector

    @property
    def ref_codes(self) -> Codes:
        """The codes."""
        codes = self._voice.codes
        assert codes is not None
        return codes

    @property
    def num_codebooks(self) -> int:
        """Codes a frame."""
        return self._voice.num_codebooks

    @property
    def ref_T(self) -> int:
        """Frames."""
        return self._voice.frames

    def save(self, spk_path: _AnyPath, rvq_path: _AnyPath, *, code_bits: int = RVQ_CODE_BITS) -> tuple[Path, Path]:
        """Writes a ``.spk`` and a ``.rvq`` file."""
        return save_voice_ref(self, spk_path, rvq_path, code_bits=code_bits)


class QwenTTS:
    """A loaded pair of models; see :class:`libqwen.TTS`, which is in ``engine``."""

    def __init__(
        self,
        talker_path: _AnyPath,
        codec_path: _AnyPath,
        *,
        library_path: _AnyPath | None = None,
        use_fa: bool = True,
        clamp_fp16: bool = False,
    ) -> None:
        self.library = QwenLibrary(library_path)
        self.engine = TTS(talker_path, codec_path, use_fa=use_fa, clamp_fp16=clamp_fp16)

    @classmethod
    def from_pretrained(
        cls,
        model_id: str,
        *,
        quant: str = "BF16",
        cache_dir: _AnyPath | None = None,
        local_files_only: bool = False,
        library_path: _AnyPath | None = None,
        use_fa: bool = True,
        clamp_fp16: bool = False,
    ) -> QwenTTS:
        """Opens a model by name, or the one in a folder; see :func:`resolve_gguf_paths`."""
        talker, codec = resolve_gguf_paths(
            model_id, quant=quant, cache_dir=cache_dir, local_files_only=local_files_only
        )
        return cls(talker, codec, library_path=library_path, use_fa=use_fa, clamp_fp16=clamp_fp16)

    def synthesize(self, *, text: str, lang: str | None = "english", **options: Any) -> tuple[Samples, int]:
        """Speaks; returns samples and their rate. The other arguments are those of qt_tts_params."""
        audio = self.engine.synthesize(text, lang=lang, **self._options(options))
        return audio.samples, audio.sample_rate

    def stream(self, *, text: str, lang: str | None = "english", **options: Any) -> Iterator[tuple[Samples, int]]:
        """Speaks; yields samples and their rate as soon as they are there."""
        with self.engine.stream(text, lang=lang, **self._options(options)) as stream:
            for chunk in stream:
                yield chunk, stream.sample_rate

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Names and defaults of the other binding, as this one has them."""
        for ignored in ("codec_chunk_sec", "codec_left_context_sec"):  # streaming is exact; nothing is to be chosen
            options.pop(ignored, None)
        for name in ("do_sample", "temperature", "top_k", "top_p"):  # the CodePredictor follows the Talker
            if options.get("subtalker_" + name) is None:
                options.pop("subtalker_" + name, None)
                if name in options:
                    options["subtalker_" + name] = options[name]
        audio = options.pop("ref_audio_24k", None)
        spk, codes = options.pop("ref_spk_emb", None), options.pop("ref_codes", None)
        if audio is not None and (spk is not None or codes is not None):
            raise errors.InvalidParams("ref_audio_24k excludes ref_spk_emb and ref_codes")
        if codes is not None and (spk is None or not options.get("ref_text")):
            raise errors.InvalidParams("ref_codes needs ref_spk_emb and ref_text")
        if audio is not None:
            options["ref_audio"] = audio
        if spk is not None:
            options["voice"] = Voice(spk, codes, num_codebooks=self.num_codebooks())
        return options

    def extract_voice_ref(self, ref_audio_24k: Any) -> VoiceRef:
        """The voice of a recording: mono, 24 kHz."""
        return VoiceRef._of(Voice.from_wav(self.engine, ref_audio_24k))

    def save_voice_ref(
        self, ref_audio_24k: Any, spk_path: _AnyPath, rvq_path: _AnyPath, *, code_bits: int = RVQ_CODE_BITS
    ) -> VoiceRef:
        """Extracts a voice and writes it."""
        ref = self.extract_voice_ref(ref_audio_24k)
        ref.save(spk_path, rvq_path, code_bits=code_bits)
        return ref

    def load_rvq_codes(self, path: _AnyPath, *, code_bits: int = RVQ_CODE_BITS) -> Codes:
        """The codes of a ``.rvq`` file."""
        return load_rvq_codes(path, self.num_codebooks(), code_bits=code_bits)

    def load_voice_ref(self, spk_path: _AnyPath, rvq_path: _AnyPath, *, code_bits: int = RVQ_CODE_BITS) -> VoiceRef:
        """The voice of a ``.spk`` and a ``.rvq`` file."""
        return load_voice_ref(spk_path, rvq_path, self.num_codebooks(), code_bits=code_bits)

    def speaker_names(self) -> list[str]:
        """Named speakers."""
        return self.engine.speakers

    def num_codebooks(self) -> int:
        """Codes a frame."""
        return self.engine.num_codebooks

    def duration_sec_to_tokens(self, seconds: float) -> int:
        """Frames that so much audio takes."""
        return self.engine.frames_for(seconds)

    def set_log_callback(self, callback: Callable[[int, str], object] | None) -> None:
        """See :meth:`QwenLibrary.set_log_callback`."""
        self.library.set_log_callback(callback)

    def close(self) -> None:
        """Releases the models."""
        self.engine.close()

    def __enter__(self) -> QwenTTS:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# ---- Voices in two files ----


def load_speaker_embedding(path: _AnyPath) -> Samples:
    """The x-vector of a ``.spk`` file."""
    return unpack_floats(str(path), Path(path).read_bytes())


def save_speaker_embedding(path: _AnyPath, embedding: Any) -> Path:
    """Writes a ``.spk`` file."""
    return _write(path, pack_floats("embedding", embedding))


def load_rvq_codes(path: _AnyPath, num_codebooks: int, *, code_bits: int = RVQ_CODE_BITS) -> Codes:
    """The codes [num_codebooks, frames] of a ``.rvq`` file."""
    return unpack_codes(str(path), Path(path).read_bytes(), num_codebooks, code_bits)


def save_rvq_codes(path: _AnyPath, codes: Any, *, code_bits: int = RVQ_CODE_BITS) -> Path:
    """Writes a ``.rvq`` file."""
    return _write(path, pack_codes("codes", codes, code_bits))


def load_voice_ref(
    spk_path: _AnyPath, rvq_path: _AnyPath, num_codebooks: int, *, code_bits: int = RVQ_CODE_BITS
) -> VoiceRef:
    """The voice of a ``.spk`` and a ``.rvq`` file."""
    codes = load_rvq_codes(rvq_path, num_codebooks, code_bits=code_bits)
    return VoiceRef(load_speaker_embedding(spk_path), codes, num_codebooks=num_codebooks)


def save_voice_ref(
    voice_ref: VoiceRef, spk_path: _AnyPath, rvq_path: _AnyPath, *, code_bits: int = RVQ_CODE_BITS
) -> tuple[Path, Path]:
    """Writes a ``.spk`` and a ``.rvq`` file."""
    return (
        save_speaker_embedding(spk_path, voice_ref.ref_spk_emb),
        save_rvq_codes(rvq_path, voice_ref.ref_codes, code_bits=code_bits),
    )


def _write(path: _AnyPath, data: bytes) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, data)
    return path


# ---- Models by name ----

_SIZES_AND_FAMILIES = ("0.6B-Base", "0.6B-CustomVoice", "1.7B-Base", "1.7B-CustomVoice", "1.7B-VoiceDesign")
_TALKERS = {"Qwen/Qwen3-TTS-12Hz-" + name: "qwen-talker-" + name.lower() for name in _SIZES_AND_FAMILIES}
_QUANTS = {"FP32": "F32", "Q8": "Q8_0", "Q4": "Q4_K_M"}


def resolve_gguf_paths(
    model_id: str,
    *,
    quant: str = "BF16",
    repo_id: str = GGUF_REPO,
    cache_dir: _AnyPath | None = None,
    local_files_only: bool = False,
) -> tuple[Path, Path]:
    """The files of talker and codec.

    ``model_id`` is a folder that holds them, or "Qwen/Qwen3-TTS-12Hz-0.6B-Base" and the like: then they are looked for
    in the cache of Hugging Face's hub, and fetched by ``huggingface_hub``, if that is installed, unless
    ``local_files_only``.
    """
    quant = _QUANTS.get(quant.upper(), quant.upper())
    folder = Path(model_id)
    if folder.is_dir():
        return _in_folder(folder, "qwen-talker-*", quant), _in_folder(folder, "qwen-tokenizer-12hz*", quant)
    if model_id not in _TALKERS:
        raise errors.InvalidParams(
            f"model_id: {model_id!r} is neither a folder nor one of {', '.join(sorted(_TALKERS))}"
        )
    names = (f"{_TALKERS[model_id]}-{quant}.gguf", f"qwen-tokenizer-12hz-{quant}.gguf")
    talker, codec = (_from_hub(name, repo_id, cache_dir, local_files_only) for name in names)
    return talker, codec


def _in_folder(folder: Path, pattern: str, quant: str) -> Path:
    """The file of that precision; the only file, if there is one of another."""
    found = sorted(folder.glob(pattern + ".gguf"))
    exact = [path for path in found if path.stem.lower().endswith(quant.lower())]
    if len(exact or found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise errors.InvalidParams(f"{folder}: one {pattern}-{quant}.gguf is wanted; there is {names}")
    return (exact or found)[0]


def _from_hub(name: str, repo: str, cache_dir: _AnyPath | None, local_files_only: bool) -> Path:
    cached = _cached(name, repo, cache_dir)
    if cached is not None:
        return cached
    cause = "local_files_only was asked for"
    if not local_files_only:
        try:
            from huggingface_hub import hf_hub_download
        except ImportError:
            cause = "huggingface_hub, which would fetch it, is not installed (pip install libqwen[hub])"
        else:
            return Path(hf_hub_download(repo_id=repo, filename=name, cache_dir=cache_dir and str(cache_dir)))
    raise errors.InvalidParams(f"{name} of {repo} is not in the cache of Hugging Face's hub, and {cause}")


def _cached(name: str, repo: str, cache_dir: _AnyPath | None) -> Path | None:
    """A file in the hub's cache: of the revision that "main" was last, else of any."""
    root = Path(cache_dir or _default_cache()) / ("models--" + repo.replace("/", "--"))
    main = root / "refs" / "main"
    revisions = [main.read_text().strip()] if main.is_file() else []
    snapshots = root / "snapshots"
    revisions += sorted(p.name for p in snapshots.iterdir()) if snapshots.is_dir() else []
    for revision in revisions:
        path = snapshots / revision / name
        if path.is_file():
            return path
    return None


def _default_cache() -> Path:
    env = os.environ
    if "HF_HUB_CACHE" in env:
        return Path(env["HF_HUB_CACHE"])
    home = env.get("HF_HOME") or Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home) / "hub"
