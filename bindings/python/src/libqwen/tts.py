"""The engine."""

from __future__ import annotations

import asyncio
import ctypes
import os
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import TracebackType
from typing import Any, TypedDict

from . import _abi, _samples
from ._job import Event, Events, Info, Job, Outcome, Progress
from ._library import choice, encode, encode_path, integer, library, real, text
from ._samples import Samples
from .audio import SAMPLE_RATE, Audio
from .errors import ClosedError, InvalidParams
from .voice import Recording, Voice, read_recording


class Options(TypedDict, total=False):
    """What all ways of speaking take by keyword; see :meth:`TTS.synthesize`."""

    speaker: str | None
    voice: Voice | None
    ref_audio: Recording | None
    ref_text: str | None
    instruct: str | None
    lang: str | None
    seed: int
    max_new_tokens: int | None
    do_sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    repetition_penalty: float | None
    subtalker_do_sample: bool | None
    subtalker_temperature: float | None
    subtalker_top_k: int | None
    subtalker_top_p: float | None
    text_layout: str
    chunk_frames: int
    long: bool
    piece_chars: int
    speed: float
    dump_dir: str | os.PathLike[str] | None
    on_progress: Callable[[Progress], object] | None
    cancel: Callable[[], object] | None


_open_contexts: weakref.WeakSet[_Context] = weakref.WeakSet()


@library.at_exit
def _close_all() -> None:
    for context in list(_open_contexts):
        context.close()


