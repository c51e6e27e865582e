"""Reference voices: what a Base model needs to speak like somebody."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import _abi, _samples
from ._files import write_file
from ._job import wait
from ._library import encode, integer, library, text
from ._samples import Codes, Samples
from .errors import InvalidParams

if TYPE_CHECKING:
    from .tts import TTS

#: A recording: the name of an audio file, its content, an open binary file, samples at 24 kHz, or a pair of samples and
#: their rate. Samples are NumPy arrays, what has ``__array__`` or the buffer protocol, or sequences of numbers; floats
#: in [-1, 1], int16, int32 or uint8; one channel, or two axes of which the shorter is the channels'.
Recording = str | os.PathLike[str] | bytes | IO[bytes] | Any

_MAX_FILE = 1 << 30


class Voice:
    """The x-vector of a speaker, and the codes and transcript of the recording that it comes from, if they are known.

    With codes and transcript, a model continues the recording, which copies more of it; without, the voice is taken
    from the x-vector alone, which keeps steadier from text to text.
    """

    def __init__(
        self,
        x_vector: Sequence[float] | Samples,
        codes: Sequence[Sequence[int]] | Codes | None = None,
        *,
        text: str | None = None,
        num_codebooks: int = 16,
    ) -> None:
        """A voice of its parts; codes are [num_codebooks][frames], or the same in one row."""
        self._x_vector = _samples.c_floats("x_vector", x_vector)
        if not len(self._x_vector):
            raise InvalidParams("x_vector: empty")
        self._codes = None if codes is None else _rows(codes, num_codebooks)
        self.num_codebooks = num_codebooks
        self.text = text or None
        self._file: bytes | None = None

    @classmethod
    def from_wav(
        cls,
        tts: TTS,
        recording: Recording,
        *,
        text: str | None = None,
        trim: bool = False,
        cancel: Callable[[], object] | None = None,
    ) -> Voice:
        """Takes the voice of a recording of any format, one frame (80 ms) to two minutes long, with a Base model.

        ``text`` is what is spoken in it, every word and no more. ``trim`` cuts off silence and fades at both ends.
        Three to fifteen seconds of clear speech are best; what is odd about the recording is logged as a warning.
        ``cancel`` is asked now and then, on another thread; if it says true, :class:`Cancelled` is raised.
        """
        pcm = read_recording(recording, text=text, trim=trim)
        return wait(lambda stop: cls._extract(tts, pcm, text, stop, cancel))  # type: ignore[no-any-return]

    @classmethod
    def load(cls, tts: TTS, file: str | os.PathLike[str] | bytes | IO[bytes]) -> Voice:
        """Reads a ``.qvoice`` file, which must be of the model that ``tts`` has, at any precision."""
        data = _read("file", file)
        ref, transcript = _abi.qt_voice_ref(), _abi.qt_bytes()
        status = library.qt_voice_load(tts._open().handle, data, len(data), ctypes.byref(ref), ctypes.byref(transcript))
        if status != _abi.OK:
            raise library.error(status)
        try:
            spoken = text(ctypes.string_at(transcript.data, transcript.size)) if transcript.data else None
            voice = cls._of(ref, spoken)
        finally:
            library.qt_bytes_free(ctypes.byref(transcript))
            library.qt_voice_ref_free(ctypes.byref(ref))
        voice._file = data
        return voice

    @classmethod
    def _extract(
        cls, tts: TTS, pcm: Any, spoken: str | None, stop: threading.Event, cancel: Callable[[], object] | None
    ) -> Voice:
        ref = _abi.qt_voice_ref()
        raised: list[BaseException] = []  # by cancel, which must not raise into the library

        def stopped(_user: object) -> bool:
            try:
                return stop.is_set() or (cancel is not None and bool(cancel()))
            except BaseException as err:
                raised.append(err)
                return True

        callback = _abi.CancelCallback(stopped)
        status = library.qt_extract_voice_ref_ex(tts._open().handle, pcm, len(pcm), callback, None, ctypes.byref(ref))
        if raised:
            library.qt_voice_ref_free(ctypes.byref(ref))
            raise raised[0]
        if status != _abi.OK:
            raise library.error(status)
        try:
            voice = cls._of(ref, spoken)
        finally:
            library.qt_voice_ref_free(ctypes.byref(ref))
        voice._file = voice.to_bytes(tts)
        return voice

    @classmethod
    def _of(cls, ref: _abi.qt_voice_ref, spoken: str | None) -> Voice:
        n = ref.num_codebooks * ref.ref_T
        return cls(
            _samples.floats_at(ref.ref_spk_emb, ref.ref_spk_dim),
            _samples.ints_at(ref.ref_codes, n) if n else None,
            text=spoken,
            num_codebooks=ref.num_codebooks,
        )

    @property
    def x_vector(self) -> Samples:
        """The speaker's vector: a float32 array."""
        return _samples.floats_at(self._x_vector, len(self._x_vector))

    @property
    def codes(self) -> Codes | None:
        """The codes: an int32 array [num_codebooks, frames], without NumPy in one row; None if there are none."""
        if self._codes is None:
            return None
        flat = _samples.ints_at(self._codes, len(self._codes))
        return flat.reshape(self.num_codebooks, -1) if _samples.numpy_module() is not None else flat

    @property
    def frames(self) -> int:
        """Frames of codes; one lasts 80 ms."""
        return 0 if self._codes is None else len(self._codes) // self.num_codebooks

    def save(self, to: str | os.PathLike[str] | IO[bytes], *, tts: TTS | None = None) -> None:
        """Writes a ``.qvoice`` file. A voice that was made of parts belongs to no model yet: ``tts`` gives it."""
        data = self._file if tts is None else self.to_bytes(tts)
        if data is None:
            raise InvalidParams("tts: needed to save a voice that was made of parts")
        if hasattr(to, "write"):
            to.write(data)
        else:
            write_file(Path(to), data)

    def to_bytes(self, tts: TTS) -> bytes:
        """The content of a ``.qvoice`` file for the model that ``tts`` has."""
        out = _abi.qt_bytes()
        status = library.qt_voice_save(
            tts._open().handle, ctypes.byref(self._ref()), encode("text", self.text), ctypes.byref(out)
        )
        if status != _abi.OK:
            raise library.error(status)
        try:
            return ctypes.string_at(out.data, out.size)
        finally:
            library.qt_bytes_free(ctypes.byref(out))

    def _ref(self) -> _abi.qt_voice_ref:
        """The C struct; it borrows the arrays of this object."""
        ref = _abi.qt_voice_ref()
        ref.ref_spk_emb = ctypes.cast(self._x_vector, ctypes.POINTER(ctypes.c_float))
        ref.ref_spk_dim = len(self._x_vector)
        ref.num_codebooks = self.num_codebooks
        if self._codes is not None:
            ref.ref_codes = ctypes.cast(self._codes, ctypes.POINTER(ctypes.c_int32))
            ref.ref_T = self.frames
        return ref

    def __repr__(self) -> str:
        spoken = "no transcript" if self.text is None else repr(self.text)
        return f"<Voice: x-vector of {len(self._x_vector)}, {self.frames} frames of codes, {spoken}>"


