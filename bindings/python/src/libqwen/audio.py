"""Audio that was synthesised."""

from __future__ import annotations

import base64
import ctypes
import os
from pathlib import Path
from typing import IO, Any

from . import _abi, _samples
from ._files import write_file
from ._job import Info
from ._library import encode as c_string
from ._library import library
from ._samples import Samples
from .errors import InvalidParams

Destination = str | os.PathLike[str] | IO[bytes]

SAMPLE_RATE = 24000


class Audio:
    """Mono samples in [-1, 1], and how they came about.

    ``samples`` is a float32 array of NumPy, or an ``array.array("f")`` where NumPy is not installed.
    """

    def __init__(self, samples: Samples, info: Info) -> None:
        self.samples: Samples = samples
        self.info: Info = info

    @property
    def sample_rate(self) -> int:
        """Samples a second: 24000."""
        return self.info.sample_rate or SAMPLE_RATE

    @property
    def finish_reason(self) -> str:
        """Why it ended: "stop", "length", "empty" or "cancelled"."""
        return self.info.finish_reason

    @property
    def seed(self) -> int:
        """The seed that makes the same audio again."""
        return self.info.seed

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    def save(self, to: Destination, *, format: str | None = None) -> None:
        """Writes a file, or to an open binary file.

        The format follows from the name: ``.wav`` (16-bit; also without an ending), ``.flac``, ``.mp3``, ``.opus``,
        ``.ogg``, ``.pcm``; or it is one of "wav", "wav24", "wav32" (float), "pcm", "flac", "mp3", "opus", "vorbis".
        All but WAV and PCM need libsndfile.
        """
        data = self.encode(format or _format_of(to))
        if isinstance(to, (str, os.PathLike)):
            write_file(Path(to), data)
        else:
            to.write(data)

    def encode(self, format: str = "wav") -> bytes:
        """The content of such a file."""
        return encode(self.samples, format, self.sample_rate)

    def pcm16(self) -> bytes:
        """The samples as 16-bit little-endian integers."""
        return to_pcm16(self.samples)

    def __len__(self) -> int:
        return len(self.samples)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """The samples, for NumPy and what works like it."""
        np = _samples.numpy_module()
        array_of = np.asarray(self.samples, dtype=dtype)
        return array_of.copy() if copy else array_of

    def __repr__(self) -> str:
        return f"<Audio: {self.duration:.2f} s at {self.sample_rate} Hz, {self.finish_reason}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        """A player, for notebooks."""
        data = base64.b64encode(self.encode("wav")).decode("ascii")
        return f'<audio controls src="data:audio/wav;base64,{data}"></audio>'


def encode(samples: Samples, format: str, sample_rate: int) -> bytes:
    """The content of an audio file."""
    floats = _samples.c_floats("samples", samples)
    out = _abi.qt_bytes()
    status = library.qt_encode_audio(
        floats if len(floats) else None, len(floats), sample_rate, c_string("format", format), ctypes.byref(out)
    )
    if status != _abi.OK:
        raise library.error(status)
    try:
        return ctypes.string_at(out.data, out.size) if out.data else b""
    finally:
        library.qt_bytes_free(ctypes.byref(out))


def to_pcm16(samples: Samples) -> bytes:
    """Samples in [-1, 1] as 16-bit little-endian integers, as sound cards and telephones want them."""
    return encode(samples, "pcm", SAMPLE_RATE)


# What endings of names stand for.
_ENDINGS = {
    "": "wav", ".wav": "wav", ".wave": "wav", ".flac": "flac", ".mp3": "mp3", ".opus": "opus", ".ogg": "vorbis",
    ".oga": "vorbis", ".pcm": "pcm", ".raw": "pcm",
}  # fmt: skip


def _format_of(to: Destination) -> str:
    name = to if isinstance(to, (str, os.PathLike)) else getattr(to, "name", None)
    ending = Path(name).suffix.lower() if isinstance(name, (str, os.PathLike)) else ""
    if ending not in _ENDINGS:
        known = ".wav, .mp3, .opus, .flac, .ogg, .pcm"
        raise InvalidParams(f"{name!s}: {ending} files are not written: choose one of {known}, or give the format")
    return _ENDINGS[ending]