class _Context:
    """A qt_context, freed when it is closed, collected, or left over at exit."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._finalizer = weakref.finalize(self, _free, handle)
        self._finalizer.atexit = False  # what runs in it is stopped first, see _job
        _open_contexts.add(self)

    @property
    def closed(self) -> bool:
        return not self._finalizer.alive

    def close(self) -> None:
        self._finalizer()


def _free(handle: int) -> None:
    if not library.forked:  # there, the memory is the parent's business
        library.qt_free(handle)


class Stream(Iterator[Samples]):
    """Pieces of audio as soon as they are there: float32 arrays, mono, 24 kHz. ``close()`` stops the synthesis.

    So does leaving a ``with`` block, and dropping the stream before its end.
    """

    sample_rate: int = SAMPLE_RATE

    def __init__(self, events: Events, on_progress: Callable[[Progress], object] | None) -> None:
        self._events = events
        self._on_progress = on_progress
        self._info: Info | None = None

    def __next__(self) -> Samples:
        for event in self._events:
            if isinstance(event, Outcome):
                self._info = event.info
                if event.error is not None:
                    raise event.error
            elif isinstance(event, Progress):
                self._report(event)
            else:
                return event
        raise StopIteration

    def _report(self, progress: Progress) -> None:
        try:
            if self._on_progress is not None:
                self._on_progress(progress)
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> Info | None:
        """What is to be known of the synthesis, once it has ended by itself."""
        return self._info

    def close(self) -> None:
        """Stops the synthesis, which takes a frame at most, and waits for that."""
        self._events.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(AsyncIterator[Samples]):
    """A :class:`Stream` for ``async for``; ``aclose()`` stops it, and so does dropping it or leaving ``async with``."""

    sample_rate: int = SAMPLE_RATE

    def __init__(self, tts: TTS, text: str, streaming: bool, options: Options) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        self._on_progress = options.get("on_progress")
        self._info: Info | None = None
        self._ended = False
        loop, queue = self._loop, self._queue  # not self: the job does not keep the stream alive
        self._job = tts._job(
            text, options, stream=streaming, post=lambda e: _post(loop, queue, e), progress=self._on_progress
        )
        self._finalizer = weakref.finalize(self, self._job.stop.set)
        self._job.start()

    async def _next(self) -> Event:
        try:
            event = await self._queue.get()
        except BaseException:  # asyncio.CancelledError, for one
            self._job.cancel()
            raise
        if isinstance(event, Outcome):
            self._ended = True
            self._info = event.info
            if event.error is not None:
                raise event.error
        elif isinstance(event, Progress) and self._on_progress is not None:
            try:
                self._on_progress(event)
            except BaseException:
                self._job.cancel()
                raise
        return event

    async def __anext__(self) -> Samples:
        while not self._ended:
            event = await self._next()
            if not isinstance(event, (Outcome, Progress)):
                return event
        raise StopAsyncIteration

    async def _outcome(self) -> Outcome:
        """The end of a synthesis that does not stream."""
        while True:
            event = await self._next()
            if isinstance(event, Outcome):
                return event

    @property
    def info(self) -> Info | None:
        """What is to be known of the synthesis, once it has ended by itself."""
        return self._info

    async def aclose(self) -> None:
        """Stops the synthesis and waits until it has stopped."""
        self._job.cancel()
        self._ended = True
        await self._loop.run_in_executor(None, self._job.join)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _post(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[Event], event: Event) -> None:
    loop.call_soon_threadsafe(queue.put_nowait, event)


class TTS:
    """A loaded pair of models that speaks. Safe to use from many threads: each synthesis waits for its turn.

    Close it with ``close()`` or a ``with`` block; otherwise it is closed when it is collected.
    """

    def __init__(
        self,
        talker: str | os.PathLike[str],
        codec: str | os.PathLike[str] | None = None,
        *,
        predictor_path: str | os.PathLike[str] | None = None,
        tokenizer_path: str | os.PathLike[str] | None = None,
        mode: str | None = None,
        device: str = "auto",
        n_threads: int = 0,
        n_ctx: int = 0,
        max_batch: int = 1,
        max_queue: int = 0,
        use_fa: bool = True,
        clamp_fp16: bool = False,
        codec_chunk_sec: float = 24.0,
        codec_bf16: bool = False,
        onnx_provider: str | None = None,
        kv_type: str | None = None,
        ggml_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        """Loads ``talker`` (``qwen-talker-*.gguf``) and ``codec`` (``qwen-tokenizer-12hz-*.gguf``).

        Args:
            talker: the GGUF file of the Talker and CodePredictor, or a folder: a checkpoint's, or one that holds the
                GGUF files of a model by their usual names.
            codec: the GGUF file of the speech tokenizer, or an ONNX vocoder; unless that folder has it.
            predictor_path: the GGUF file of the CodePredictor, where ``talker`` does not have it.
            tokenizer_path: the GGUF file of the text tokenizer, where ``talker`` does not have it.
            mode: "base", "custom_voice" or "voice_design": the one that is wanted of a folder with several, or that a
                file which does not tell has.
            device: "auto", "cpu" or a name that :func:`libqwen.devices` lists; several, separated by commas, to take
                the first that works; "cuda:0/cpu" for the language models on one and the codec on another.
            n_threads: CPU threads; 0 takes ``QWEN_THREADS``, else what the process may use.
            n_ctx: most positions (prompt and frames) of one synthesis; 0 is what the model allows.
            max_batch: syntheses that may be computed together.
            max_queue: calls that may wait while ``max_batch`` are computed; one more raises BusyError. 0: no limit.
            use_fa: flash attention, where the device has it.
            clamp_fp16: clamp activations to the range of FP16 (GPUs before Ampere).
            codec_chunk_sec: most seconds of audio that the codec decodes at once when not streaming; bounds its memory.
            codec_bf16: let the codec's convolutions round to BF16 where the CPU multiplies it: faster, coarser.
            onnx_provider: what an ONNX vocoder runs on: "cpu", "cuda", or several with commas between them to take the
                first that works; None takes ``QWEN_ONNX_PROVIDER``, else the best.
            kv_type: how the attention's keys and values are kept: "auto", "f32", "f16" or "q8_0" (less memory).
            ggml_dir: directory of ggml's shared libraries, instead of those that come with this package. The first one
                used in a process stays.
        """
        params, options = _abi.qt_init_params(), _abi.qt_options()
        library.qt_init_default_params(ctypes.byref(params))
        library.qt_options_init(ctypes.byref(options), ctypes.sizeof(options))
        params.talker_path = encode_path("talker", talker)
        params.codec_path = encode_path("codec", codec)
        params.use_fa = bool(use_fa)
        params.clamp_fp16 = bool(clamp_fp16)
        params.max_batch = integer("max_batch", max_batch)
        params.codec_chunk_sec = real("codec_chunk_sec", codec_chunk_sec)
        options.predictor_path = encode_path("predictor_path", predictor_path)
        options.tokenizer_path = encode_path("tokenizer_path", tokenizer_path)
        options.mode = encode("mode", mode)
        options.onnx_provider = encode("onnx_provider", onnx_provider)
        options.kv_type = encode("kv_type", kv_type)
        options.n_threads = integer("n_threads", n_threads)
        options.device = encode("device", device)
        options.ggml_dir = encode_path("ggml_dir", ggml_dir)
        options.n_ctx = integer("n_ctx", n_ctx)
        options.max_queue = integer("max_queue", max_queue)
        options.codec_bf16 = int(codec_bf16)
        handle = library.qt_init_ex(ctypes.byref(params), ctypes.byref(options))
        if not handle:
            raise library.error(library.qt_last_status())
        self._context = _Context(handle)
        room = params.max_batch + options.max_queue if options.max_queue else 4 * params.max_batch
        self._width = min(4 * params.max_batch, room)
        self._models = (talker, codec, predictor_path, tokenizer_path)

    # ---- What it has ----

    def __repr__(self) -> str:
        return f"<TTS: {os.fspath(self._models[0])!r}{', closed' if self.closed else ''}>"

    @property
    def model_type(self) -> str:
        """Family of the checkpoint: "base", "custom_voice" or "voice_design"."""
        return text(library.qt_model_type(self._open().handle))

    @property
    def speakers(self) -> list[str]:
        """Names for ``speaker``; empty unless the model is of the CustomVoice family."""
        handle = self._open().handle
        return [text(library.qt_speaker_name(handle, i)) for i in range(library.qt_n_speakers(handle))]

    @property
    def languages(self) -> list[str]:
        """Names for ``lang``; aliases and ISO codes work as well."""
        handle = self._open().handle
        return [text(library.qt_language_name(handle, i)) for i in range(library.qt_n_languages(handle))]

    @property
    def num_codebooks(self) -> int:
        """Codes a frame: 16."""
        return int(library.qt_num_codebooks(self._open().handle))

    @property
    def sample_rate(self) -> int:
        """Of the audio: 24000."""
        return SAMPLE_RATE

    def frames_for(self, seconds: float) -> int:
        """Frames that so much audio takes, for ``max_new_tokens``; at least 1."""
        return int(library.qt_duration_sec_to_tokens(self._open().handle, seconds))

    # ---- Speaking ----

    def synthesize(
        self,
        text: str,
        *,
        speaker: str | None = None,
        voice: Voice | None = None,
        ref_audio: Recording | None = None,
        ref_text: str | None = None,
        instruct: str | None = None,
        lang: str | None = None,
        seed: int = -1,
        max_new_tokens: int | None = None,
        do_sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float | None = None,
        subtalker_do_sample: bool | None = None,
        subtalker_temperature: float | None = None,
        subtalker_top_k: int | None = None,
        subtalker_top_p: float | None = None,
        text_layout: str = "auto",
        chunk_frames: int = 0,
        long: bool = False,
        piece_chars: int = 0,
        speed: float = 1.0,
        dump_dir: str | os.PathLike[str] | None = None,
        on_chunk: Callable[[Samples], object] | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        cancel: Callable[[], object] | None = None,
    ) -> Audio:
        """Speaks ``text`` and returns when all of the audio is there.

        Args:
            text: what to speak.
            speaker: CustomVoice: one of :attr:`speakers`.
            voice: Base: whose voice, see :class:`Voice`.
            ref_audio: Base: a recording to take the voice from, instead of ``voice``.
            ref_text: what is spoken in the recording; the model then continues it, which copies more of it.
            instruct: VoiceDesign: a description of the voice. CustomVoice: the style, optional.
            lang: name, alias or ISO code; found out by the model if None.
            seed: the same number >= 0 gives the same audio; a negative one is drawn at random.
            max_new_tokens: most frames to generate, 12.5 a second.
            do_sample: of the Talker; False picks the likeliest code each time. The ``subtalker_`` arguments are those
                of the CodePredictor.
            temperature: >= 0.
            top_k: 0 is off.
            top_p: in (0, 1].
            repetition_penalty: 1 is off.
            subtalker_do_sample: see ``do_sample``.
            subtalker_temperature: see ``temperature``.
            subtalker_top_k: see ``top_k``.
            subtalker_top_p: see ``top_p``.
            text_layout: where the text stands in the prompt: "whole" (before the audio), "streamed" (beside it) or
                "auto".
            chunk_frames: most frames in a piece for ``on_chunk`` or a stream; the first is always one. 0: one, and up
                to four once that is no more than a quarter of what has come before.
            long: a text of any length, spoken piece by piece, cut at sentence ends, as one recording.
                ``max_new_tokens`` is of each piece then.
            piece_chars: most characters of such a piece; 0: what takes some 25 seconds.
            speed: 0.25 to 4 times the speed, at the same pitch; needs libsonic, unless it is 1.
            dump_dir: folder that gets intermediate tensors as NumPy files, for debugging.
            on_chunk: gets each piece of audio as soon as it is there; returning False stops, and gives what there is
                until then.
            on_progress: gets a :class:`Progress` after each frame.
            cancel: asked before each frame, on another thread; a true answer raises :class:`Cancelled`. An
                ``Event().is_set`` will do.

        What is None of the sampling and of ``max_new_tokens`` is what the model's file recommends.

        ``on_chunk`` and ``on_progress`` run on the calling thread; what they raise stops the synthesis and is raised
        here.
        """
        options: Options = {
            "speaker": speaker, "voice": voice, "ref_audio": ref_audio, "ref_text": ref_text,
            "instruct": instruct, "lang": lang, "seed": seed, "max_new_tokens": max_new_tokens,
            "do_sample": do_sample, "temperature": temperature, "top_k": top_k, "top_p": top_p,
            "repetition_penalty": repetition_penalty, "subtalker_do_sample": subtalker_do_sample,
            "subtalker_temperature": subtalker_temperature, "subtalker_top_k": subtalker_top_k,
            "subtalker_top_p": subtalker_top_p, "text_layout": text_layout, "chunk_frames": chunk_frames,
            "long": long, "piece_chars": piece_chars, "speed": speed,
            "dump_dir": dump_dir, "on_progress": on_progress, "cancel": cancel,
        }  # fmt: skip
        if on_chunk is not None:
            return self._synthesize_with(text, on_chunk, options)
        return _finish(self._events(text, options, stream=False), on_progress)

    def _synthesize_with(self, text: str, on_chunk: Callable[[Samples], object], options: Options) -> Audio:
        parts: list[Samples] = []
        with Stream(self._events(text, options, stream=True), options.get("on_progress")) as stream:
            for chunk in stream:
                parts.append(chunk)
                if on_chunk(chunk) is False:
                    stream.close()
                    break
            info = stream.info
        if info is None:
            info = stream._events.outcome().info
        return Audio(_samples.concatenate(parts), info)

    def stream(self, text: str, **options: Any) -> Stream:
        """Speaks ``text`` and gives each piece of audio as soon as it is there; takes what :meth:`synthesize` does."""
        checked = _checked(options)
        return Stream(self._events(text, checked, stream=True), checked.get("on_progress"))

    async def asynthesize(self, text: str, **options: Any) -> Audio:
        """:meth:`synthesize` for asyncio; cancelling the task stops it."""
        stream = AsyncStream(self, text, False, _checked(options))
        outcome = await stream._outcome()
        assert outcome.samples is not None
        return Audio(outcome.samples, outcome.info)

    def astream(self, text: str, **options: Any) -> AsyncStream:
        """:meth:`stream` for asyncio: ``async for chunk in tts.astream(…)``."""
        return AsyncStream(self, text, True, _checked(options))

    def synthesize_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        concurrency: int | None = None,
        return_errors: bool = False,
        **options: Any,
    ) -> Iterator[Audio | Exception]:
        """Speaks many texts, and gives their audio in the order of the texts.

        Args:
            items: texts, or mappings with a ``"text"`` and what else is special to the item. They are taken as needed,
                so there may be any number of them.
            concurrency: how many are under way, or done and not taken yet; by default four times the ``max_batch`` of
                this object, so that ``max_batch`` are computed together also while a long one is waited for.
            return_errors: give the exception in the place of an item that failed, whatever is wrong with it, rather
                than raise it.
            options: what :meth:`synthesize` takes, for all items.
        """
        width = self._width if concurrency is None else concurrency
        if width < 1:
            raise InvalidParams(f"concurrency: {width}, want 1 or more")
        _checked(options)
        return self._many(iter(items), width, return_errors, options)

    def _many(
        self, items: Iterator[str | Mapping[str, Any]], width: int, return_errors: bool, options: dict[str, Any]
    ) -> Iterator[Audio | Exception]:
        running: deque[Events | Exception] = deque()
        try:
            while True:
                running.extend(self._begin(item, options) for item in islice(items, width - len(running)))
                if not running:
                    return
                yield _one(running.popleft(), return_errors)
        finally:
            left = [events for events in running if isinstance(events, Events)]
            for events in left:
                events.cancel()
            for events in left:
                events.close()

    def _begin(self, item: str | Mapping[str, Any], options: dict[str, Any]) -> Events | Exception:
        """Starts an item; what is wrong with it is told when its turn comes."""
        special = {"text": item} if isinstance(item, str) else dict(item)
        text = special.pop("text", None)
        try:
            return self._events(text, _checked({**options, **special}), stream=False)  # type: ignore[arg-type]
        except Exception as err:
            return err

    def _events(self, text: str, options: Options, *, stream: bool) -> Events:
        def make(post: Callable[[Event], None]) -> Job:
            return self._job(text, options, stream=stream, post=post, progress=options.get("on_progress"))

        return Events(make)

    def _job(
        self, text: str, options: Options, *, stream: bool, post: Callable[[Event], None], progress: object
    ) -> Job:
        context = self._open()
        params, request, keep = _request(context.handle, text, options)
        return Job(
            context, params, request, keep,
            post=post, stream=stream, progress=progress is not None, cancel=options.get("cancel"),
        )  # fmt: skip

    # ---- Lifetime ----

    def _open(self) -> _Context:
        library.check_fork()
        if self._context.closed:
            raise ClosedError("the TTS is closed")
        return self._context

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._context.closed

    def close(self) -> None:
        """Releases the models. What is under way is stopped (:class:`Cancelled`) and waited for."""
        self._context.close()

    def __enter__(self) -> TTS:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_OPTIONS = frozenset(Options.__annotations__)


def _checked(options: Mapping[str, Any]) -> Options:
    """Refuses arguments that do not exist."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"unexpected keyword argument {name!r}; there are {', '.join(sorted(_OPTIONS))}")
    return dict(options)  # type: ignore[return-value]