def _rows(codes: Any, num_codebooks: int) -> ctypes.Array[ctypes.c_int32]:
    if integer("num_codebooks", num_codebooks) < 1:
        raise InvalidParams(f"num_codebooks: {num_codebooks}, want 1 or more")
    if _samples.numpy_module() is None and len(codes) and isinstance(codes[0], Sequence):
        if len(codes) != num_codebooks or len({len(row) for row in codes}) != 1:
            raise InvalidParams(f"codes: want {num_codebooks} rows of the same length")
        codes = [code for row in codes for code in row]
    shape = getattr(codes, "shape", None)
    if shape is None and _samples.numpy_module() is not None:
        shape = _samples.numpy_module().asarray(codes).shape
    if shape is not None and len(shape) > 1 and (len(shape) != 2 or shape[0] != num_codebooks):
        raise InvalidParams(f"codes: an array of shape {tuple(shape)}, want [{num_codebooks}, frames]")
    flat = _samples.c_ints("codes", codes)
    if not len(flat) or len(flat) % num_codebooks:
        raise InvalidParams(f"codes: {len(flat)} are no whole number of frames of {num_codebooks}")
    return flat


def read_recording(
    recording: Recording, *, text: str | None = None, trim: bool = False
) -> ctypes.Array[ctypes.c_float]:
    """The recording as the models want it: mono, 24 kHz."""
    c_recording = _abi.qt_recording()
    library.qt_recording_init(ctypes.byref(c_recording), ctypes.sizeof(c_recording))
    c_recording.trim = int(trim)
    c_recording.ref_text = encode("text", text)
    keep = _fill(c_recording, recording)
    out = _abi.qt_audio()
    status = library.qt_read_recording(ctypes.byref(c_recording), ctypes.byref(out))
    del keep
    if status != _abi.OK:
        raise library.error(status)
    try:
        pcm: ctypes.Array[ctypes.c_float] = (ctypes.c_float * out.n_samples)()
        ctypes.memmove(pcm, out.samples, ctypes.sizeof(pcm))
        return pcm
    finally:
        library.qt_audio_free(ctypes.byref(out))


def _fill(to: _abi.qt_recording, recording: Recording) -> Any:
    """Sets the fields of a recording; what is returned must be kept alive."""
    if isinstance(recording, (str, os.PathLike, bytes, bytearray)) or hasattr(recording, "read"):
        data = _read("recording", recording)
        to.file, to.file_size = data, len(data)
        return data
    rate: Any = 24000
    if isinstance(recording, tuple) and len(recording) == 2 and any(_is_rate(x) for x in recording):
        recording, rate = recording if _is_rate(recording[1]) else (recording[1], recording[0])
    samples, channels = _samples.pcm("recording", recording)
    to.samples = ctypes.cast(samples, ctypes.POINTER(ctypes.c_float))
    to.n_frames = integer("recording", len(samples) // channels)
    to.channels = channels
    to.sample_rate = integer("sample rate", rate)
    return samples


def _is_rate(x: Any) -> bool:
    return hasattr(x, "__index__") and getattr(x, "ndim", 0) == 0


def _read(field: str, source: Any) -> bytes:
    """The content of a file that is named, open, or at hand."""
    if isinstance(source, (bytes, bytearray)):
        data = source
    elif hasattr(source, "read"):
        data = source.read(_MAX_FILE + 1)
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"{field}: an open file that is not binary")
    else:
        with Path(source).open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise InvalidParams(f"{field}: more than {_MAX_FILE} bytes")
    return bytes(data)
