"""Reranking: a stage that puts the best documents of a system in another order.

``{rerank: {of: SYSTEM, python: module:function, depth: 50}}``: one reranker, with its options, over
one system. The first ``depth`` documents change places among each other; none is added or lost, so
recall at that depth stays what it was. What the system returned below them stays below them.
"""

from __future__ import annotations

import logging
import math
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from rankscope.collection.corpus import Corpus, Document
from rankscope.errors import shown
from rankscope.retrieval.protocol import (
    Capabilities,
    Query,
    Ranking,
    check_depth,
    sentence,
)
from rankscope.retrieval.registry import SYSTEMS, Context, Registry, StageOptions
from rankscope.retrieval.stages.stage import Part, Stage, notes_of
from rankscope.retrieval.texts import Texts
from rankscope.retrieval.user_code import FunctionOptions, UserFunction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a reranker is given: a query, and its best documents with the scores they have."""

    query: Query
    documents: tuple[Document, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """New scores of one query's candidates, or one sentence why not, and how long that took."""

    scores: Sequence[float] | str
    seconds: float


class Reranker(Part):
    """Gives new scores to candidates."""

    def over(self, stage: Rerank) -> None:
        """Take the stage this serves, for those that ask its system themselves."""

    def index(self, corpus: Corpus) -> None:
        """Take the corpus, for those that need more of it than the candidates."""

    def prepare(self) -> None:
        """Load or train what scoring needs."""

    @abstractmethod
    def scores(self, batch: Sequence[Candidates]) -> Sequence[Sequence[float] | str | Scored]:
        """Return for each query one score for each document, or one sentence why not.

        As `Scored` they come with the seconds of this query; without, the time of the batch is
        shared out evenly, which is all that is known where it is scored in one go.
        """

    def model(self) -> Mapping[str, Any]:
        """Describe the model, for the record of an experiment."""
        return self.described()


class ReadingReranker(Reranker):
    """A reranker that reads documents."""

    _corpus: Corpus | None = None
    _texts: Texts | None = None

    def take_texts(self, corpus: Corpus, fields: dict[str, int] | None) -> None:
        """Take what is to be read of documents."""
        if corpus is not self._corpus:
            self._texts, self._corpus = Texts.of(corpus, fields), corpus

    @property
    def snapshot(self) -> str | None:
        """A hash of what is read, for an identity."""
        return None if self._texts is None else self._texts.snapshot

    def read(self, candidates: Candidates) -> list[str] | str:
        """Return what is read of each document, or one sentence if one is not there."""
        read = []
        for document in candidates.documents:
            try:
                if self._texts is None:
                    return "the reranker reads documents, and there is no corpus to read them from"
                read.append(self._texts.text_of(document.doc_id))
            except KeyError:
                doc_id = shown(document.doc_id)
                return f"the document {doc_id} is not in the corpus, so it cannot be read"
        return read


RERANKERS: Registry[Reranker] = Registry("reranker", Reranker)  # type: ignore[type-abstract]
"""Every reranker, by the name under which a config uses it."""


class RerankOptions(StageOptions):
    """Which system, how deep, and one reranker by its name."""

    parts_by_name = RERANKERS

    depth: int = Field(default=50, ge=1)
    """How many documents are reranked."""


@SYSTEMS.add("rerank", RerankOptions, summary="another system's best documents in another order")
class Rerank(Stage):
    """A reranker after a system."""

    kind = "rerank"
    part: Reranker

    def __init__(self, options: RerankOptions, context: Context) -> None:
        super().__init__(options, context)
        self.depth = options.depth
        self._corpus: Corpus | None = None
        self.part.over(self)
        self.capabilities = Capabilities.of(self.inner, self.part)

    def index(self, corpus: Corpus) -> None:
        """Take the corpus, and hand it down."""
        self._corpus = corpus
        self.part.index(corpus)
        super().index(corpus)

    def prepare(self) -> None:
        """Prepare the system below and the reranker."""
        super().prepare()
        began = time.perf_counter()
        self.part.prepare()
        self.notes = notes_of(self.parts())
        self.seconds_indexing += time.perf_counter() - began

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the system below, and reorder the top of each answer."""
        depth = check_depth(depth)
        rankings = self.inner.search(queries, max(depth, self.depth))
        chosen = [at for at, ranking in enumerate(rankings) if ranking.doc_ids]
        began = time.perf_counter()
        batch = [self.candidates(queries[at], rankings[at].pairs()) for at in chosen]
        gathered = time.perf_counter() - began
        answers = self.part.scores(batch) if batch else []
        spent = time.perf_counter() - began
        count = max(len(batch), 1)
        for at, answer in zip(chosen, answers, strict=True):
            if isinstance(answer, Scored):
                new, seconds = answer.scores, answer.seconds + gathered / count
            else:
                new, seconds = answer, spent / count
            rankings[at] = _reordered(rankings[at], new, self.depth, seconds)
        return [ranking.cut(depth) for ranking in rankings]

    def candidates(self, query: Query, pairs: Sequence[tuple[str, float]]) -> Candidates:
        """Return what the reranker is given of an answer."""
        pairs = pairs[: self.depth]
        corpus = self._corpus
        documents = tuple(
            corpus[doc_id] if corpus is not None and doc_id in corpus else Document(doc_id, {})
            for doc_id, _ in pairs
        )
        return Candidates(query, documents, tuple(score for _, score in pairs))


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


class PythonRerankerOptions(FunctionOptions):
    """A function of yours."""

    function: Any
    """module:function, or the function: takes a query text and a list of documents, returns a score
    for each or their ids in the new order."""


@RERANKERS.add("python", PythonRerankerOptions, summary="a Python function that scores documents")
class PythonReranker(Reranker):
    """A Python function that scores or reorders."""

    def __init__(self, options: PythonRerankerOptions, context: Context) -> None:
        self.options: PythonRerankerOptions = options
        self._function = UserFunction(options, context, "a reranker")
        self.sources = self._function.sources
        self.capabilities = self._function.capabilities

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {"reranker": "python", **self._function.described()}

    def scores(self, batch: Sequence[Candidates]) -> list[Scored]:
        """Call it for each query."""
        return [self._timed(candidates) for candidates in batch]

    def _timed(self, candidates: Candidates) -> Scored:
        began = time.perf_counter()
        scores = self._scored(candidates)
        return Scored(scores, time.perf_counter() - began)

    def _scored(self, candidates: Candidates) -> Sequence[float] | str:
        try:
            answer = self._function.called(
                lambda: list(
                    self._function.target(candidates.query.text, list(candidates.documents))
                )
            )
        except Exception as error:
            if hasattr(error, "retry_after"):  # it will work later
                raise
            log.debug("query %s cannot be reranked", candidates.query.query_id, exc_info=True)
            return sentence(error)
        ids = [document.doc_id for document in candidates.documents]
        if answer and all(isinstance(item, str) for item in answer):
            return _places(answer, ids)
        try:
            numbers = [float(item) for item in answer]
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
