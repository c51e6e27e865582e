"""What the machine and the library are."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from . import _abi
from ._library import encode_path, library, text


@dataclass(frozen=True)
class Device:
    """A device that a model can run on."""

    name: str  #: for ``TTS(device=…)``
    description: str  #: for people
    type: str  #: "cpu", "gpu", "integrated gpu", "accelerator" or "other"
    memory_free: int  #: bytes; 0 if not known
    memory_total: int  #: bytes; 0 if not known


def devices(*, ggml_dir: str | os.PathLike[str] | None = None) -> list[Device]:
    """The devices of this machine."""
    folder = encode_path("ggml_dir", ggml_dir)
    size = ctypes.sizeof(_abi.qt_device)
    capacity = 16
    while True:
        found = (_abi.qt_device * capacity)()
        n = library.qt_devices(folder, found, capacity, size)
        if n < 0:
            raise library.error(n)
        if n <= capacity:
            return [_device(d) for d in found[:n]]
        capacity = n


def _device(d: _abi.qt_device) -> Device:
    kind = _abi.DEVICE_TYPES[d.type] if 0 <= d.type < len(_abi.DEVICE_TYPES) else "other"
    return Device(text(d.name), text(d.description), kind, d.memory_free, d.memory_total)


def system_info() -> str:
    """Several lines for a bug report: ggml's version, its backends, the CPU variant and features in use."""
    info = library.qt_system_info()
    if info is None:
        raise library.error(library.qt_last_status())
    return text(info)


def version() -> str:
    """Of the shared library: "<git hash> (<commit date>)"."""
    return text(library.qt_version())


def abi_version() -> int:
    """Of the shared library's structs: 4."""
    return int(library.qt_abi_version())
