"""Many texts into files: what ``qwen-tts --batch`` does, with a TTS of one's own.

    with libqwen.TTS("talker.gguf", "codec.gguf", max_batch=8) as tts:
        for result in libqwen.bulk.speak(tts, libqwen.bulk.read_items("items.jsonl"), "spoken", speaker="vivian"):
            print(result["id"], result["ok"])

Each item becomes two files, ``NAME.wav`` and ``NAME.json``, which appear when they are complete; what is done already
is not done again. An item that fails does not stop the others. ``docs/cli.md`` of libqwen tells what is in an item and
in a result.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ._files import write_file
from ._latents import CODE_BITS, unpack_codes, unpack_floats
from .audio import Audio
from .errors import Cancelled, ClosedError, ForkError, InvalidParams, ModeError, OutOfMemory
from .tts import TTS
from .voice import Voice, read_recording

Result: TypeAlias = dict[str, Any]
#: What a line of a file or a row of a table says; an exception stands for a line that could not be read.
Row = Mapping[str, Any] | Exception

# Fields of an item, and their types; with ALIASES they are those of cmd/qwen-tts/item.go, whose tests compare them.
FIELDS: dict[str, type] = {
    "text": str, "lang": str, "instruct": str, "speaker": str, "text_layout": str, "format": str,
    "voice": str, "ref_audio": str, "ref_text": str, "trim_ref": bool, "x_vector_only": bool,
    "ref_spk": str, "ref_rvq": str,
    "long": bool, "piece_chars": int, "speed": float,
    "seed": int, "max_new_tokens": int, "greedy": bool,
    "do_sample": bool, "temperature": float, "top_k": int, "top_p": float, "repetition_penalty": float,
    "subtalker_do_sample": bool, "subtalker_temperature": float, "subtalker_top_k": int, "subtalker_top_p": float,
}  # fmt: skip

ALIASES = {
    "language": "lang", "ref_wav": "ref_audio", "max_new": "max_new_tokens", "temp": "temperature",
    "rep_pen": "repetition_penalty", "sub_temp": "subtalker_temperature", "sub_top_k": "subtalker_top_k",
    "sub_top_p": "subtalker_top_p",
}  # fmt: skip

_SOURCES = ("voice", "ref_audio", "ref_spk")  # each is a voice
_FILES = (*_SOURCES, "ref_rvq")
_VOICE = (*_FILES, "ref_text", "trim_ref", "x_vector_only")
_ENDINGS = {"wav": "wav", "wav24": "wav", "wav32": "wav", "pcm": "pcm", "flac": "flac", "mp3": "mp3", "opus": "opus",
            "vorbis": "ogg"}  # fmt: skip
_MAX_NAME = 200
_WORDS = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Item:
    """A text and how it is spoken."""

    line: int  #: where it comes from, counted from 1
    id: str
    name: str  #: of its files, without their endings
    fields: dict[str, Any]  #: what is said of it, the defaults included, except its id

    @property
    def format(self) -> str:
        """Of its audio."""
        return str(self.fields.get("format", "wav"))

    @property
    def audio(self) -> str:
        """The name of its audio file."""
        return f"{self.name}.{_ENDINGS[self.format]}"


def read_items(path: str | os.PathLike[str]) -> Iterator[Row]:
    """The lines of a file of items, JSON objects; those that are none are exceptions, blank ones are empty."""
    with Path(path).open("rb") as file:
        yield from (_object(line.removeprefix(b"\xef\xbb\xbf")) for line in file)


def _object(line: bytes) -> Row:
    if not line.strip():
        return {}
    try:
        found = json.loads(line.decode("utf-8"), object_pairs_hook=_once)
    except ValueError as err:
        return InvalidParams(f"not a JSON object: {err}")
    return found if isinstance(found, dict) else InvalidParams("not a JSON object")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidParams("a field is given twice")
    return found


class Plan:
    """Makes items of rows, and sees to it that no two have the same files."""

    def __init__(self, defaults: Mapping[str, Any], folder: str | os.PathLike[str] = "") -> None:
        """``defaults`` are fields for items that do not say; relative paths in items begin at ``folder``."""
        self._defaults = _typed(defaults)
        self._folder = Path(folder)
        self._seen: dict[str, int] = {}

    def item(self, line: int, row: Row) -> Item:
        """The item of a row; :class:`InvalidParams` says what is wrong with it."""
        if isinstance(row, Exception):
            raise InvalidParams(str(row))
        fields = dict(row)
        item_id = fields.pop("id", None)
        if not isinstance(item_id, str) or not item_id:
            raise InvalidParams(f"id: want a string that is not empty, found {item_id!r}")
        own = _typed(fields)
        for name in _FILES:
            if name in own:
                own[name] = os.fspath(self._folder / own[name])
        kept = self._defaults
        if any(name in own for name in _SOURCES):
            kept = {name: value for name, value in kept.items() if name not in _VOICE}
        item = Item(line, item_id, file_name(item_id), {**kept, **own})
        _check(item)
        key = unicodedata.normalize("NFC", item.name.casefold())
        if key in self._seen:
            raise InvalidParams(f"id: {item_id!r} would have the files of line {self._seen[key]}")
        self._seen[key] = line
        return item


def _check(item: Item) -> None:
    if not item.fields.get("text", "").strip():
        raise InvalidParams("text: missing")
    if item.format not in _ENDINGS:
        raise InvalidParams(f"format: {item.format!r}, want one of {', '.join(_ENDINGS)}")
    sources = [name for name in _SOURCES if name in item.fields]
    if len(sources) > 1:
        raise InvalidParams(f"{sources[0]} and {sources[1]} exclude each other")
    if "ref_rvq" in item.fields and not {"ref_spk", "ref_text"} <= item.fields.keys():
        raise InvalidParams("ref_rvq needs ref_spk and ref_text")
    if item.fields.get("piece_chars") and not item.fields.get("long"):
        raise InvalidParams("piece_chars needs long")
    if item.fields.get("trim_ref") and "ref_audio" not in item.fields:
        raise InvalidParams("trim_ref needs ref_audio")


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are given, by their own names and of their types."""
    found: dict[str, Any] = {}
    for given, value in fields.items():
        name = ALIASES.get(given, given)
        if name not in FIELDS:
            raise InvalidParams(f"unknown field {given!r}; there are id, {', '.join(sorted([*FIELDS, *ALIASES]))}")
        if value is None or (isinstance(value, float) and math.isnan(value)):  # what tables have for "nothing"
            continue
        if name in found:
            raise InvalidParams(f"{given}: given twice, by another name too")
        found[name] = _as(FIELDS[name], given, value)
    return found