_NUMBERS = ("max_new_tokens", "top_k", "subtalker_top_k")
_SWITCHES = ("do_sample", "subtalker_do_sample")
_FLOATS = ("temperature", "top_p", "repetition_penalty", "subtalker_temperature", "subtalker_top_p")


def _request(handle: int, text: str, options: Options) -> tuple[_abi.qt_tts_params, _abi.qt_request, list[Any]]:
    """The C structs of a synthesis, and what must be kept alive with them."""
    given: Mapping[str, Any] = options
    params, request = _abi.qt_tts_params(), _abi.qt_request()
    status = library.qt_model_default_params(handle, ctypes.byref(params))
    if status != _abi.OK:
        raise library.error(status)
    library.qt_request_init(ctypes.byref(request), ctypes.sizeof(request))
    params.text = encode("text", text)
    params.lang = encode("lang", given.get("lang"))
    params.instruct = encode("instruct", given.get("instruct"))
    params.speaker = encode("speaker", given.get("speaker"))
    params.dump_dir = encode_path("dump_dir", given.get("dump_dir"))
    if "seed" in given:
        params.seed = integer("seed", given["seed"], 64)
    for name in _NUMBERS:
        if given.get(name) is not None:
            setattr(params, name, integer(name, given[name]))
    for name in _SWITCHES:
        if given.get(name) is not None:
            setattr(params, name, bool(given[name]))
    for name in _FLOATS:
        if given.get(name) is not None:
            setattr(params, name, real(name, given[name]))
    if "text_layout" in given:
        request.text_layout = choice("text_layout", given["text_layout"], _abi.LAYOUTS)
    for name in ("chunk_frames", "piece_chars"):
        if name in given:
            setattr(request, name, integer(name, given[name]))
    request.long_text = int(bool(given.get("long")))
    if "speed" in given:
        request.speed = real("speed", given["speed"])
    return params, request, _set_reference(params, options)


