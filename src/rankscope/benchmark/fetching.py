"""Fetch: every system is asked every query, some of them more than once.

Answers are kept as they come (`rankscope.retrieval.fetch`), so what was stopped goes on where it
was. One system is asked after the other, so that none slows down another whose time is taken. A
system that may answer otherwise the next time is asked ``repeat.times`` times: each time it has
components of its own, and an engine that is to be rebuilt has an index of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.steps import Progress, Steps
from rankscope.benchmark.systems import Systems, naming
from rankscope.files import PARTS, PathLike, folder_to_write
from rankscope.records.origin import Identity
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import System, all_parts
from rankscope.temporary import below, new_folder, remove, sweep, unlock

CACHE = ".cache"
"""In the output folder of benchmarks."""

_FRESH = ".fresh-"


def fetch_all(
    benchmark: Benchmark,
    attempts: Sequence[Systems],
    names: Iterable[str],
    cache: Path,
    steps: Steps,
) -> dict[str, list[Fetched]]:
    """Ask systems every query; return by system what it answered, each time it was asked.

    ``attempts`` are the systems, once for each time.
    """
    for name in names:  # so that a system can refuse the corpus at once
        attempts[0].indexed(name)
    fetched: dict[str, list[Fetched]] = {}
    for name in names:
        fetched[name] = []
        for time, systems in enumerate(attempts[: _times(benchmark, attempts[0], name)]):
            title = f"fetch {name}" if not time else f"fetch {name} again ({time + 1})"
            with steps.step(title) as progress, naming(name):
                system = systems.indexed(name)
                answer = _fetch(benchmark, system, name, time=time, cache=cache, progress=progress)
                fetched[name].append(answer)
    return fetched


def _times(benchmark: Benchmark, systems: Systems, name: str) -> int:
    """Return how often a system is asked: once, if it always answers the same."""
    repeat = benchmark.loaded.config.repeat
    may_vary = any(
        part.sources  # code of the user's promises nothing
        or part.capabilities.remote
        or not (part.capabilities.deterministic and part.capabilities.exact)
        for part in all_parts(systems[name])
    )
    is_repeated = name in repeat.systems if repeat.systems else may_vary
    return repeat.times if is_repeated else 1


def _fetch(
    benchmark: Benchmark, system: System, name: str, *, time: int, cache: Path, progress: Progress
) -> Fetched:
    """Ask one system; what it says about itself and its failures is rid of secrets."""
    collection, config = benchmark.collection, benchmark.loaded.config
    fetched = fetch(
        system,
        collection.queries,
        depth=config.depth,
        **config.fetch.model_dump(exclude={"cache"}),
        store=cache,
        progress=progress,
        indexing=lambda done, total: progress(done, total, "indexing"),
        name=name,
        attempt=time,
    )
    if collection.chunking is not None:
        fetched = replace(fetched, run=fetched.run.collapsed(collection.chunking))
    hide = benchmark.loaded.secrets.hide
    return replace(
        fetched,
        failures=hide(fetched.failures),
        identity=Identity.model_validate(hide(fetched.identity.to_dict())),
        notes=tuple(hide(list(fetched.notes))),
        facts=tuple(type(fact).model_validate(hide(fact.to_dict())) for fact in fetched.facts),
    )


# --- the cache -----------------------------------------------------------------------------------


@contextmanager
def cache_folder(
    output: Path, cache: PathLike | None, *, fresh: bool = False, keep: bool = True
) -> Iterator[Path]:
    """Yield the folder in which indexes, embeddings and answers are kept.

    If ``fresh``, it is an empty one: nothing is found there, and what was made in it goes to the
    real one afterwards, also when the benchmark was stopped, unless nothing is to be kept.
    """
    folder = make_folder(output / CACHE if cache is None else folder_to_write(cache, "cache"))
    for names in (PARTS, f"{_FRESH}*"):
        sweep(list(below(folder, names)))
    if keep and not fresh:
        yield folder
        return
    empty, handle = new_folder(folder, _FRESH)
    try:
        try:
            yield empty
        finally:
            if keep:
                _move_files(empty, folder)
    finally:
        remove(empty)
        unlock(handle)


def _move_files(source: Path, target: Path) -> None:
    """Move files in the order in which they were written; each replaces its predecessor."""
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".part"]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        place = target / path.relative_to(source)
        make_folder(place.parent)
        os.replace(path, place)
