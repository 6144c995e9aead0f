"""Reranking: a stage that puts the best documents of a system in another order.

``{rerank: {of: SYSTEM, python: module:function, depth: 50}}``: one reranker, with its options, over
one system. The first ``depth`` documents change places among each other; none is added or lost, so
recall at that depth stays what it was. What the system returned below them stays below them.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankscope.collection.corpus import Corpus, Document
from rankscope.errors import InputError, shown
from rankscope.retrieval.options import REQUIRED, any_text, as_is, option, whole
from rankscope.retrieval.protocol import Identity, Query, Ranking, check_depth
from rankscope.retrieval.python_objects import described_target, find_target, sentence
from rankscope.retrieval.registry import SYSTEMS, Context, Registry
from rankscope.retrieval.stages.learning import is_trained
from rankscope.retrieval.stages.stage import Stage, given_part

__all__ = ["RERANKERS", "Candidates", "Rerank", "Reranker"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a reranker is given: a query, and its best documents with the scores they have."""

    query: Query
    documents: tuple[Document, ...]
    scores: tuple[float, ...]


class Reranker(ABC):
    """Gives new scores to candidates.

    ``trained``: it has learnt from judged questions. ``notes``: sentences for the user, once it is
    prepared.
    """

    trained: bool = False
    notes: tuple[str, ...] = ()

    def over(self, stage: Rerank) -> None:  # noqa: B027  (most need the candidates only)
        """Take the stage this serves, for those that ask its system themselves."""

    def index(self, corpus: Corpus) -> None:  # noqa: B027  (most need no corpus of their own)
        """Take the corpus, for those that need more of it than the candidates."""

    def prepare(self) -> None:  # noqa: B027
        """Load or train what scoring needs."""

    @abstractmethod
    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        """Return for each query one score for each document, or one sentence why not."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Say what scores, as plain data, for an identity."""


RERANKERS: Registry[Reranker] = Registry("reranker")
"""Every reranker, by the name under which a config uses it."""


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """Which system, how deep, and one reranker by its name."""

    of: Any = option(REQUIRED, "the system to rerank: its name, or a spec", as_is)  # noqa: RUF009
    depth: int = option(50, "how many documents are reranked", whole(1))
    cross_encoder: Any = option(None, "a model that reads query and document", as_is)  # noqa: RUF009
    ltr: Any = option(None, "a model trained on judged questions", as_is)  # noqa: RUF009
    python: Any = option(None, "module:function, scores for documents", as_is)  # noqa: RUF009


