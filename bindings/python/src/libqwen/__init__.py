"""Text to speech with Qwen3-TTS models.

    import libqwen

    with libqwen.TTS("talker.gguf", "codec.gguf") as tts:
        audio = tts.synthesize("Good morning!", speaker=tts.speakers[0])
        audio.save("morning.wav")

Everything is thread-safe. After ``fork()`` the library cannot be used in the child: use multiprocessing's "spawn" or
"forkserver". What the library has to say goes to the logger ``libqwen``.
"""

from . import bulk
from ._device import Device, abi_version, devices, system_info, version
from ._job import Info, Progress
from .audio import Audio, to_pcm16
from .errors import (
    BusyError,
    Cancelled,
    ClosedError,
    ForkError,
    GenerateError,
    InvalidParams,
    LibraryError,
    ModeError,
    OutOfMemory,
    QwenError,
)
from .tts import TTS, AsyncStream, Options, Stream
from .voice import Recording, Voice

__version__ = "0.1.0"

__all__ = [
    "TTS",
    "AsyncStream",
    "Audio",
    "BusyError",
    "Cancelled",
    "ClosedError",
    "Device",
    "ForkError",
    "GenerateError",
    "Info",
    "InvalidParams",
    "LibraryError",
    "ModeError",
    "Options",
    "OutOfMemory",
    "Progress",
    "QwenError",
    "Recording",
    "Stream",
    "Voice",
    "abi_version",
    "bulk",
    "devices",
    "system_info",
    "to_pcm16",
    "version",
]
