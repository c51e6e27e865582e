"""Many texts into files on a Ray cluster: ``pip install 'libqwen[ray]'``.

    import libqwen.ray

    report = libqwen.ray.synthesize(
        "items.jsonl", "/shared/spoken", talker="/shared/talker.gguf", codec="/shared/codec.gguf",
        workers=8, threads=4, speaker="vivian",
    )
    print(report.failed)

Items, their files, and taking up what an earlier run left are those of :mod:`libqwen.bulk`. Each worker is an actor
that holds an engine of its own and gets a shard of items at a time. Models and voices are read, and audio is
written, by the workers: all machines must see them under the same names.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import ray

from ._files import write_file
from .bulk import (
    Hasher,
    Item,
    Plan,
    Result,
    Row,
    Speaker,
    done,
    failure,
    plan_rows,
    rows_of,
    write_result,
)
from .errors import InvalidParams
from .tts import TTS

_log = logging.getLogger("libqwen")

#: The list of all results, one JSON object a line, in the order of the items.
MANIFEST = "manifest.jsonl"


class Worker:
    """What an actor does: it holds an engine and speaks shards."""

    def __init__(self, options: Mapping[str, Any], folder: str) -> None:
        self._options = dict(options)
        self._folder = folder
        self._speaker: Speaker | None = None

    def load(self) -> None:
        """Loads the models, once."""
        if self._speaker is None:
            self._speaker = Speaker(TTS(**self._options), self._folder)

    def speak(self, shard: list[Item]) -> list[Result]:
        """What became of the items. What a worker before this one has done of them is not done again."""
        self.load()
        assert self._speaker is not None
        return list(self._speaker.speak(shard))


@dataclass(frozen=True)
class Report:
    """What became of all items."""

    results: list[Result]  #: in the order of the items; the same is in ``manifest``
    manifest: Path  #: a file with one JSON object a line

    @property
    def failed(self) -> list[Result]:
        """Those without audio."""
        return [r for r in self.results if not r["ok"]]

    @property
    def spoken(self) -> list[Result]:
        """Those that this run has spoken."""
        return [r for r in self.results if r["ok"] and not r.get("done_before")]


@dataclass
class _Shard:
    items: list[Item]
    tries: int = 0  # that came to nothing


@dataclass
class _Pool:
    """The actors, and which shard each has."""

    make: Any  # makes an actor
    size: int
    actors: list[Any] = field(default_factory=list)
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, _Shard]] = field(default_factory=dict)  # by what it has promised

    def start(self) -> None:
        """Starts the actors. One that cannot load the models raises what was wrong."""
        self.actors = [self.make() for _ in range(self.size)]
        ray.get([actor.load.remote() for actor in self.actors])
        self.idle = list(self.actors)

    def give(self, shard: _Shard) -> None:
        actor = self.idle.pop()
        self.busy[actor.speak.remote(shard.items)] = (actor, shard)

    def take(self) -> tuple[_Shard, list[Result] | Exception]:
        """The next shard that is through. An actor that failed is replaced."""
        (promise,), _ = ray.wait(list(self.busy), num_returns=1)
        actor, shard = self.busy.pop(promise)
        try:
            results = ray.get(promise)
        except Exception as err:
            self.actors.remove(actor)
            ray.kill(actor)
            actor = self.make()
            self.actors.append(actor)
            self.idle.append(actor)
            return shard, err
        self.idle.append(actor)
        return shard, results

    def stop(self) -> None:
        for actor in self.actors:
            ray.kill(actor)


def synthesize(
    items: str | os.PathLike[str] | Iterable[Row] | Any,
    out_dir: str | os.PathLike[str],
    *,
    talker: str | os.PathLike[str],
    codec: str | os.PathLike[str] | None = None,
    workers: int = 1,
    threads: int = 2,
    max_batch: int = 8,
    shard_size: int = 64,
    retries: int = 2,
    tts_options: Mapping[str, Any] | None = None,
    actor_options: Mapping[str, Any] | None = None,
    worker: type[Worker] = Worker,
    **defaults: Any,
) -> Report:
    """Speaks items into ``out_dir``, and writes a manifest there.

    Args:
        items: a file of items, a Ray Data dataset whose columns are fields of items, or mappings.
        out_dir: folder of the audio, the results and the manifest, which all machines see.
        talker: see :class:`libqwen.TTS`.
        codec: see :class:`libqwen.TTS`.
        workers: how many actors, each with an engine.
        threads: CPU threads of each; Ray reserves as many CPUs.
        max_batch: items that an engine computes together.
        shard_size: items that an actor gets at a time; several times ``max_batch``.
        retries: how often a shard whose actor failed is tried again, at last each of its items by itself; what is done
            of it is kept.
        tts_options: what else :class:`libqwen.TTS` takes.
        actor_options: what else Ray is to be told of an actor, such as ``{"num_gpus": 1}``.
        worker: the class of the actors.
        defaults: fields for items that do not say.

    Items that cannot be spoken are in the report; what makes all of them fail, such as a missing model, is raised. An
    interrupted run is taken up by the next one.
    """
    for name, value, least in (
        ("workers", workers, 1), ("threads", threads, 1), ("shard_size", shard_size, 1), ("retries", retries, 0)
    ):  # fmt: skip
        if value < least:
            raise InvalidParams(f"{name}: {value}, want {least} or more")
    folder = Path(out_dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    rows, base = rows_of(items)
    models = {"talker": Path(talker).absolute(), "codec": None if codec is None else Path(codec).absolute()}
    options = {"n_threads": threads, "max_batch": max_batch, **(tts_options or {}), **models}
    remote = ray.remote(worker).options(**{"num_cpus": threads, **(actor_options or {})})
    pool = _Pool(lambda: remote.remote(options, str(folder)), workers)
    results: list[Result] = []
    try:
        pool.start()
        planned = _planned(plan_rows(rows, Plan(defaults, base.absolute())), results)
        for shard, outcome in _run(pool, planned, shard_size, retries):
            results += outcome if isinstance(outcome, list) else _given_up(folder, shard, outcome, options)
    finally:
        pool.stop()
    results.sort(key=lambda r: r["line"])
    manifest = folder / MANIFEST
    lines = (json.dumps(r, ensure_ascii=False) + "\n" for r in results)
    write_file(manifest, "".join(lines).encode())
    return Report(results, manifest)


def _planned(planned: Iterable[Item | Result], results: list[Result]) -> Iterator[Item]:
    """The items; what is none is a result."""
    for found in planned:
        if isinstance(found, Item):
            yield found
        else:
            results.append(found)


def _run(
    pool: _Pool, items: Iterator[Item], size: int, retries: int
) -> Iterator[tuple[_Shard, list[Result] | Exception]]:
    """What became of each shard in the end."""
    again: deque[_Shard] = deque()
    while True:
        while pool.idle:
            shard = again.popleft() if again else _Shard(list(islice(items, size)))
            if not shard.items:
                break
            pool.give(shard)
        if not pool.busy:
            return
        shard, outcome = pool.take()
        if isinstance(outcome, list):
            yield shard, outcome
            continue
        shard.tries += 1
        _log.warning("a worker failed with %d items, try %d: %s", len(shard.items), shard.tries, outcome)
        if shard.tries > retries:
            yield shard, outcome
        elif shard.tries == retries:  # so that one item cannot take the others along
            again.extend(_Shard([item], shard.tries) for item in shard.items)
        else:
            again.append(shard)


def _given_up(folder: Path, shard: _Shard, error: Exception, options: Mapping[str, Any]) -> list[Result]:
    """The results of items whose worker failed each time. Some of them may be done all the same."""
    hasher = Hasher([options.get(name) for name in ("talker", "codec", "predictor_path", "tokenizer_path")])
    cause = str(getattr(error, "cause", None) or error).splitlines() or [type(error).__name__]
    results = []
    for item in shard.items:
        wanted = hasher.of(item)
        result = done(folder, item, wanted)
        if result is None:
            result = failure(item.id, item.line, RuntimeError(f"the worker failed: {cause[0]}"), hash=wanted)
            write_result(folder, item, result)
        results.append(result)
    return results