def _set_reference(params: _abi.qt_tts_params, options: Options) -> list[Any]:
    voice, recording = options.get("voice"), options.get("ref_audio")
    spoken = options.get("ref_text")
    if voice is not None and recording is not None:
        raise InvalidParams("voice and ref_audio exclude each other")
    if recording is not None:
        pcm = read_recording(recording, text=spoken)
        params.ref_audio_24k = ctypes.cast(pcm, ctypes.POINTER(ctypes.c_float))
        params.ref_n_samples = len(pcm)
        params.ref_text = encode("ref_text", spoken)
        return [pcm]
    if voice is None:
        params.ref_text = encode("ref_text", spoken)
        return []
    if not isinstance(voice, Voice):
        raise TypeError(f"voice: {type(voice).__name__}, want Voice (a recording goes into ref_audio)")
    ref = voice._ref()
    params.ref_spk_emb, params.ref_spk_dim = ref.ref_spk_emb, ref.ref_spk_dim
    spoken = spoken or voice.text
    if spoken and ref.ref_T:
        params.ref_codes, params.ref_T = ref.ref_codes, ref.ref_T
    if spoken and (ref.ref_T or options.get("ref_text")):
        params.ref_text = encode("ref_text", spoken)
    return [voice, ref]


def _finish(events: Events, on_progress: Callable[[Progress], object] | None) -> Audio:
    """The audio of a job that does not stream."""
    for event in events:
        if isinstance(event, Progress) and on_progress is not None:
            try:
                on_progress(event)
            except BaseException:
                events.close()
                raise
        elif isinstance(event, Outcome):
            if event.error is not None:
                raise event.error
            assert event.samples is not None
            return Audio(event.samples, event.info)
    raise AssertionError("a job without an outcome")


def _one(item: Events | Exception, return_errors: bool) -> Audio | Exception:
    """What has become of an item."""
    try:
        if isinstance(item, Exception):
            raise item
        return _finish(item, None)
    except Exception as err:
        if return_errors:
            return err
        raise
