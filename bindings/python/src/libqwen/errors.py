"""What can go wrong, by kind. The message names the field, tensor or file at fault."""

from __future__ import annotations

__all__ = [
    "BusyError",
    "Cancelled",
    "ClosedError",
    "ForkError",
    "GenerateError",
    "InvalidParams",
    "LibraryError",
    "ModeError",
    "OutOfMemory",
    "QwenError",
]


class QwenError(RuntimeError):
    """The base of all of them; ``status`` is the C library's ``enum qt_status``."""

    status: int = -3


class InvalidParams(QwenError, ValueError):
    """A parameter is missing, malformed, out of range, or contradicts another."""

    status = -1


class ClosedError(InvalidParams):
    """The TTS was closed."""


class ForkError(InvalidParams):
    """The library was loaded before ``fork()``, and this is the child."""


class ModeError(QwenError, ValueError):
    """The request or voice does not fit the family of the loaded checkpoint."""

    status = -2


class GenerateError(QwenError):
    """The computation, a device or a model file failed."""

    status = -3


class BusyError(GenerateError):
    """As many calls as ``max_queue`` allows are waiting already."""


class OutOfMemory(QwenError, MemoryError):
    """The memory of the host or device does not suffice."""

    status = -4


class Cancelled(QwenError):
    """A callback asked to stop, or the TTS was closed meanwhile."""

    status = -5


class LibraryError(ImportError):
    """libqwen's shared library is missing, or of another version than this package."""


_BY_STATUS: dict[int, type[QwenError]] = {
    error.status: error for error in (InvalidParams, ModeError, GenerateError, OutOfMemory, Cancelled)
}


def from_status(status: int, message: str) -> QwenError:
    """The exception for a status other than 0."""
    error = _BY_STATUS.get(status, GenerateError)(message or f"status {status}")
    error.status = status
    return error
