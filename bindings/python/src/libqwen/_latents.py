"""Voices in two files: x-vector (``.spk``: little-endian floats) and codes (``.rvq``).

A ``.rvq`` file is the codes of codebook 0 for all frames, then those of codebook 1, and so on, each of the same number
of bits, from the least significant bit of a byte upwards.
"""

from __future__ import annotations

import array
import math
from typing import Any

from . import _samples
from ._library import integer
from ._samples import Codes, Samples
from .errors import InvalidParams

CODE_BITS = 11  # of a code: codebooks have 2048 entries


def pack_floats(field: str, values: Any) -> bytes:
    """The content of a ``.spk`` file."""
    floats = _samples.c_floats(field, values)
    if not len(floats):
        raise InvalidParams(f"{field}: empty")
    return _samples.little_endian(array.array("f", floats))


def unpack_floats(name: str, data: bytes) -> Samples:
    """The x-vector in the content of a ``.spk`` file."""
    if not data or len(data) % 4:
        raise InvalidParams(f"{name}: {len(data)} bytes are no x-vector")
    floats = _samples.from_little_endian("f", data)
    for i, x in enumerate(floats):
        if not math.isfinite(x):
            raise InvalidParams(f"{name}: value {i} is {x}")
    return _samples.floats_at(_samples.c_floats(name, floats), len(floats))


def pack_codes(field: str, codes: Any, bits: int) -> bytes:
    """The content of a ``.rvq`` file; codes are [codebooks][frames], or the same in one row."""
    _check_bits(bits)
    if _samples.numpy_module() is None and len(codes) and hasattr(codes[0], "__len__"):
        codes = [code for row in codes for code in row]
    flat = _samples.c_ints(field, codes)
    whole = 0
    for i, code in enumerate(flat):
        if not 0 <= code < 1 << bits:
            raise InvalidParams(f"{field}: code {code} does not fit {bits} bits")
        whole |= code << (i * bits)
    if not len(flat):
        raise InvalidParams(f"{field}: empty")
    return whole.to_bytes((len(flat) * bits + 7) // 8, "little")


def unpack_codes(name: str, data: bytes, codebooks: int, bits: int) -> Codes:
    """The codes in the content of a ``.rvq`` file."""
    _check_bits(bits)
    if integer("num_codebooks", codebooks) < 1:
        raise InvalidParams(f"num_codebooks: {codebooks}, want 1 or more")
    frames = len(data) * 8 // (bits * codebooks)
    if not frames or (frames * codebooks * bits + 7) // 8 != len(data):
        raise InvalidParams(f"{name}: {len(data)} bytes are no frames of {codebooks} codes of {bits} bits")
    whole = int.from_bytes(data, "little")
    n, mask = frames * codebooks, (1 << bits) - 1
    flat = array.array("i", [(whole >> (i * bits)) & mask for i in range(n)])
    codes = _samples.ints_at(_samples.c_ints(name, flat), n)
    return codes.reshape(codebooks, frames) if _samples.numpy_module() is not None else codes


def _check_bits(bits: int) -> None:
    if not 1 <= integer("code_bits", bits) <= 31:
        raise InvalidParams(f"code_bits: {bits}, want 1 to 31")