def _as(kind: type, name: str, value: Any) -> Any:
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):  # a scalar of NumPy's
        value = value.item()
    if kind is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int and number and (isinstance(value, int) or value.is_integer()):
        return int(value)
    if kind is float and number:
        return float(value)
    if kind in (str, bool) and isinstance(value, kind):
        return value
    raise InvalidParams(f"{name}: want {_WORDS[kind]}, found {value!r}")


_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


def file_name(item_id: str) -> str:
    """The name of an item's files, without their endings; the same as that of ``qwen-tts --batch``."""
    name = "".join(c if _plain(c) else "_" for c in unicodedata.normalize("NFC", item_id))
    size = len(name.encode("utf-8"))
    if size > _MAX_NAME:
        raise InvalidParams(f"id: {size} bytes, at most {_MAX_NAME} are taken")
    if name[0] in ". -":
        name = "_" + name[1:]
    if name[-1] in ". ":
        name = name[:-1] + "_"
    if name.lower().split(".")[0].rstrip(" ") in _DEVICES:
        name = "_" + name
    return name


def _plain(c: str) -> bool:
    category = unicodedata.category(c)
    return category[0] in "LM" or category == "Nd" or c in ".-_ "


class Hasher:
    """Tells by what an item's audio depends on whether a result is that of the item."""

    def __init__(self, models: Iterable[str | os.PathLike[str] | None]) -> None:
        digest = hashlib.sha256(b"libqwen.bulk 1\n")
        for path in models:
            for file in _model_files(path):
                digest.update(_samples_of(file))
        self._common = digest.hexdigest()
        self._files: dict[str, str] = {}

    def of(self, item: Item) -> str:
        """The hash of an item."""
        fields = {**item.fields, **{name: self._file(item.fields[name]) for name in _FILES if name in item.fields}}
        text = json.dumps([self._common, fields], sort_keys=True)
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _file(self, path: str) -> str:
        if path not in self._files:
            try:
                self._files[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            except OSError:
                self._files[path] = f"unreadable {path}"  # whoever speaks the item will tell
        return self._files[path]


def _model_files(path: str | os.PathLike[str] | None) -> list[Path]:
    if path is None:
        return []
    root = Path(path)
    return sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]


