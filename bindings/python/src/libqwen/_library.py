"""Finds, loads and guards the shared library."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _abi
from .errors import ForkError, InvalidParams, LibraryError, QwenError, from_status

logger = logging.getLogger("libqwen")

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

_FORKED = (
    "libqwen was loaded before this process was forked, and its threads do not exist here: use the start method "
    '"spawn" or "forkserver" of multiprocessing, or import libqwen in the child only'
)


def _find() -> Path:
    """The library named by QWEN_LIBRARY, else the one in this package."""
    named = os.environ.get("QWEN_LIBRARY")
    path = Path(named) if named else Path(__file__).with_name("lib") / "libqwen.so"
    if path.is_file():
        return path.resolve()
    if named:
        raise LibraryError(f"QWEN_LIBRARY: {named} is not a file")
    raise LibraryError(
        f"{path} is missing: this copy of the package was installed without libqwen.so "
        "(install a wheel made by `make wheel`, or name the library in QWEN_LIBRARY)"
    )


def _load(path: Path) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(str(path))
        lib.qt_abi_version.restype = ctypes.c_int
        version = lib.qt_abi_version()
    except (OSError, AttributeError) as err:
        raise LibraryError(f"{path} cannot be used: {err}") from err
    if version != _abi.ABI_VERSION:
        raise LibraryError(f"{path} has ABI version {version}; this package needs {_abi.ABI_VERSION}")
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError as err:
            raise LibraryError(f"{path} is older than this package: it has no {name}") from err
        function.restype, function.argtypes = result, arguments
    return lib


_listener: Callable[[int, str], object] | None = None


def set_listener(listener: Callable[[int, str], object] | None) -> None:
    """Gives each line, with its enum qt_log_level, to a function too."""
    global _listener
    _listener = listener


def _log(level: int, message: bytes, _user: object) -> None:
    with contextlib.suppress(Exception):  # a broken filter has nobody to be reported to
        logger.log(_LEVELS[min(max(level, 0), len(_LEVELS) - 1)], "%s", text(message))
        if _listener is not None:
            _listener(level, text(message))


class Library:
    """The functions of the C library, as attributes; refused in a forked child, where they would hang."""

    def __init__(self) -> None:
        self.path = _find()
        self._lib = _load(self.path)
        self._at_exit: list[Callable[[], None]] = []
        self.forked = self.exiting = False
        os.register_at_fork(after_in_child=self._after_fork)
        self._log = _abi.LogCallback(_log)
        self._lib.qt_log_set(self._log, None)
        atexit.register(self._exit)

    def __getattr__(self, name: str) -> Any:
        if self.forked:
            raise ForkError(_FORKED)
        return getattr(self._lib, name)

    def _after_fork(self) -> None:
        self.forked = True

    def _exit(self) -> None:
        """No thread may call into an interpreter that is being taken down."""
        if self.forked:
            return
        self.exiting = True
        for hook in self._at_exit:
            hook()
        self._lib.qt_log_set(_abi.LogCallback(), None)

    def at_exit(self, hook: Callable[[], None]) -> None:
        """Calls hook before the interpreter goes down, but not in a forked child. Hooks run in their order."""
        self._at_exit.append(hook)

    def check_fork(self) -> None:
        """Raises in a forked child."""
        if self.forked:
            raise ForkError(_FORKED)

    def error(self, status: int) -> QwenError:
        """The failure just seen on this thread."""
        return from_status(status, text(self.qt_last_error()))


def text(raw: bytes | None) -> str:
    """A string of the library's."""
    return raw.decode("utf-8", "replace") if raw else ""


def encode(field: str, value: str | None) -> bytes | None:
    """A string for the library, which ends at the first NUL."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{field}: {type(value).__name__}, want str")
    at = value.find("\0")
    if at >= 0:
        raise InvalidParams(f"{field}: NUL character at {at}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as err:
        raise InvalidParams(f"{field}: not encodable as UTF-8 at {err.start}: {err.reason}") from err


def encode_path(field: str, value: str | bytes | os.PathLike[Any] | None) -> bytes | None:
    """A file name for the library, in the encoding of the file system."""
    if value is None:
        return None
    raw = os.fsencode(value)
    if b"\0" in raw:
        raise InvalidParams(f"{field}: NUL character in a path")
    return raw


def integer(field: str, value: int, bits: int = 32) -> int:
    """A number that fits a C integer; ctypes would cut off what does not."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{field}: {type(value).__name__}, want int") from None
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise InvalidParams(f"{field}: {number} is out of range")
    return number


def real(field: str, value: float) -> float:
    """A number for a C float; the text of one is none."""
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{field}: {type(value).__name__}, want float")


def choice(field: str, value: str, names: tuple[str, ...]) -> int:
    """The index of a name."""
    try:
        return names.index(value)
    except ValueError:
        raise InvalidParams(f"{field}: {value!r}, want one of {', '.join(names)}") from None


library = Library()
