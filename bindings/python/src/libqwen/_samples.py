"""Arrays of samples: NumPy's where NumPy is installed, else ``array.array``. All of them own their memory."""

from __future__ import annotations

import array
import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import InvalidParams

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Samples = numpy.typing.NDArray[numpy.float32]  # without NumPy: array.array("f")
    Codes = numpy.typing.NDArray[numpy.int32]  # without NumPy: array.array("i"), row after row
else:
    Samples = Codes = Any

# Integers of n bytes are divided by 2^(8n-1); unsigned bytes are centred on 128, as in WAV files.
_SCALES = {"h": 1 / (1 << 15), "i": 1 / (1 << 31), "l": 1 / (1 << 31)}

MAX_CHANNELS = 64  # a first axis this short is that of the channels


@functools.cache
def numpy_module() -> Any:
    """NumPy, or None."""
    try:
        import numpy as module
    except ImportError:
        return None
    return module


def floats_at(pointer: Any, n: int) -> Samples:
    """A copy of n floats of the library's."""
    samples: Samples = _copy(pointer, n, "f")
    return samples


def ints_at(pointer: Any, n: int) -> Codes:
    """A copy of n int32 of the library's."""
    codes: Codes = _copy(pointer, n, "i")
    return codes


def _copy(pointer: Any, n: int, code: str) -> Any:
    raw = ctypes.string_at(pointer, 4 * n) if n else b""
    np = numpy_module()
    if np is not None:
        return np.frombuffer(raw, dtype="f4" if code == "f" else "i4").copy()
    return array.array(code, raw)


def concatenate(parts: Sequence[Samples]) -> Samples:
    """All parts in one array."""
    np = numpy_module()
    if np is not None:
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)  # type: ignore[no-any-return]
    whole: Any = array.array("f")
    for part in parts:
        whole.extend(part)
    return whole  # type: ignore[no-any-return]


def c_floats(field: str, values: Any) -> ctypes.Array[ctypes.c_float]:
    """A C array of what is a sequence of numbers."""
    floats: ctypes.Array[ctypes.c_float] = _c_array(field, values, ctypes.c_float, "f")
    return floats


def c_ints(field: str, values: Any) -> ctypes.Array[ctypes.c_int32]:
    """A C array of what is a sequence of integers."""
    ints: ctypes.Array[ctypes.c_int32] = _c_array(field, values, ctypes.c_int32, "i")
    return ints


def _c_array(field: str, values: Any, element: Any, code: str) -> Any:
    np = numpy_module()
    try:
        if isinstance(values, array.array) and values.typecode == code:
            raw = values.tobytes()
        elif np is not None:
            if code == "i" and np.asarray(values).dtype.kind not in "iu":
                raise TypeError(f"{np.asarray(values).dtype}, want integers")
            raw = np.ascontiguousarray(values, dtype="f4" if code == "f" else "i4").tobytes()
        else:
            raw = array.array(code, values).tobytes()
    except (TypeError, ValueError, OverflowError) as err:
        raise InvalidParams(f"{field}: {err}") from err
    return (element * (len(raw) // 4)).from_buffer_copy(raw)


def pcm(field: str, values: Any) -> tuple[ctypes.Array[ctypes.c_float], int]:
    """Samples of any kind as floats, channels interleaved, and the number of channels.

    Takes whatever NumPy makes an array of; without NumPy, one-dimensional buffers and sequences of numbers. Of two
    axes, the shorter is the channels'.
    """
    np = numpy_module()
    if np is None:
        return _plain_pcm(field, values), 1
    try:
        samples = np.asarray(values)
    except Exception as err:
        raise InvalidParams(f"{field}: not an array: {err}") from err
    if samples.ndim not in (1, 2) or samples.size == 0:
        raise InvalidParams(f"{field}: an array of shape {samples.shape}, want [samples] or [samples, channels]")
    channels = 1
    if samples.ndim == 2:
        if samples.shape[0] < samples.shape[1]:
            samples = samples.T
        channels = samples.shape[1]
    kind, size = samples.dtype.kind, samples.dtype.itemsize
    if kind == "i" and size in (2, 4):
        samples = samples.astype(np.float64) / (1 << (8 * size - 1))
    elif kind == "u" and size == 1:
        samples = (samples.astype(np.float64) - 128) / 128
    elif kind != "f":
        raise InvalidParams(f"{field}: an array of {samples.dtype}, want floats, int16, int32 or uint8")
    return c_floats(field, np.ascontiguousarray(samples).reshape(-1)), channels


def _plain_pcm(field: str, values: Any) -> ctypes.Array[ctypes.c_float]:
    try:
        view = memoryview(values)
    except TypeError:
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise InvalidParams(f"{field}: {type(values).__name__}, want a path, bytes, a file, or samples") from None
        return c_floats(field, values)
    if view.ndim != 1:
        raise InvalidParams(f"{field}: {view.ndim} dimensions; more than one needs NumPy")
    code = view.format
    if code in ("f", "d"):
        return c_floats(field, array.array("f", view.tolist()))
    if code == "B":
        return c_floats(field, array.array("f", [(x - 128) / 128 for x in view]))
    if code in _SCALES and view.itemsize in (2, 4):
        scale = _SCALES[code]
        return c_floats(field, array.array("f", [x * scale for x in view]))
    raise InvalidParams(f"{field}: a buffer of {code!r}, want floats, int16, int32 or uint8")


def little_endian(raw: array.array[Any]) -> bytes:
    """The bytes of an array as files have them."""
    if sys.byteorder == "big":
        raw = raw[:]
        raw.byteswap()
    return raw.tobytes()


def from_little_endian(code: str, data: bytes) -> array.array[Any]:
    """The array whose bytes a file has."""
    values = array.array(code, data)
    if sys.byteorder == "big":
        values.byteswap()
    return values