def _samples_of(path: Path, pieces: int = 64, width: int = 4096) -> bytes:
    """The size of a file and pieces from all over it: enough to tell models apart."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        found = [str(size).encode()]
        for i in range(pieces):
            file.seek(max(0, size - width) * i // (pieces - 1))
            found.append(file.read(width))
    return b"\n".join(found)


def done(folder: Path, item: Item, wanted: str) -> Result | None:
    """The result of an item if its audio is there."""
    found = _earlier(folder, item)
    if found is None or not found.get("ok") or found.get("hash") != wanted or found.get("audio") != item.audio:
        return None
    try:
        return found if (folder / item.audio).stat().st_size == found.get("bytes") else None
    except OSError:
        return None


def _earlier(folder: Path, item: Item) -> Result | None:
    try:
        found = json.loads((folder / f"{item.name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("id") == item.id and found.get("hash") else None


def _clear(folder: Path, item: Item) -> None:
    """Takes an earlier version away, so that nobody takes it for that of the item as it is now."""
    earlier = _earlier(folder, item)
    if earlier is None:
        return
    (folder / f"{item.name}.json").unlink(missing_ok=True)
    audio = earlier.get("audio")
    if isinstance(audio, str) and audio and Path(audio).name == audio:
        (folder / audio).unlink(missing_ok=True)


def write_result(folder: Path, item: Item, result: Result) -> None:
    """Writes the result file of an item."""
    write_file(folder / f"{item.name}.json", (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode())


def failure(item_id: str | None, line: int, error: BaseException, **more: Any) -> Result:
    """The result of an item without audio."""
    message = " ".join(str(error).split()) or type(error).__name__
    return {"id": item_id, "line": line, "ok": False, "error": {"kind": _kind(error), "message": message}, **more}


def _kind(error: BaseException) -> str:
    kinds: dict[str, tuple[type[BaseException], ...]] = {
        "mode": (ModeError,), "memory": (OutOfMemory, MemoryError), "io": (OSError,),
        "invalid": (InvalidParams, TypeError, ValueError),
    }  # fmt: skip
    return next((kind for kind, types in kinds.items() if isinstance(error, types)), "generate")


class Speaker:
    """Speaks items into a folder with one TTS."""

    def __init__(self, tts: TTS, folder: str | os.PathLike[str]) -> None:
        self._tts = tts
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._hasher = Hasher(tts._models)
        self._voices: dict[tuple[Any, ...], Voice] = {}

    def speak(self, items: Iterable[Item]) -> Iterator[Result]:
        """What became of each item, in their order. What is done already is not done again."""
        # The items that synthesize_many has taken, and the results of those that it need not see, in between.
        taken: deque[tuple[Item, str] | Result] = deque()
        many = self._tts.synthesize_many(self._take(items, taken), return_errors=True)
        for outcome in many:
            while isinstance(first := taken.popleft(), dict):
                yield first
            item, wanted = first
            yield self._settle(item, wanted, outcome)
        yield from (result for result in taken if isinstance(result, dict))

    def _take(self, items: Iterable[Item], taken: deque[tuple[Item, str] | Result]) -> Iterator[dict[str, Any]]:
        for item in items:
            wanted = self._hasher.of(item)
            found = done(self._folder, item, wanted)
            if found is not None:
                taken.append({**found, "done_before": True})
                continue
            _clear(self._folder, item)
            try:
                options = self._options(item)
            except Exception as err:
                taken.append(self._failed(item, wanted, err))
                continue
            taken.append((item, wanted))
            yield options

    def _options(self, item: Item) -> dict[str, Any]:
        """What synthesize_many takes."""
        options = dict(item.fields)
        options.pop("format", None)
        x_vector_only = options.pop("x_vector_only", False)
        if options.pop("greedy", False):
            options |= {"do_sample": False, "subtalker_do_sample": False}
        if x_vector_only:
            options.pop("ref_text", None)
        if options.pop("trim_ref", False):
            options["ref_audio"] = read_recording(options["ref_audio"], text=options.get("ref_text"), trim=True)
        files: dict[str, str] = {name: options.pop(name) for name in ("voice", "ref_spk", "ref_rvq") if name in options}
        if files:
            options["voice"] = self._voice(files, x_vector_only)
        return options

    def _voice(self, files: Mapping[str, str], x_vector_only: bool) -> Voice:
        key = (*files.items(), x_vector_only)
        if key not in self._voices:
            if len(self._voices) >= 64:
                self._voices.clear()
            voice = self._load(**files)
            self._voices[key] = Voice(voice.x_vector) if x_vector_only else voice
        return self._voices[key]

    def _load(self, voice: str = "", ref_spk: str = "", ref_rvq: str = "") -> Voice:
        """The voice of a ``.qvoice`` file, or of a ``.spk`` file and, if there is one, a ``.rvq`` file."""
        if voice:
            return Voice.load(self._tts, voice)
        n = self._tts.num_codebooks
        codes = unpack_codes(ref_rvq, Path(ref_rvq).read_bytes(), n, CODE_BITS) if ref_rvq else None
        return Voice(unpack_floats(ref_spk, Path(ref_spk).read_bytes()), codes, num_codebooks=n)

    def _settle(self, item: Item, wanted: str, outcome: Audio | Exception) -> Result:
        """Writes what became of an item."""
        if isinstance(outcome, (Cancelled, ClosedError, ForkError)):
            raise outcome  # says nothing of the item
        try:
            if isinstance(outcome, Exception):
                raise outcome
            if not len(outcome):
                raise RuntimeError("the model ended the speech at once (finish empty): try another seed")
            data = outcome.encode(item.format)
        except Exception as err:
            return self._failed(item, wanted, err)
        write_file(self._folder / item.audio, data)
        result = _success(item, wanted, outcome, len(data))
        write_result(self._folder, item, result)
        return result

    def _failed(self, item: Item, wanted: str, error: Exception) -> Result:
        result = failure(item.id, item.line, error, hash=wanted)
        write_result(self._folder, item, result)
        return result


def _success(item: Item, wanted: str, audio: Audio, size: int) -> Result:
    info = audio.info
    warnings = list(info.warnings)
    if info.finish_reason == "length":
        warnings.append(f"stopped at {info.frames} frames before the model ended the speech: raise max_new_tokens")
    times = ("load", "tokenise", "reference", "prefill", "talker", "predictor", "sampling", "codec", "first_audio")
    return {
        "id": item.id, "line": item.line, "ok": True, "error": None, "audio": item.audio, "bytes": size,
        "format": item.format, "seconds": audio.duration, "warnings": warnings, "hash": wanted,
        "frames": info.frames, "audio_s": audio.duration, "text_tokens": info.text_tokens,
        "prompt": info.prompt_positions, "seed": info.seed, "finish": info.finish_reason,
        **{f"{stage}_ms": getattr(info, f"{stage}_ms") for stage in (*times, "total")}, "rtf": info.rtf,
    }  # fmt: skip


def rows_of(items: str | os.PathLike[str] | Iterable[Row] | Any) -> tuple[Iterable[Row], Path]:
    """Rows of a file, a Ray Data dataset, or an iterable, and the folder that paths in them are relative to."""
    if isinstance(items, (str, os.PathLike)):
        return read_items(items), Path(items).parent
    if hasattr(items, "iter_rows"):
        return items.iter_rows(), Path()
    return items, Path()


def plan_rows(rows: Iterable[Row], plan: Plan) -> Iterator[Item | Result]:
    """Items of rows, and results in the place of those that are none. Empty rows are left out."""
    for line, row in enumerate(rows, 1):
        if isinstance(row, Mapping) and not row:
            continue
        try:
            yield plan.item(line, row)
        except InvalidParams as err:
            given = row.get("id") if isinstance(row, Mapping) else None
            yield failure(given if isinstance(given, str) else None, line, err)


def speak(
    tts: TTS,
    items: str | os.PathLike[str] | Iterable[Row],
    out_dir: str | os.PathLike[str],
    **defaults: Any,
) -> Iterator[Result]:
    """Speaks items into ``out_dir``, as many together as ``tts`` has ``max_batch`` for.

    Args:
        tts: what speaks.
        items: a file of items, or mappings.
        out_dir: folder of the audio and the results.
        defaults: fields for items that do not say.

    Returns:
        What became of each item as it comes: first those of wrong rows, then the others in their order.
    """
    rows, folder = rows_of(items)
    plan = Plan(defaults, folder)
    planned = list(plan_rows(rows, plan))
    speaker = Speaker(tts, out_dir)
    return _speak(speaker, planned)


def _speak(speaker: Speaker, planned: list[Item | Result]) -> Iterator[Result]:
    yield from (x for x in planned if isinstance(x, dict))
    yield from speaker.speak(x for x in planned if isinstance(x, Item))
