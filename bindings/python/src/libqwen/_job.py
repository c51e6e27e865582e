"""One synthesis, on a thread of its own.

The thread that asked for it waits for what comes, which Ctrl-C interrupts at once; inside the C library it would not
be. It also gets to run the caller's callbacks, so that they may raise, and may use the library.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from . import _abi
from ._library import library, logger, text
from ._samples import Samples, floats_at
from .errors import BusyError, Cancelled, ClosedError, QwenError


@dataclass(frozen=True)
class Progress:
    """How far a synthesis is."""

    frames: int  #: generated so far; one lasts 80 ms
    max_frames: int  #: most that may be generated; it usually ends earlier
    elapsed_ms: float  #: since the call


@dataclass(frozen=True)
class Info:
    """What is to be known of a synthesis. Stages overlap, so their times need not add up to the total."""

    finish_reason: str  #: "stop", "length" (``max_new_tokens`` came first), "empty", "cancelled" or "error"
    seed: int  #: in use: with a negative ``seed``, the one that was drawn
    frames: int  #: of audio generated
    samples: int  #: delivered
    sample_rate: int  #: Hz
    prompt_positions: int  #: of the prompt
    text_tokens: int  #: of the text
    load_ms: float  #: loading the models, once for all that they speak
    tokenise_ms: float  #: text to prompt
    prefill_ms: float  #: prompt through the Talker
    talker_ms: float  #: all steps of the Talker after it
    predictor_ms: float  #: all frames of the CodePredictor
    sampling_ms: float  #: drawing the codes of all codebooks; ``predictor_ms`` has its part of that, too
    codec_ms: float  #: codes to samples
    reference_ms: float  #: extracting the voice of a recording
    first_audio_ms: float  #: from the call to the first samples
    total_ms: float  #: the whole synthesis
    rtf: float  #: that over the length of the speech; 0 without any
    warnings: tuple[str, ...]  #: what was ignored or looked odd


@dataclass(frozen=True)
class Outcome:
    """The end of a job: the last event of it."""

    info: Info
    samples: Samples | None  # of a job that does not stream
    error: BaseException | None


Event = Samples | Progress | Outcome

_running: weakref.WeakSet[Job] = weakref.WeakSet()
_waiting: weakref.WeakSet[threading.Event] = weakref.WeakSet()


@library.at_exit
def _stop_all() -> None:
    for job in list(_running):
        job.cancel()
    for stop in list(_waiting):
        stop.set()
    for job in list(_running):
        job.join()


class Job:
    """A call of qt_synthesize_ex. Events go to ``post`` on the job's thread: samples, progress, and one Outcome."""

    def __init__(
        self,
        context: Any,
        params: _abi.qt_tts_params,
        request: _abi.qt_request,
        keep: list[Any],
        *,
        post: Callable[[Event], None],
        stream: bool,
        progress: bool,
        cancel: Callable[[], object] | None,
    ) -> None:
        self._context = context  # keeps it open
        self._params, self._request, self._keep = params, request, keep
        self._post = post
        self._user_cancel = cancel
        self.stop = threading.Event()  # for finalisers: it refers to nothing, as the job does to the frames of an error
        self._error: BaseException | None = None  # of a callback
        self._done = threading.Event()
        params.cancel = _abi.CancelCallback(self._on_cancel)
        if stream:
            params.on_chunk = _abi.ChunkCallback(self._on_chunk)
        if progress:
            request.progress = _abi.ProgressCallback(self._on_progress)
        self._stream = stream
        self._thread = threading.Thread(target=self._run, name="libqwen", daemon=True)

    def start(self) -> None:
        """Begins."""
        library.check_fork()
        _running.add(self)
        self._thread.start()

    def cancel(self) -> None:
        """Asks it to stop; it does after the current frame at the latest."""
        self.stop.set()

    def join(self) -> None:
        """Waits until the library has returned."""
        library.check_fork()
        self._done.wait()

    # ---- On the job's thread ----

    def _run(self) -> None:
        try:
            outcome = self._call()
        finally:
            _running.discard(self)
            self._params.cancel = _abi.CancelCallback()  # each is a reference back to the job
            self._params.on_chunk = _abi.ChunkCallback()
            self._request.progress = _abi.ProgressCallback()
            self._keep.clear()
            self._done.set()
            self._context = None
        self._deliver(outcome)

    def _call(self) -> Outcome:
        audio, result = _abi.qt_audio(), _abi.qt_result()
        samples: Samples | None = None
        error: BaseException | None = None
        library.qt_result_init(ctypes.byref(result), ctypes.sizeof(result))
        try:
            status = library.qt_synthesize_ex(
                self._context.handle,
                ctypes.byref(self._params),
                ctypes.byref(self._request),
                None if self._stream else ctypes.byref(audio),
                ctypes.byref(result),
            )
            error = self._failure(status, result.finish)
            if error is None and not self._stream:
                samples = floats_at(audio.samples, audio.n_samples)
            info = _info(result)
        except BaseException as err:  # MemoryError of a copy
            error, info = err, _info(result)
        finally:
            library.qt_audio_free(ctypes.byref(audio))
            library.qt_result_free(ctypes.byref(result))
        for warning in info.warnings:
            logger.warning("%s", warning)
        return Outcome(info, samples, error)

    def _failure(self, status: int, finish: int) -> BaseException | None:
        if self._error is not None:
            return self._error
        if status == _abi.OK:
            return None
        error: QwenError = library.error(status)
        if finish == _abi.FINISH_BUSY:
            error = BusyError(str(error))
        elif self._context.closed:
            kind = Cancelled if status == _abi.CANCELLED else ClosedError
            error = kind("the TTS was closed")
        return error

    def _deliver(self, event: Event) -> None:
        if library.exiting:  # who still waits is a daemon thread, about to end without a word
            return
        try:
            self._post(event)
        except BaseException as err:  # an event loop that is gone
            self._error = self._error or err
            self.stop.set()

    # The callbacks must not raise: what is to be raised waits in self._error.

    def _on_cancel(self, _user: object) -> bool:
        if self.stop.is_set() or self._error is not None:
            return True
        if self._user_cancel is None:
            return False
        try:
            return bool(self._user_cancel())
        except BaseException as err:
            self._error = err
            return True

    def _on_chunk(self, samples: Any, n: int, _user: object) -> bool:
        if self.stop.is_set():
            return False
        try:
            self._deliver(floats_at(samples, n))
        except BaseException as err:
            self._error = err
        return not self.stop.is_set() and self._error is None

    def _on_progress(self, progress: Any, _user: object) -> None:
        try:
            now = progress.contents
            self._deliver(Progress(now.n_frames, now.max_frames, now.elapsed_ms))
        except BaseException as err:
            self._error = err