@SYSTEMS.add("rerank", RerankOptions, summary="another system's best documents in another order")
class Rerank(Stage):
    """A reranker after a system."""

    def __init__(self, options: RerankOptions, context: Context) -> None:
        super().__init__(context.system(options.of))
        self.depth = options.depth
        self.reranker = given_part(RERANKERS, options, context, "rerank")
        self.concurrent = False
        self._corpus: Corpus | None = None
        self.reranker.over(self)
        self.trained = is_trained(self.inner) or is_trained(self.reranker)

    def index(self, corpus: Corpus) -> None:
        """Take the corpus, and hand it down."""
        super().index(corpus)
        self._corpus = corpus
        self.reranker.index(corpus)

    def prepare(self) -> None:
        """Prepare the system below and the reranker."""
        super().prepare()
        began = time.perf_counter()
        self.reranker.prepare()
        self.notes = tuple(dict.fromkeys((*self.notes, *self.reranker.notes)))
        self.seconds_indexing += time.perf_counter() - began

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = self.inner.identity()
        described = self.reranker.described()
        parameters = {"of": inner.key, "depth": self.depth, "reranker": described}
        return Identity("rerank", inner.version, parameters, inner.snapshot, self.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the system below, and reorder the top of each answer."""
        depth = check_depth(depth)
        rankings = self.inner.search(queries, max(depth, self.depth))
        chosen = [at for at, ranking in enumerate(rankings) if ranking.doc_ids]
        began = time.perf_counter()
        batch = [self.candidates(queries[at], rankings[at].pairs()) for at in chosen]
        scores = self.reranker.scores(batch) if batch else []
        share = (time.perf_counter() - began) / max(len(batch), 1)
        for at, new in zip(chosen, scores, strict=True):
            rankings[at] = _reordered(rankings[at], new, self.depth, share)
        return [ranking.cut(depth) for ranking in rankings]

    def candidates(self, query: Query, found: Sequence[tuple[str, float]]) -> Candidates:
        """Return what the reranker is given of an answer."""
        found = found[: self.depth]
        corpus = self._corpus
        documents = tuple(
            corpus[doc_id] if corpus is not None and doc_id in corpus else Document(doc_id, {})
            for doc_id, _ in found
        )
        return Candidates(query, documents, tuple(score for _, score in found))


def _reordered(ranking: Ranking, new: Sequence[float] | str, depth: int, seconds: float) -> Ranking:
    """Put the top of a ranking in the order of new scores; the rest follows below the lowest."""
    spent = ranking.seconds + seconds
    if isinstance(new, str):
        return Ranking.failed(new, spent)
    top, rest = ranking.doc_ids[:depth], ranking.doc_ids[depth:]
    if len(new) != len(top) or not all(map(math.isfinite, new)):
        problem = "the reranker must give one finite score for each document"
        return Ranking.failed(problem, spent)
    first = Ranking.of(zip(top, new, strict=True))
    floor = min(new)
    below = tuple(floor - place for place in range(1, len(rest) + 1))
    return replace(first, doc_ids=first.doc_ids + rest, scores=first.scores + below, seconds=spent)


@dataclass(frozen=True, slots=True)
class PythonRerankerOptions:
    """A function of yours."""

    function: Any = option(  # noqa: RUF009
        REQUIRED,
        "module:function, or the function: takes a query text and a list of documents, returns a "
        "score for each or their ids in the new order",
        as_is,
    )
    version: str = option("", "say something else here when what it does changes", any_text)


@RERANKERS.add("python", PythonRerankerOptions, summary="a Python function that scores documents")
class PythonReranker(Reranker):
    """A Python function that scores or reorders."""

    def __init__(self, options: PythonRerankerOptions, context: Context) -> None:
        self._function = find_target(options.function, context, "a reranker")
        if not callable(self._function):
            raise InputError(f"the reranker {shown(options.function)} is not a function")
        self._reference, self._version = options.function, options.version

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {
            "reranker": "python",
            **described_target(self._function, self._reference, self._version),
        }

    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        """Call it for each query."""
        return [self._scored(one) for one in batch]

    def _scored(self, candidates: Candidates) -> Sequence[float] | str:
        try:
            answer = list(self._function(candidates.query.text, list(candidates.documents)))
        except Exception as error:
            return sentence(error)
        ids = [document.doc_id for document in candidates.documents]
        if answer and all(isinstance(one, str) for one in answer):
            return _places(answer, ids)
        try:
            numbers = [float(one) for one in answer]
        except (TypeError, ValueError):
            return f"expected scores or ids from the reranker, but it returned {shown(answer)}"
        if len(numbers) != len(ids):
            return f"the reranker returned {len(numbers)} scores for {len(ids)} documents"
        return numbers


def _places(order: Sequence[str], ids: Sequence[str]) -> Sequence[float] | str:
    """Return scores that put ids in the given order, or what is wrong with it."""
    place = {doc_id: -float(rank) for rank, doc_id in enumerate(order, start=1)}
    added = [doc_id for doc_id in order if doc_id not in ids]
    if added:
        return f"the reranker returned the document {shown(added[0])}, which it was not given"
    if len(place) < len(order) or len(place) < len(ids):
        return "the reranker must return each document it was given once"
    return [place[doc_id] for doc_id in ids]
