"""What a retrieval system is: it takes a corpus, answers batches of queries, and has an identity.

Every system, whether it searches in memory or asks an engine over the network, is a `System`. The
flow is ``index`` (take the corpus; cheap), ``prepare`` (make or load what searching needs),
``search`` any number of times, and ``close``. `fetch` drives it and makes a run of the answers.

Systems and what they are made of (embedders, rewriters, rerankers) are components: each declares
its capabilities, the packages it uses, and what it owns. `registry` makes them from specs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from uuid import uuid4

from rankscope.collection.corpus import Corpus
from rankscope.collection.queries import Queries
from rankscope.errors import InputError, shown
from rankscope.measures.definition import LARGEST_CUTOFF
from rankscope.records.origin import EngineFacts, Identity, ModelUsage, fingerprint
from rankscope.retrieval.hiding import Hider
from rankscope.retrieval.options import Options, RemoteOptions, Secret, Snapshot
from rankscope.retrieval.waiting import Work
from rankscope.runs.order import ranked
from rankscope.runs.table import Run

if TYPE_CHECKING:
    from rankscope.retrieval.answers import Receipt

__all__ = [
    "Capabilities",
    "Component",
    "Identity",
    "Options",
    "Query",
    "Ranking",
    "RemoteOptions",
    "RetryLater",
    "Secret",
    "Snapshot",
    "System",
    "UnansweredError",
    "check_depth",
    "contained",
    "fingerprint",
    "queries_of",
    "sentence",
    "snapshot_of",
]


@dataclass(frozen=True, slots=True)
class Query:
    """One question: its id, its text and whatever else is known about it."""

    query_id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def copied(self) -> Query:
        """Return the same query with metadata of its own, for code that might change it."""
        return replace(self, metadata=deepcopy(dict(self.metadata)))


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one query: documents, best first, each once, with finite scores.

    ``seconds`` is how long the query took; where several are answered in one go, its share.
    ``error`` is one sentence if the query could not be answered; then there are no documents, which
    does not mean that there are none to be found. ``retry_after`` is how many seconds the system
    asks to be left alone before it is asked again.
    """

    doc_ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    retry_after: float | None = None

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[str, float]], depth: int | None = None, *, seconds: float = 0.0
    ) -> Ranking:
        """Make a ranking of (doc_id, score) pairs in any order, each document once.

        >>> Ranking.of([("a", 1.0), ("c", 2.0), ("b", 1.0)]).doc_ids
        ('c', 'b', 'a')
        """
        best = ranked(pairs)[:depth]
        doc_ids = tuple(doc_id for doc_id, _ in best)
        return cls(doc_ids, tuple(float(score) for _, score in best), seconds)

    @classmethod
    def failed(
        cls, error: str, seconds: float = 0.0, *, retry_after: float | None = None
    ) -> Ranking:
        """Return the answer that there is none, and why."""
        return cls(seconds=seconds, error=error, retry_after=retry_after)

    @classmethod
    def failed_by(cls, error: Exception, seconds: float = 0.0) -> Ranking:
        """Return the answer that there is none, because of an exception."""
        is_sentence = isinstance(error, InputError | UnansweredError)
        text = str(error) if is_sentence else sentence(error)
        wait = getattr(error, "retry_after", None)
        is_number = isinstance(wait, int | float) and math.isfinite(wait)
        return cls.failed(text, seconds, retry_after=wait if is_number else None)

    def pairs(self) -> list[tuple[str, float]]:
        """Return the (doc_id, score) pairs."""
        return list(zip(self.doc_ids, self.scores, strict=True))

    def cut(self, depth: int) -> Ranking:
        """Return the best ``depth`` documents."""
        if len(self.doc_ids) <= depth:
            return self
        return Ranking(self.doc_ids[:depth], self.scores[:depth], self.seconds, self.error)


def sentence(error: BaseException) -> str:
    """Return an exception as one line: its kind and what it says."""
    text = " ".join(str(error).split())
    if len(text) > 300:
        text = f"{text[:299]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class UnansweredError(Exception):
    """Why a query has no answer, as a sentence to be shown as it is."""


