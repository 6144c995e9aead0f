"""Stages: systems over another system, which they ask and whose answers they may change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.answers import query_key
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Capabilities, Component, Query, Ranking, System
from rankscope.retrieval.registry import SYSTEMS, Context, StageOptions


class Over(System):
    """A system over one other, ``inner``, whose batches it takes as they are."""

    def __init__(self, of: Any, context: Context) -> None:
        self.owned: list[Component] = []
        self.inner = context.make(SYSTEMS, of, self.owned)
        self.batch_size = self.inner.batch_size
        self.capabilities = Capabilities.of(self.inner, ties=self.inner.capabilities.ties)
        self.trained = self.inner.trained

    def parts(self) -> Sequence[Component]:
        """Return the system below."""
        return [self.inner]

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus down."""
        self.inner.index(corpus)
        self._take_notes()

    def prepare(self) -> None:
        """Prepare the system below."""
        self.inner.prepare()
        self.seconds_indexing = self.inner.seconds_indexing
        self._take_notes()

    def _take_notes(self) -> None:
        self.notes = notes_of(self.parts())


class Stage(Over):
    """A system over one other by means of a part of its own; it can do what both can."""

    def __init__(self, options: StageOptions, context: Context) -> None:
        super().__init__(options.of, context)
        self.options: StageOptions = options
        self.part: Component = context.make(options.parts_by_name, options.part, self.owned)
        self.capabilities = Capabilities.of(
            self.inner, self.part, ties=self.inner.capabilities.ties
        )
        self.trained = self.inner.trained or self.part.trained

    def parts(self) -> Sequence[Component]:
        """Return the system below, and the part."""
        return [self.inner, self.part]


def notes_of(components: Sequence[Component]) -> tuple[str, ...]:
    """Return the notes of several components, each once."""
    return tuple(dict.fromkeys(note for component in components for note in component.notes))


Key = tuple[str, int, str]
"""What an answer is known by: the system's identity, the depth, the query."""


class Memory:
    """Answers of systems that several stages ask the same, as long as they are few enough.

    A benchmark makes one, so that a fusion, a trained one and a reranker over the same systems do
    not search three times. It holds answers by the system's identity, and forgets the oldest.
    """

    def __init__(self, documents: int = 2_000_000) -> None:
        self._left = documents
        self._rankings: OrderedDict[Key, Ranking] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Ranking | None:
        """Return an answer, if it is known."""
        with self._lock:
            return self._rankings.get(key)

    def add(self, key: Key, ranking: Ranking) -> None:
        """Take an answer, and forget others if there are too many documents."""
        with self._lock:
            if key not in self._rankings:
                self._rankings[key] = ranking
                self._left -= len(ranking.doc_ids)
            while self._left < 0:
                _, oldest = self._rankings.popitem(last=False)
                self._left += len(oldest.doc_ids)


@dataclass(slots=True)
class Request:
    """What has been asked, by all stages of a pipeline, to answer one batch of queries.

    What is asked again is not searched again, and so takes no time; ``repeated`` counts it.
    ``saved`` adds up the seconds that other answers had taken which were in the memory, as another
    pipeline had asked for them: by itself this one would have waited for them.
    """

    rankings: dict[Key, Ranking] = field(default_factory=dict)
    repeated: int = 0
    saved: float = 0.0


_REQUEST: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def one_request() -> Iterator[Request]:
    """Within it, stages answer the same batch of queries; those below join the one above."""
    current = _REQUEST.get()
    if current is not None:
        yield current
        return
    request = Request()
    token = _REQUEST.set(request)
    try:
        yield request
    finally:
        _REQUEST.reset(token)


def ask(
    system: System, queries: Sequence[Query], depth: int, memory: Memory | None
) -> list[Ranking]:
    """Search, for a stage above; what was answered before is not asked again.

    The seconds of each answer are those that it adds to the pipeline's: what it took when it was
    made, and 0 for what was asked in the same request before.
    """
    if memory is None or not system.capabilities.deterministic:
        return system.search(queries, depth)
    identity = system.identity().key
    keys = [(identity, depth, query_key(query)) for query in queries]
    with one_request() as request:
        known: list[Ranking | None] = []
        for key in keys:
            if key in request.rankings:
                known.append(replace(request.rankings[key], seconds=0.0))
                request.repeated += 1
                continue
            ranking = memory.get(key)
            if ranking is not None:
                request.saved += ranking.seconds
                request.rankings[key] = ranking
            known.append(ranking)
        missing = [at for at, ranking in enumerate(known) if ranking is None]
        if missing:
            repeated = request.repeated
            answers = system.search([queries[at] for at in missing], depth)
            is_whole = request.repeated == repeated  # else its time is that in this pipeline only
            for at, ranking in zip(missing, answers, strict=True):
                known[at] = ranking
                if ranking.error is None:
                    request.rankings[keys[at]] = ranking
                    if is_whole:
                        memory.add(keys[at], ranking)
    return [ranking for ranking in known if ranking is not None]


def training_answers(
    owner: str, system: System, queries: Sequence[Query], depth: int
) -> dict[str, list[tuple[str, float]]]:
    """Ask a system questions to learn from: (doc_id, score) pairs by query id, best first.

    One that cannot be answered is an error, as what is learnt would depend on it.
    """
    fetched = fetch(system, queries, depth=depth)
    for query_id, problem in fetched.failures.items():
        raise InputError(
            f"{owner}: the training question {shown(query_id)} could not be answered ({problem})"
        )
    return {query.query_id: list(fetched.run[query.query_id].items()) for query in queries}
