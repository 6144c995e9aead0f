"""Fetch: from a system and queries to a run, with what failed and how long it took.

Finished batches are kept in the store as they are answered, so a fetch that is stopped, in whatever
way, goes on where it was. A query that fails is asked again, then by itself, and if it still fails
it is listed as failed: it is not in the run, as "found nothing" would be something else.

What a remote system needs is here, and nowhere else: a time limit for each query, a rate that is
not exceeded, pauses between attempts that grow and heed ``Retry-After``, and an end to all waiting
when the fetch is cancelled.
"""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.records.origin import EngineFacts, ModelUsage, Timings
from rankscope.retrieval.answers import Answers, query_key
from rankscope.retrieval.hiding import hidden_in_errors
from rankscope.retrieval.protocol import (
    Component,
    Identity,
    Query,
    Ranking,
    System,
    all_parts,
    check_depth,
    contained,
    facts_of,
    fingerprint,
    queries_of,
    receipts_of,
    sentence,
    without_secrets,
)
from rankscope.retrieval.waiting import Pace, Progress, Stop, TimedOutError, Work, within
from rankscope.runs.table import Run

if TYPE_CHECKING:
    from rankscope.files import PathLike

log = logging.getLogger(__name__)

LONGEST_WAIT = 600.0
"""A system that asks to wait longer than this many seconds is not waited for."""

SINGLY = 1_000
"""Up to so many queries are put one by one to systems that else answer a batch at once."""

