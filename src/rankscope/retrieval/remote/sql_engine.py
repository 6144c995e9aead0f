"""What engines that speak SQL share: fields in columns, safe loading by several, and fusion.

Documents are loaded in the order of ids from high to low and have their position as key, so equal
scores are in the right order if positions are. A table of states says of each index how many
documents it holds; it is changed in the same transaction in which they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, counted, shown
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import Capabilities, Query, Ranking
from rankscope.retrieval.registry import Context
from rankscope.retrieval.remote.loaded_engine import Batch, LoadedEngine, LoadedOptions, Loading
from rankscope.retrieval.texts import field_text


class RankFusion(Options):
    """Reciprocal rank fusion of words and vectors, in the database."""

    k: float = Field(default=60.0, ge=0.0)
    """Added to each rank: the higher, the less the first places count."""
    words: float = Field(default=1.0, gt=0.0)
    """How much the text search counts."""
    vectors: float = Field(default=1.0, gt=0.0)
    """How much the vector search counts."""
    candidates: int = Field(default=1000, ge=1, le=100_000)
    """How many documents of each search take part."""


class SqlOptions(LoadedOptions):
    """What engines that speak SQL are told."""

    of_fusion: ClassVar[tuple[str, ...]] = ("fusion",)

    fusion: RankFusion = Field(default_factory=RankFusion)
    """How a hybrid search puts words and vectors together: {k: 60, words: 1, vectors: 1,
    candidates: 1000}."""


@dataclass(frozen=True, slots=True)
class State:
    """What a database says of an index: what it is of, how far it is, and the number it has."""

    content: str
    documents: int
    is_complete: bool
    number: int = 0


class SqlEngine(LoadedEngine):
    """An engine that speaks SQL and holds the corpus."""

    options: SqlOptions

    def __init__(self, options: SqlOptions, context: Context) -> None:
        super().__init__(options, context)
        self._columns: dict[str, Sequence[Any]] = {}
        self._rows: dict[str, int] = {}
        self._steady_notes: tuple[str, ...] = ()
        self._empty_handed: set[str] = set()

    def promised(self, *, exact: bool, deterministic: bool, remote: bool) -> Capabilities:
        """Return what a search promises; vectors are no better than what makes them."""
        embedder = Capabilities.of() if self.embeddings is None else self.parts()[0].capabilities
        return Capabilities(
            deterministic=deterministic and embedder.deterministic,
            exact=exact and embedder.exact,
            ties="trec" if exact else "any",
            concurrent=True,  # embeddings are made one call at a time
            remote=remote or embedder.remote,
        )

    # --- the corpus ------------------------------------------------------------------------------

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        super().index(corpus)
        self._steady_notes = self.notes
        self._empty_handed.clear()
        names = self.options.fields or {}
        self._columns = {name: corpus.field(name) for name in names}
        self._rows = {doc_id: row for row, doc_id in enumerate(corpus.ids)} if names else {}

    @property
    def weights(self) -> list[int]:
        """How much each column of text counts."""
        return list((self.options.fields or {"": 1}).values())

    def column_texts(self, batch: Batch) -> list[list[str]]:
        """Return, for each document, the text of each field; without fields, all of its text."""
        if not self._columns:
            return [[text] for text in batch.texts]
        rows = [self._rows[doc_id] for doc_id in batch.doc_ids]
        return [
            [field_text(name, column[row]) for name, column in self._columns.items()]
            for row in rows
        ]

    # --- loading ---------------------------------------------------------------------------------

    def checked(self, state: State | None) -> Loading | None:
        """Return how far an index is.

        Raises:
            InputError: its name is one that was given, and it holds something else.
        """
        if state is None:
            return None
        if state.content != self.content_name:
            raise InputError(
                f"the index {shown(self.index_name)} of {self.kind} holds other documents, or was "
                "made with other options; give another name as index, or drop it first"
            )
        return Loading(state.documents, state.is_complete)

    def rest_of(self, batch: Batch, state: State | None) -> Batch | None:
        """Return what of a batch is not loaded yet; None: somebody else has loaded all of it."""
        if state is None or state.content != self.content_name or state.documents < batch.first:
            raise InputError(
                f"the index {shown(self.index_name)} of {self.kind} was dropped while it was "
                "loaded; run again"
            )
        skipped = state.documents - batch.first
        if skipped >= len(batch.doc_ids):
            return None
        return replace(
            batch,
            first=state.documents,
            doc_ids=batch.doc_ids[skipped:],
            texts=batch.texts[skipped:],
            vectors=None if batch.vectors is None else batch.vectors[skipped:],
            values=batch.values[skipped:],
        )

    # --- searching -------------------------------------------------------------------------------

    advice = ""
    """What to do where a query finds nothing, because not all of its words are in a document."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query, and note how many found nothing."""
        answers = super().search(queries, depth)
        if self.advice and self.options.search == "text" and self.texts is not None:
            self._empty_handed.update(
                query.query_id
                for query, answer in zip(queries, answers, strict=True)
                if query.text.strip() and answer.error is None and not answer.doc_ids
            )
            if self._empty_handed:
                count = counted(len(self._empty_handed), "query")
                self.notes = (*self._steady_notes, f"{count} found nothing; {self.advice}")
        return answers


def fused(words: str, near: str, fusion: RankFusion) -> str:
    """Return SQL that puts two searches together, each SQL for positions and scores.

    A document gets ``weight / (k + rank)`` from each search that finds it.
    """
    words = _ranked("words", words, fusion.words, fusion.k)
    near = _ranked("near", near, fusion.vectors, fusion.k)
    return (
        f"WITH {words}, {near} SELECT position, sum(share) AS score FROM "
        "(SELECT position, share FROM words UNION ALL SELECT position, share FROM near) AS shares "
        "GROUP BY position"
    )


def _ranked(name: str, search: str, weight: float, k: float) -> str:
    rank = "row_number() OVER (ORDER BY score DESC, position)"
    return (
        f"{name} AS (SELECT position, CAST({weight!r} AS double precision) / ({k!r} + {rank}) "
        f"AS share FROM ({search}) AS answers)"
    )