class RetryLater(Exception):  # noqa: N818  (a request, not a fault)
    """Raised by a component that asks to be left alone for some seconds, as with ``Retry-After``.

    `fetch` heeds the attribute ``retry_after`` of any other exception just the same.
    """

    def __init__(self, seconds: float, reason: str = "the engine is busy") -> None:
        super().__init__(f"{reason}; it asks to wait {seconds:g} s")
        self.retry_after = seconds


@contextmanager
def contained() -> Iterator[None]:
    """Within it, code that is not ours cannot end the process; only an interruption does."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UnansweredError(
            f"the code raised {sentence(error)}, which would have ended the process"
        ) from error


THIS_PROCESS = f"process {uuid4().hex}"
"""Stands for what cannot be known: nothing kept under it is ever found by another process."""


def snapshot_of(stated: str | None, what: str) -> tuple[str, tuple[str, ...]]:
    """Return the snapshot of something that cannot be known by content, and a note if it needs one.

    ``stated`` is what the user says of it. If that is nothing, answers hold for this process only.
    """
    if stated is not None:
        return stated, ()
    note = (
        f"{what} has no stated snapshot, so it is asked again by every process; state one, such "
        "as a date, to keep its answers"
    )
    return THIS_PROCESS, (note,)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a component promises; conformance tests hold it to that, and `fetch` relies on it."""

    deterministic: bool = True
    """The same question always has the same answer."""
    exact: bool = True
    """No document is missed: a smaller depth is the top of a larger one, whatever the batch."""
    ties: Literal["trec", "any"] = "any"
    """The order of documents with equal scores: by id from high to low, or any."""
    concurrent: bool = False
    """It may be called from several threads at the same time."""
    remote: bool = False
    """It asks something outside this process, which may be slow, busy or out of reach."""

    @classmethod
    def of(cls, *components: Component, ties: Literal["trec", "any"] = "trec") -> Capabilities:
        """Return what something made of these components can promise."""
        parts = [component.capabilities for component in components]
        return cls(
            deterministic=all(part.deterministic for part in parts),
            exact=all(part.exact for part in parts),
            ties=ties,
            concurrent=all(part.concurrent for part in parts),
            remote=any(part.remote for part in parts),
        )


class Component(ABC):  # noqa: B024  (its kinds say what must be there)
    """A system, or a part of one: an embedder, a rewriter, a reranker.

    ``options`` are those it was made with, ``packages`` the distributions it computes with, and
    ``notes`` sentences that a user should read. ``trained``: it, or what it is made of, has learnt
    from judged questions. ``owned`` are the components it made itself, and closes. ``sources`` are
    the files of the user's code that its identity covers.
    """

    capabilities: Capabilities = Capabilities()
    packages: tuple[str, ...] = ()
    options: Options | None = None
    notes: tuple[str, ...] = ()
    trained: bool = False
    owned: Sequence[Component] = ()
    sources: Sequence[str] = ()
    seconds_to_answer: ClassVar[float] = 10.0
    """How long a query may take where this is remote and nobody says otherwise."""
    times_each: ClassVar[bool] = True
    """Whether the time of a query is its own, and not its share of that of a batch."""
    needs_corpus: ClassVar[bool] = False
    """Whether this finds nothing without a corpus."""
    work: Work = Work()
    """The fetch that this works for: it sets the limits, is waited with, and is told progress."""

    def parts(self) -> Sequence[Component]:
        """Return the components that this one asks, directly."""
        return ()

    def model(self) -> Mapping[str, Any] | None:
        """Describe the model that this component is, as plain data; None if it is none."""
        return None

    def facts(self) -> Sequence[EngineFacts | ModelUsage]:
        """Say what became known while it was asked: of an engine, of what a model was asked."""
        return ()

    def recall(self, receipts: Sequence[Receipt]) -> None:  # noqa: B027
        """Take what replies of models took that answers from the store are made of.

        Only for what asks a model.
        """

    def receipts(self, query_id: str) -> Sequence[Receipt]:  # noqa: ARG002
        """Return what replies of models took that the answer to a query is made of."""
        return ()

    def unanswered(self) -> int:
        """Say how many questions had no answer so far, and may have one the next time.

        A ranking that was made without them is given, and not kept.
        """
        return 0

    def close(self) -> None:
        """Give back connections and memory; may be called more than once."""
        for component in self.owned:
            component.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def all_parts(component: Component) -> Iterator[Component]:
    """Yield a component and everything below it, each once."""
    seen: dict[int, Component] = {}
    waiting = [component]
    while waiting:
        current = waiting.pop(0)
        if id(current) not in seen:
            seen[id(current)] = current
            waiting += current.parts()
    yield from seen.values()


