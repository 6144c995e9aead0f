"""Fetch: from a system and queries to a run, with what failed and how long it took.

Finished batches are kept in the store as they come, so a fetch that is stopped, in whatever way,
goes on where it was. A query that fails is asked again, then by itself, and if it still fails it is
listed as failed: it is not in the run, as "found nothing" would be something else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.retrieval.answers import Answers, query_key
from rankscope.retrieval.progress import watched
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth, queries_of
from rankscope.retrieval.python_objects import sentence
from rankscope.runs.table import Run
from rankscope.tables.columns import RUN
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from rankscope.files import PathLike

__all__ = ["Fetched", "Timings", "fetch", "refusal"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Timings:
    """How long it took, in seconds.

    ``index`` is what making or loading the index took, ``search`` the time from the first question
    to the last answer. The percentiles are over the queries answered, of the time of each; for an
    answer taken from the store, when it was made. ``asked`` queries were put to the system in this
    call, ``stored`` came from the store, ``retried`` counts questions that were repeated.
    """

    index: float
    search: float
    p50: float | None
    p95: float | None
    p99: float | None
    asked: int
    stored: int
    retried: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """What a fetch brought: the run, the queries that failed with a sentence each, and timings.

    A query is in the run, perhaps without documents, or in ``failures``. ``notes`` are the system's
    sentences about what it indexed.
    """

    run: Run
    failures: dict[str, str]
    timings: Timings
    identity: Identity
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Task:
    """What a fetch has to do and has done."""

    system: System
    depth: int
    retries: int
    pause: float
    answers: Answers | None
    done: dict[str, Ranking] = field(default_factory=dict)  # by query id


def fetch(
    system: System,
    queries: Any,
    *,
    depth: int = 100,
    batch: int | None = None,
    jobs: int = 1,
    retries: int = 2,
    pause: float = 0.1,
    store: PathLike | None = None,
    progress: Progress | None = None,
    indexing: Progress | None = None,
    name: str | None = None,
) -> Fetched:
    """Ask a system all queries and make a run of the answers.

    ``system`` has its corpus already (`System.index`). ``queries`` is a `Queries` table, a dict or
    a list of `Query`. They are asked in batches of ``batch`` (the system's own preference), up to
    ``jobs`` at a time if the system allows it. What fails is repeated ``retries`` times, after
    ``pause`` seconds, twice as long each time. With a folder as ``store``, answers are kept there
    under the system's identity and taken from there the next time; if all are there, nothing is
    indexed. ``progress`` is called with the numbers of queries done and of all, ``indexing`` with
    those of documents while an index is made that takes long.

    Raises:
        InputError: an option out of range, a corpus that cannot be indexed, a store that cannot be
            written.

    >>> from rankscope import Corpus
    >>> from rankscope.retrieval.registry import build_system
    >>> system = build_system("bm25")
    >>> system.index(Corpus({"d1": "leek soup", "d2": "apple pie"}))
    >>> fetched = fetch(system, {"q1": "soup with leek"}, depth=10)
    >>> list(fetched.run["q1"]), fetched.failures
    (['d1'], {})
    """
    check_depth(depth)
    size = _whole("batch", system.batch_size if batch is None else batch, 1)
    _whole("jobs", jobs, 1)
    _whole("retries", retries, 0)
    asked = queries_of(queries)
    identity = system.identity()
    title = name or identity.name or identity.kind
    began = time.perf_counter()
    whole = system.whole(asked, depth)
    if whole is not None:
        taken = Timings(0.0, time.perf_counter() - began, None, None, None, len(asked), 0, 0)
        if progress is not None:
            progress(len(asked), len(asked))
        return Fetched(whole.named(title), {}, taken, identity, system.notes)
    answers = None if store is None else Answers(Path(store), identity.key, depth)
    task = _Task(system, depth, retries, pause, answers)
    if answers is not None:
        kept = answers.read()
        keys = {query.query_id: query_key(query) for query in asked}
        task.done = {one: kept[key] for one, key in keys.items() if key in kept}
    stored = len(task.done)
    left = [query for query in asked if query.query_id not in task.done]
    if progress is not None:
        progress(stored, len(asked))
    if left:
        with watched(indexing):
            system.prepare()
    began = time.perf_counter()
    parts = [left[low : low + size] for low in range(0, len(left), size)]
    retried = 0
    for finished in _worked(task, parts, jobs if system.concurrent else 1):
        task.done.update(finished.rankings)
        retried += finished.retried
        if progress is not None:
            progress(len(task.done), len(asked))
    seconds = time.perf_counter() - began
    rankings = {query.query_id: task.done[query.query_id] for query in asked}
    return Fetched(
        _run(rankings, title),
        {one: ranking.error for one, ranking in rankings.items() if ranking.error is not None},
        _timings(rankings, system if left else None, seconds, stored, retried),
        identity,
        system.notes,
    )


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch that was answered: rankings by query id, and how many questions were repeated."""

    rankings: dict[str, Ranking]
    retried: int


def _worked(task: _Task, parts: Sequence[Sequence[Query]], jobs: int) -> Iterator[Finished]:
    """Work through batches, and yield each when it is answered and kept."""
    if jobs == 1:
        yield from (_batch(task, part) for part in parts)
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: set[Future[Finished]] = set()
        try:
            for part in parts:
                waiting.add(pool.submit(_batch, task, part))
                if len(waiting) >= 2 * jobs:
                    ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (one.result() for one in ready)
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in ready)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _batch(task: _Task, queries: Sequence[Query]) -> Finished:
    """Answer one batch: together, then again what failed, then each of these by itself."""
    rankings, retried = _asked(task, queries), 0
    for attempt in range(task.retries):
        failed = [at for at, ranking in enumerate(rankings) if ranking.error is not None]
        if not failed:
            break
        time.sleep(task.pause * 2**attempt)
        retried += len(failed)
        last = attempt == task.retries - 1
        groups = [[at] for at in failed] if last else [failed]
        for group in groups:
            again = _asked(task, [queries[at] for at in group])
            for at, ranking in zip(group, again, strict=True):
                rankings[at] = ranking
    if task.answers is not None:
        task.answers.write(queries, rankings)
    answered = zip(queries, rankings, strict=True)
    return Finished({query.query_id: ranking for query, ranking in answered}, retried)