def _info(result: _abi.qt_result) -> Info:
    return Info(
        finish_reason=_abi.FINISH[result.finish] if result.finish < len(_abi.FINISH) else "error",
        seed=result.seed,
        frames=result.n_frames,
        samples=result.n_samples,
        sample_rate=result.sample_rate,
        prompt_positions=result.n_prompt,
        text_tokens=result.n_text_tokens,
        load_ms=result.load_ms,
        tokenise_ms=result.tokenise_ms,
        prefill_ms=result.prefill_ms,
        talker_ms=result.talker_ms,
        predictor_ms=result.predictor_ms,
        sampling_ms=result.sampling_ms,
        codec_ms=result.codec_ms,
        reference_ms=result.reference_ms,
        first_audio_ms=result.first_audio_ms,
        total_ms=result.total_ms,
        rtf=result.rtf,
        warnings=tuple(text(result.warnings).splitlines()),
    )


class Events(Iterator[Event]):
    """The events of a job that has been started, up to the Outcome. Who is interrupted in waiting stops the job."""

    def __init__(self, make: Callable[[Callable[[Event], None]], Job]) -> None:
        self._queue: SimpleQueue[Event] = SimpleQueue()
        self._job = make(self._queue.put)
        self._ended = False
        self._finalizer = weakref.finalize(self, self._job.stop.set)
        self._job.start()

    def __next__(self) -> Event:
        if self._ended:
            raise StopIteration
        library.check_fork()
        try:
            event = self._queue.get()
        except BaseException:  # KeyboardInterrupt, for one
            self.close()
            raise
        self._ended = isinstance(event, Outcome)
        return event

    def cancel(self) -> None:
        """Stops the job, in a while."""
        self._ended = True
        self._job.cancel()

    def close(self) -> None:
        """Stops the job and waits until it has stopped."""
        self.cancel()
        self._job.join()

    def outcome(self) -> Outcome:
        """How the job ended, after close."""
        while True:
            event = self._queue.get()
            if isinstance(event, Outcome):
                return event


def wait(call: Callable[[threading.Event], Any]) -> Any:
    """The result of a call that is made on a thread of its own. Ctrl-C sets the event, at which the call is to end."""
    queue: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    stop = threading.Event()
    _waiting.add(stop)

    def run() -> None:
        try:
            queue.put((call(stop), None))
        except BaseException as err:
            queue.put((None, err))

    thread = threading.Thread(target=run, name="libqwen", daemon=True)
    thread.start()
    try:
        value, error = queue.get()
    except BaseException:  # KeyboardInterrupt, for one
        stop.set()
        thread.join()
        raise
    if error is not None:
        raise error
    return value