FIRST, FEW = 2, 5
"""A remote system is asked the first queries one by one. If these get no answer in time, it is not
asked on; nor if it has answered none of a few."""


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """What a fetch brought: the run, the queries that failed with a sentence each, and timings.

    A query is in the run, perhaps without documents, or in ``failures``. ``notes`` are the system's
    sentences for the user, ``facts`` what became known of the engines and models asked.
    """

    run: Run
    failures: dict[str, str]
    timings: Timings
    identity: Identity
    notes: tuple[str, ...] = ()
    facts: tuple[EngineFacts | ModelUsage, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether no query and no question of a part failed that may do better the next time."""
        return not self.failures and not any(
            fact.unanswered for fact in self.facts if isinstance(fact, ModelUsage)
        )


def fetch(
    system: System,
    queries: Any,
    *,
    depth: int = 100,
    batch: int | None = None,
    jobs: int = 1,
    retries: int = 2,
    pause: float = 0.1,
    timeout: float | None = None,
    rate: float | None = None,
    cancel: threading.Event | None = None,
    store: PathLike | None = None,
    progress: Progress | None = None,
    indexing: Progress | None = None,
    name: str | None = None,
    attempt: int = 0,
) -> Fetched:
    """Ask a system all queries and make a run of the answers.

    ``system`` has its corpus already (`System.index`), and is closed by whoever made it.
    ``queries`` is a `Queries` table, a dict or a list of `Query`. They are asked in batches of
    ``batch`` (the system's own preference, or 1 if a remote system has a ``rate``), up to ``jobs``
    at a time if the system allows it. What fails is repeated ``retries`` times, after about
    ``pause`` seconds, twice as long each time, or as long as the system asks to be left alone.

    ``timeout`` is how many seconds a query may take (None: 10 for a search engine, 60 for a
    language model, any time for what is in this process), and ``rate`` how many queries are asked
    in a second at most.
    Once ``cancel`` is set, the fetch ends with `CancelledError` before the next batch; no pause is
    waited out.

    With a folder as ``store``, answers are kept there under the system's identity and taken from
    there the next time; if all are there, nothing is indexed. ``progress`` is called with the
    numbers of queries done and of all, ``indexing`` with those of documents while an index is made
    that takes long.

    ``attempt`` is 0, or which time a system is asked again to see how much its answers vary: those
    of other attempts are not taken from the store.

    Raises:
        InputError: an option out of range, a corpus that cannot be indexed, a store that cannot be
            written, a remote system that answers no query at all.

    >>> from rankscope import Corpus
    >>> from rankscope.retrieval.registry import build_system
    >>> system = build_system("bm25")
    >>> system.index(Corpus({"d1": "leek soup", "d2": "apple pie"}))
    >>> fetched = fetch(system, {"q1": "soup with leek"}, depth=10)
    >>> list(fetched.run["q1"]), fetched.failures
    (['d1'], {})
    """
    check_depth(depth)
    _whole("jobs", jobs, 1)
    _whole("retries", retries, 0)
    timeout, rate = _positive("timeout", timeout), _positive("rate", rate)
    parts, is_remote = [*all_parts(system)], system.capabilities.remote
    if timeout is None and is_remote:
        timeout = max(part.seconds_to_answer for part in parts if part.capabilities.remote)
    asked = queries_of(queries)
    times_each = all(part.times_each for part in parts)
    size = system.batch_size if batch is None else _whole("batch", batch, 1)
    if batch is None and rate is not None and is_remote:
        size = 1  # a server that counts would not let a batch pass
    is_few = batch is None and len(asked) <= SINGLY
    singly = size == 1 or (is_few and not times_each and not is_remote)
    identity = system.identity()
    title, report = name or identity.name, progress or (lambda *_: None)
    began = time.monotonic()
    run = system.ready_run(asked, depth)
    if run is not None:
        report(len(asked), len(asked))
        timings = _timings([], 0.0, time.monotonic() - began, asked=len(asked))
        return Fetched(run.named(title), {}, timings, identity, system.notes)
    key = fingerprint(identity.key, attempt) if attempt else identity.key
    answers = None if store is None else Answers(Path(store), key, depth)
    pace = system.work.pace  # that of the fetch for which a stage asks this system to learn
    if pace is None or rate is not None or cancel is not None:
        pace = Pace(Stop(cancel), rate)
    asking = _Asking(system, depth, retries, pause, timeout, pace, answers, singly)
    rankings = {} if answers is None else _stored(parts, answers, asked)
    stored = len(rankings)
    log.info("%s: %d of %d answers are in the store", title, stored, len(asked))
    unanswered = [query for query in asked if query.query_id not in rankings]
    report(stored, len(asked))
    with _working(parts, Work(timeout, pace, indexing)), hidden_in_errors(asking.hide):
        if unanswered:
            asking.prepare()
        start = time.perf_counter()
        jobs = jobs if system.capabilities.concurrent else 1
        first = FIRST if is_remote and not stored else 0
        for finished in asking.batches(unanswered, size, jobs, first):
            rankings.update(finished)
            if is_remote:
                asking.end_if_nothing_works(rankings.values())
            report(len(rankings), len(asked))
    seconds = time.perf_counter() - start
    rankings = {query.query_id: rankings[query.query_id] for query in asked}
    failures = {at: ranking.error for at, ranking in rankings.items() if ranking.error is not None}
    timed = [ranking.seconds for ranking in rankings.values() if ranking.error is None]
    timings = _timings(
        timed,
        system.seconds_indexing if unanswered else 0.0,
        seconds,
        asked=len(unanswered),
        stored=stored,
        retried=asking.retried,
        times_each=times_each or (singly and not stored),
    )
    facts = _facts(system, answers)
    return Fetched(_run(rankings, title), failures, timings, identity, system.notes, facts)


def _facts(system: System, answers: Answers | None) -> tuple[EngineFacts | ModelUsage, ...]:
    """Return what became known; of engines that were not asked, what they said before."""
    facts = facts_of(system)
    engines = [fact for fact in facts if isinstance(fact, EngineFacts)]
    if answers is None:
        return facts
    if engines:
        answers.write_facts(engines)
        return facts
    return (*answers.read_facts(), *facts)


def _stored(
    parts: Sequence[Component], answers: Answers, queries: Sequence[Query]
) -> dict[str, Ranking]:
    """Return the answers in the store, by query id; the system's parts hear what they took."""
    by_key = answers.read()
    keys = {query.query_id: query_key(query) for query in queries}
    stored = {query_id: by_key[key] for query_id, key in keys.items() if key in by_key}
    receipts = [receipt for answer in stored.values() for receipt in answer.receipts]
    for part in parts:
        part.recall(receipts)
    return {query_id: answer.ranking for query_id, answer in stored.items()}


@contextmanager
def _working(parts: Sequence[Component], work: Work) -> Iterator[None]:
    """Within it, a system and all its parts work for this fetch."""
    before = [part.work for part in parts]
    try:
        for part in parts:
            part.work = work
        yield
    finally:
        for part, earlier in zip(parts, before, strict=True):
            part.work = earlier


# --- asking --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asking:
    """How the queries of a fetch are asked: in time, at its pace, and again where they fail."""

    system: System
    depth: int
    retries: int
    pause: float
    timeout: float | None
    pace: Pace
    answers: Answers | None
    singly: bool
    retried: int = 0
    alone: threading.Lock | None = field(init=False)

    def __post_init__(self) -> None:
        self.alone = None if self.system.capabilities.concurrent else threading.Lock()

    def hide(self, text: str) -> str:
        """Take the system's secrets out of a text."""
        return without_secrets(text, self.system)

    def prepare(self) -> None:
        """Prepare the system; if it asks to wait, wait, and go on."""
        self.pace.stop.check()
        for attempt in range(self.retries + 1):
            try:
                with contained():
                    self.system.prepare()
            except Exception as error:
                wait = Ranking.failed_by(error).retry_after
                if wait is None:
                    raise
                if wait > LONGEST_WAIT or attempt == self.retries:
                    raise InputError(sentence(error)) from error
                log.info("the system asks to wait %.1f s before it is prepared", wait)
                self.pace.stop.sleep(wait)
            else:
                return

    def batches(
        self, queries: Sequence[Query], size: int, jobs: int, first: int
    ) -> Iterator[dict[str, Ranking]]:
        """Work through batches, and yield each when it is answered and kept.

        The first queries are asked one by one, before others: do they get an answer at all?
        """
        yield from (self._batch([query]) for query in queries[:first])
        batches = [queries[low : low + size] for low in range(first, len(queries), size)]
        if jobs == 1:
            yield from map(self._batch, batches)
            return
        with ThreadPoolExecutor(jobs) as pool:
            waiting: set[Future[dict[str, Ranking]]] = set()
            try:
                for batch in [*batches, None]:
                    if batch is not None:
                        waiting.add(pool.submit(copy_context().run, self._batch, batch))
                    while waiting and (batch is None or len(waiting) >= 2 * jobs):
                        ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        yield from (future.result() for future in ready)
            except BaseException:
                self.pace.stop.failed.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def end_if_nothing_works(self, rankings: Collection[Ranking]) -> None:
        """Raise if a remote system fails whatever it is asked: its address or options are wrong.

        Without this a server that never answers would be waited for once for each query.
        """
        if any(ranking.error is None for ranking in rankings):
            return
        late = 0.9 * (self.timeout or math.inf)
        is_late = len(rankings) >= FIRST and all(ranking.seconds >= late for ranking in rankings)
        if is_late or len(rankings) >= FEW:
            problem = next(iter(rankings)).error
            text = f"the system answered none of the first {len(rankings)} queries: {problem}"
            log.warning("%s; it is given up", text)
            raise InputError(f"{text}; check its address and its options")

    def _batch(self, queries: Sequence[Query]) -> dict[str, Ranking]:
        """Answer one batch, then again what failed, then each of these by itself."""
        unanswered = self._unanswered()
        groups = [[query] for query in queries] if self.singly else [queries]
        rankings = [ranking for group in groups for ranking in self._asked(group)]
        for attempt in range(self.retries):
            failed = [
                at
                for at, ranking in enumerate(rankings)
                if ranking.error is not None and (ranking.retry_after or 0.0) <= LONGEST_WAIT
            ]
            if not failed:
                break
            seconds = self.pause * 2**attempt * random.uniform(0.75, 1.25)  # not all at once
            log.info(
                "%d queries failed (%s); asking again in %.1f s",
                *(len(failed), rankings[failed[0]].error, seconds),
            )
            self.pace.stop.sleep(seconds)
            self.retried += len(failed)
            last = attempt == self.retries - 1
            for group in [[at] for at in failed] if last else [failed]:
                again = self._asked([queries[at] for at in group])
                for at, ranking in zip(group, again, strict=True):
                    rankings[at] = ranking
        if self.answers is not None and self._unanswered() == unanswered:
            self.answers.write(queries, rankings, partial(receipts_of, self.system))
        answered = zip(queries, rankings, strict=True)
        return {query.query_id: ranking for query, ranking in answered}

    def _unanswered(self) -> int:
        """Return how many questions of the system's parts had no answer so far."""
        return sum(part.unanswered() for part in all_parts(self.system))

    def _asked(self, queries: Sequence[Query]) -> list[Ranking]:
        """Ask once; whatever goes wrong is the failure of these queries."""
        self.pace.wait_for(len(queries))
        began = time.monotonic()
        try:
            rankings = self._searched(queries)
        except RankscopeError:  # of the spec or the corpus: no query will do better
            raise
        except TimedOutError:
            log.info("no answer to %d queries in time", len(queries))
            if len(queries) > 1:  # one of them may be to blame
                return [self._asked([query])[0] for query in queries]
            problem = f"no answer within {self.timeout:g} s"
            return [Ranking.failed(problem, time.monotonic() - began)]
        except Exception as error:
            log.debug("%d queries failed: %s", len(queries), self.hide(sentence(error)))
            rankings = [Ranking.failed_by(error)] * len(queries)
        if len(rankings) != len(queries):
            problem = f"the system gave {len(rankings)} answers to {len(queries)} queries"
            return [Ranking.failed(problem) for _ in queries]
        longest = max((ranking.retry_after or 0.0 for ranking in rankings), default=0.0)
        if 0 < longest <= LONGEST_WAIT:
            log.info("the system asks to wait %.1f s", longest)
            self.pace.hold(longest)
        return [self._checked(ranking) for ranking in rankings]

    def _searched(self, queries: Sequence[Query]) -> list[Ranking]:
        """Call the system, for no longer than the queries may take."""
        with contained():
            if self.timeout is None:
                return self.system.search(queries, self.depth)
            seconds = self.timeout * len(queries)
            return within(seconds, lambda: self.system.search(queries, self.depth), self.alone)

    def _checked(self, ranking: Ranking) -> Ranking:
        """Return a ranking in the one order, or why it is none."""
        if ranking.error is not None:
            return replace(ranking, error=self.hide(ranking.error))
        problem = refusal(ranking, self.depth)
        if problem is not None:
            return Ranking.failed(problem, ranking.seconds)
        keys = zip(ranking.scores, ranking.doc_ids, strict=True)
        if all(above > below for above, below in pairwise(keys)):  # ids where scores are equal
            return ranking
        return Ranking.of(ranking.pairs(), seconds=ranking.seconds)


def refusal(ranking: Ranking, depth: int) -> str | None:
    """Say in one sentence what is wrong with a ranking; None if it is what it should be."""
    doc_ids, scores = ranking.doc_ids, ranking.scores
    if len(doc_ids) != len(scores):
        return f"the system gave {len(doc_ids)} documents and {len(scores)} scores"
    if len(doc_ids) > depth:
        return f"the system gave {len(doc_ids)} documents, but was asked for {depth}"
    if not all(isinstance(doc_id, str) and doc_id for doc_id in doc_ids):
        return "the system gave a document without an id"
    try:
        "".join(doc_ids).encode()
    except UnicodeEncodeError as error:
        half = shown(str(error.object)[error.start])
        return f"the system gave an id that is no text: it holds half a character, {half}"
    if len({*doc_ids}) < len(doc_ids):
        repeated = next(doc_id for at, doc_id in enumerate(doc_ids) if doc_id in doc_ids[:at])
        return f"the system gave the document {shown(repeated)} twice"
    if not all(map(math.isfinite, scores)):
        return "the system gave a score that is not a finite number"
    return None


# --- the result ----------------------------------------------------------------------------------


def _run(rankings: dict[str, Ranking], name: str) -> Run:
    """Make a run of all answers, each of them `_checked`; failed queries are not in it."""
    query_ids = [query_id for query_id, ranking in rankings.items() if ranking.error is None]
    answers = [rankings[query_id] for query_id in query_ids]
    doc_ids = chain.from_iterable(ranking.doc_ids for ranking in answers)
    scores = chain.from_iterable(ranking.scores for ranking in answers)
    return Run.trusted(
        query_ids,
        np.array([len(ranking.doc_ids) for ranking in answers], np.int64),
        pl.Series("doc_id", list(doc_ids), pl.String),
        pl.Series("score", list(scores), pl.Float64),
        name=name,
        is_best_first=True,
    )


def _timings(
    seconds: list[float],
    index: float,
    search: float,
    *,
    asked: int,
    stored: int = 0,
    retried: int = 0,
    times_each: bool = True,
) -> Timings:
    p50 = p95 = p99 = None
    if seconds and times_each:
        p50, p95, p99 = np.percentile(seconds, [50, 95, 99]).tolist()
    return Timings(
        index=index,
        search=search,
        p50=p50,
        p95=p95,
        p99=p99,
        asked=asked,
        stored=stored,
        retried=retried,
        per_second=len(seconds) / sum(seconds) if sum(seconds) > 0 else None,
    )


def _whole(name: str, value: object, low: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise InputError(f"{name} must be a whole number from {low} up, not {shown(value)}")
    return value


def _positive(name: str, value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise InputError(f"{name} must be a number above 0, not {shown(value)}")
    return float(value)
