"""What a retrieval system is: it takes a corpus, answers batches of queries, and has an identity.

Every system, whether it searches in memory or asks an engine over the network, is a `System`. The
flow is ``index`` (take the corpus; cheap), ``prepare`` (make or load what searching needs), then
``search`` any number of times. `fetch` drives it and makes a run of the answers.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.collection.queries import Queries
from rankscope.errors import InputError, shown
from rankscope.runs.order import ranked
from rankscope.runs.table import Run

__all__ = ["Identity", "Query", "Ranking", "System", "check_depth", "queries_of"]


@dataclass(frozen=True, slots=True)
class Query:
    """One question: its id, its text and whatever else is known about it."""

    query_id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one query: documents, best first, each once, with finite scores.

    Order: score from high to low, then id from high to low by bytes. ``seconds`` is how long the
    query took; where several are answered in one go, its share. ``error`` is one sentence if the
    query could not be answered; then there are no documents, which does not mean that there are
    none to be found.
    """

    doc_ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str | None = None

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[str, float]], depth: int | None = None, *, seconds: float = 0.0
    ) -> Ranking:
        """Rank (doc_id, score) pairs that come in any order, each document once.

        >>> Ranking.of([("a", 1.0), ("c", 2.0), ("b", 1.0)]).doc_ids
        ('c', 'b', 'a')
        """
        best = ranked(pairs)[:depth]
        scores = tuple(float(score) for _, score in best)
        return cls(tuple(doc_id for doc_id, _ in best), scores, seconds)

    @classmethod
    def failed(cls, error: str, seconds: float = 0.0) -> Ranking:
        """Return the answer that there is none, and why."""
        return cls(seconds=seconds, error=error)

    def pairs(self) -> list[tuple[str, float]]:
        """Return the (doc_id, score) pairs."""
        return list(zip(self.doc_ids, self.scores, strict=True))

    def cut(self, depth: int) -> Ranking:
        """Return the best so many documents."""
        if len(self.doc_ids) <= depth:
            return self
        return Ranking(self.doc_ids[:depth], self.scores[:depth], self.seconds, self.error)


@dataclass(frozen=True, slots=True)
class Identity:
    """What exactly answered: two systems with the same identity give the same rankings.

    ``kind`` is the name in the registry, ``version`` the engine and its version, ``parameters`` all
    that was chosen, as plain data, and ``snapshot`` a hash of what is searched (None: nothing was
    indexed). ``name`` is what people call the system; it decides nothing.
    """

    kind: str
    version: str
    parameters: Mapping[str, Any]
    snapshot: str | None = None
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "kind": self.kind,
            "name": self.name or self.kind,
            "version": self.version,
            "parameters": dict(self.parameters),
            "snapshot": self.snapshot,
        }

    @property
    def key(self) -> str:
        """A hash of everything but the name; what is kept on disk is kept under it."""
        return fingerprint(self.kind, self.version, dict(self.parameters), self.snapshot)


def fingerprint(*parts: Any) -> str:
    """Return a hash of plain data: the same for the same content, in any process."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class System(ABC):
    """Something that answers queries.

    ``batch_size`` is how many queries it likes to get at once, and ``concurrent`` whether `search`
    may be called from several threads at the same time. ``seconds_indexing`` is how long `prepare`
    took, and ``notes`` holds sentences about what was indexed that a user should read.

    The rules that the conformance tests hold every system to:

    - the order is that of `Ranking`; at most ``depth`` documents, none twice
    - a query's answer does not depend on the queries beside it, and is the same every time
    - an empty query, an empty corpus, or a query without a known word: no documents, no error
    - a query that fails is a `Ranking` with an error; the others are answered all the same
    """

    batch_size: int = 64
    concurrent: bool = False
    seconds_indexing: float = 0.0
    notes: tuple[str, ...] = ()
    name: str = ""

    @abstractmethod
    def index(self, corpus: Corpus) -> None:
        """Take the corpus that is to be searched; the work is done in `prepare`."""

    def prepare(self) -> None:  # noqa: B027  (a remote engine has nothing to make)
        """Make or load what searching needs; `search` does it if nobody did."""

    @abstractmethod
    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with at most ``depth`` documents, in the order of the queries."""

    def whole(self, queries: Sequence[Query], depth: int) -> Run | None:  # noqa: ARG002
        """Return all answers at once, where they are there already; else None: `search` is asked.

        The same rankings as those of `search`, in the order of the queries.
        """
        return None

    @abstractmethod
    def identity(self) -> Identity:
        """Say what exactly answers."""


def check_depth(depth: object) -> int:
    """Return a depth that is a whole number from 1 up."""
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise InputError(f"depth must be a whole number from 1 up, not {shown(depth)}")
    return depth


def queries_of(queries: Queries | Mapping[str, Any] | Iterable[Query]) -> list[Query]:
    """Return queries with their metadata, from a table, a dict or a list of them.

    >>> queries_of({"q1": "leek soup"})
    [Query(query_id='q1', text='leek soup', metadata={})]
    """
    if not isinstance(queries, Queries | Mapping):
        queries = list(queries)
        if all(isinstance(query, Query) for query in queries):
            _refuse_twice(queries)
            return queries
    table = queries if isinstance(queries, Queries) else Queries(queries)
    metadata = table.metadata
    return [Query(query_id, text, metadata[query_id]) for query_id, text in table.items()]


def _refuse_twice(queries: Sequence[Query]) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.query_id in seen:
            raise InputError(
                f"query {shown(query.query_id)} stands twice; give every query its own id"
            )
        seen.add(query.query_id)