def _asked(task: _Task, queries: Sequence[Query]) -> list[Ranking]:
    """Ask once; whatever goes wrong is the failure of these queries."""
    try:
        rankings = task.system.search(queries, task.depth)
    except RankscopeError:  # of the spec or the corpus: no query will do better
        raise
    except Exception as error:
        return [Ranking.failed(sentence(error)) for _ in queries]
    if len(rankings) != len(queries):
        problem = f"the system gave {len(rankings)} answers to {len(queries)} queries"
        return [Ranking.failed(problem) for _ in queries]
    return [_checked(ranking, task.depth) for ranking in rankings]


def _checked(ranking: Ranking, depth: int) -> Ranking:
    """Return a ranking, or why it is none."""
    problem = None if ranking.error is not None else refusal(ranking, depth)
    return ranking if problem is None else Ranking.failed(problem, ranking.seconds)


def refusal(ranking: Ranking, depth: int) -> str | None:
    """Say in one sentence what is wrong with a ranking; None if it is what it should be."""
    doc_ids, scores = ranking.doc_ids, ranking.scores
    if len(doc_ids) != len(scores):
        return f"the system gave {len(doc_ids)} documents and {len(scores)} scores"
    if len(doc_ids) > depth:
        return f"the system gave {len(doc_ids)} documents, but was asked for {depth}"
    if not all(isinstance(doc_id, str) and doc_id for doc_id in doc_ids):
        return "the system gave a document without an id"
    if len({*doc_ids}) < len(doc_ids):
        seen: set[str] = set()
        twice = next(one for one in doc_ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        return f"the system gave the document {shown(twice)} twice"
    if not all(map(math.isfinite, scores)):
        return "the system gave a score that is not a finite number"
    return None


def _run(rankings: dict[str, Ranking], name: str) -> Run:
    """Make a run of all answers; failed queries are not in it."""
    found = {one: ranking for one, ranking in rankings.items() if ranking.error is None}
    if not found:
        return Run(name=name)
    lengths = [len(ranking.doc_ids) for ranking in found.values()]
    queries = pl.Series("query_id", list(found), dtype=pl.String)
    frame = pl.DataFrame(
        [
            queries.gather(np.repeat(np.arange(len(lengths)), lengths)),
            pl.Series("doc_id", list(chain(*(one.doc_ids for one in found.values()))), pl.String),
            pl.Series("score", list(chain(*(one.scores for one in found.values()))), pl.Float64),
        ]
    )
    empty = tuple(one for one, ranking in found.items() if not ranking.doc_ids)
    return Run.from_rows(Rows(frame, name, RUN, empty_queries=empty), name=name)


def _timings(
    rankings: dict[str, Ranking], system: System | None, search: float, stored: int, retried: int
) -> Timings:
    seconds = [one.seconds for one in rankings.values() if one.error is None]
    p50, p95, p99 = np.percentile(seconds, [50, 95, 99]).tolist() if seconds else (None,) * 3
    index = 0.0 if system is None else system.seconds_indexing
    return Timings(index, search, p50, p95, p99, len(rankings) - stored, stored, retried)


def _whole(name: str, value: object, low: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise InputError(f"{name} must be a whole number from {low} up, not {shown(value)}")
    return value