def packages_of(component: Component) -> list[str]:
    """Return the distributions that a component computes with."""
    return sorted({package for part in all_parts(component) for package in part.packages})


def models_of(component: Component) -> list[dict[str, Any]]:
    """Describe the models that take part, each once."""
    models: list[dict[str, Any]] = []
    for part in all_parts(component):
        model = part.model()
        if model is not None and model not in models:
            models.append(dict(model))
    return models


def facts_of(component: Component) -> tuple[EngineFacts | ModelUsage, ...]:
    """Return what became known of a component and everything below it while it was asked."""
    return tuple(fact for part in all_parts(component) for fact in part.facts())


def receipts_of(component: Component, query_id: str) -> tuple[Receipt, ...]:
    """Return what replies of models took that the answer to a query is made of."""
    return tuple(receipt for part in all_parts(component) for receipt in part.receipts(query_id))


def without_secrets(text: str, component: Component) -> str:
    """Take out of a text what the options of a component and its parts say is secret."""
    secrets = {
        secret
        for part in all_parts(component)
        for secret in (part.options.secrets() if part.options is not None else ())
    }
    return _hider(frozenset(secrets)).hide(text) if secrets else text


@lru_cache(maxsize=16)
def _hider(secrets: frozenset[str]) -> Hider:
    return Hider(dict.fromkeys(secrets, "…"))


class System(Component):
    """Something that answers queries.

    ``batch_size`` is how many queries it likes to get at once; ``seconds_indexing`` is how long
    `prepare` took. ``holds_answers``: it has all answers already and gives them by `ready_run` at
    no cost, so nobody keeps them once more.

    The rules that the conformance tests hold every system to:

    - at most ``depth`` documents, none twice, by score from high to low
    - an empty query or an empty corpus: no documents, no error
    - a query that fails is a `Ranking` with an error; the others are answered all the same
    - what its capabilities promise: a deterministic system gives the same answer every time; of an
      exact one a smaller depth is the top of a larger one, and a query's answer does not depend on
      the queries beside it; with the order of ties ``trec``, equal scores are in the order of ids
      from high to low by bytes
    """

    batch_size: int = 64
    seconds_indexing: float = 0.0
    name: str = ""
    holds_answers: bool = False

    @abstractmethod
    def index(self, corpus: Corpus) -> None:
        """Take the corpus that is to be searched; the work is done in `prepare`."""

    def prepare(self) -> None:
        """Make or load what searching needs; `search` does it if nobody did."""

    @abstractmethod
    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with at most ``depth`` documents, in the order of the queries."""

    def ready_run(self, queries: Sequence[Query], depth: int) -> Run | None:  # noqa: ARG002
        """Return all answers at once, where they exist already; else None: `search` is asked.

        The same rankings as those of `search`, in the order of the queries.
        """
        return None

    @abstractmethod
    def identity(self) -> Identity:
        """Say what exactly answers."""


def check_depth(depth: object) -> int:
    """Return a depth that is a whole number from 1 to the largest cutoff."""
    if type(depth) is not int or not 1 <= depth <= LARGEST_CUTOFF:
        raise InputError(
            f"depth must be a whole number from 1 to {LARGEST_CUTOFF:,}, not {shown(depth)}"
        )
    return depth


def queries_of(queries: Queries | Mapping[str, Any] | Iterable[Query]) -> list[Query]:
    """Return queries with their metadata, from a table, a dict or a list of them.

    >>> queries_of({"q1": "leek soup"})
    [Query(query_id='q1', text='leek soup', metadata={})]
    """
    if not isinstance(queries, Queries | Mapping):
        queries = list(queries)
        if all(isinstance(query, Query) for query in queries):
            _refuse_repeated(queries)
            return queries
    table = queries if isinstance(queries, Queries) else Queries(queries)
    metadata = table.metadata
    return [Query(query_id, text, metadata[query_id]) for query_id, text in table.items()]


def _refuse_repeated(queries: Sequence[Query]) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.query_id in seen:
            raise InputError(
                f"query {shown(query.query_id)} appears twice; give every query its own id"
            )
        seen.add(query.query_id)
