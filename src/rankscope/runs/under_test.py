"""A run's rows under test: what its checks share, computed once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.findings import PLACES_SHOWN, CannotLookError, Place, Seen
from rankscope.runs import order
from rankscope.runs.run_rows import scores_of
from rankscope.tables.grouping import Groups, group_by_query
from rankscope.tables.rows import as_ids, as_numbers

if TYPE_CHECKING:
    from rankscope.collection.qrels import Qrels
    from rankscope.runs.order import Bools, Floats, Ints
    from rankscope.runs.validation import Reference
    from rankscope.tables.rows import Rows

FLAT = frozenset({"csv", "tsv", "parquet"})
"""Formats with a row for each query and document, as SQL exports them: in any order."""


class RunUnderTest:
    """A run's rows with what the checks share: groups, scores, the order by rank.

    Arrays are in grouped order: all rows of a query together, as given within it. What the run is
    held against raises `CannotLookError` where it was not given.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        max_depth: int = 100,
        strict: bool = False,
        format: str | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.rows = rows
        self.max_depth = max_depth
        self.strict = strict
        self.format = format
        self._reference = reference

    @cached_property
    def groups(self) -> Groups:
        """Rows by query."""
        query_id = as_ids(self.rows.frame["query_id"], self.rows)
        return group_by_query(query_id.fill_null("") if query_id.null_count() else query_id)

    def _grouped(self, column: pl.Series) -> pl.Series:
        return column if self.groups.order is None else column.gather(self.groups.order)

    @property
    def offsets(self) -> Ints:
        """Where each query's rows begin."""
        return self.groups.offsets

    @cached_property
    def lengths(self) -> Ints:
        """How many rows each query has."""
        return np.diff(self.offsets)

    @cached_property
    def answered(self) -> list[str]:
        """The queries with documents."""
        return self.groups.query_ids.to_list()

    @property
    def query_ids(self) -> list[str]:
        """The queries, with those that have no document."""
        return [*self.answered, *self.rows.empty_queries]

    def missing(self, query_ids: list[str]) -> list[str]:
        """Return the queries that the run lacks; a strict look wants a document for each."""
        answered = set(self.answered if self.strict else self.query_ids)
        return [query_id for query_id in query_ids if query_id not in answered]

    @cached_property
    def doc_id(self) -> pl.Series:
        """The document of every row."""
        return self._grouped(as_ids(self.rows.frame["doc_id"], self.rows).cast(pl.String))

    @cached_property
    def score(self) -> Floats:
        """The score of every row; NaN where there is no number."""
        return self._grouped(scores_of(self.rows)).fill_null(float("nan")).to_numpy()

    @cached_property
    def by_rank(self) -> tuple[Ints, Floats] | None:
        """The rows of each query by rank, with their ranks; NaN where there is no number, last.

        None without a column of ranks.
        """
        if "rank" not in self.rows.frame.columns:
            return None
        column = as_numbers(self.rows.frame["rank"]).cast(pl.Float64)
        rank = self._grouped(column).fill_null(float("nan")).to_numpy()
        rows = order.best_first(self.offsets, -rank, self.doc_id.gather, ties="given")
        rows = np.arange(len(rank)) if rows is None else rows
        return rows, rank[rows]

    @cached_property
    def same_query(self) -> Bools:
        """Whether row i and row i + 1 belong to one query."""
        same = np.ones(max(int(self.offsets[-1]) - 1, 0), bool)
        same[self.offsets[1:-1] - 1] = False  # no group is empty
        return same

    # --- what the run is held against

    @property
    def qrels(self) -> Qrels:
        """The judgments."""
        if self._reference is None or self._reference.qrels is None:
            is_broken = self._reference is not None and self._reference.findings
            raise CannotLookError("the qrels have errors" if is_broken else "no qrels were given")
        return self._reference.qrels

    @property
    def listed_queries(self) -> list[str]:
        """The queries that should be answered."""
        if self._reference is None or self._reference.query_ids is None:
            raise CannotLookError("no queries were given")
        return self._reference.query_ids

    @property
    def has_corpus(self) -> bool:
        """Whether a corpus was given."""
        return self._reference is not None and self._reference.corpus_ids is not None

    @cached_property
    def absent(self) -> tuple[set[str], set[str]]:
        """The documents that the run names, and those that the qrels name, outside the corpus."""
        if self._reference is None or self._reference.corpus_ids is None:
            raise CannotLookError("no corpus was given")
        qrels = self._reference.qrels
        named = set(self.doc_id.unique().to_list())
        judged = set() if qrels is None else set(qrels.doc_ids.unique().to_list())
        for doc_id in self._reference.corpus_ids():
            named.discard(doc_id)
            judged.discard(doc_id)
        return named, judged

    # --- what was seen, and where

    def seen(self, message: str, positions: Ints) -> Seen | None:
        """Say something about rows at some positions; nothing if there are none."""
        if not positions.size:
            return None
        rows = positions if self.groups.order is None else self.groups.order[positions]
        if len(rows) > PLACES_SHOWN:  # the first, in the order of the file
            rows = np.partition(rows, PLACES_SHOWN)[:PLACES_SHOWN]
        places = tuple(self.rows.place(int(row)) for row in np.sort(rows))
        return Seen(message, len(positions), places)

    def seen_queries(self, message: str, query_ids: list[str], **evidence: object) -> Seen | None:
        """Say something about queries; nothing if there are none."""
        if not query_ids:
            return None
        source = self.rows.source
        places = tuple(Place(source, query_id=query_id) for query_id in query_ids[:PLACES_SHOWN])
        return Seen(message, len(query_ids), places, evidence)

    def seen_run(self, message: str) -> Seen:
        """Say something about the run as a whole."""
        return Seen(message, places=(Place(self.rows.source),))

    def queries_where(self, pairs: Bools) -> list[str]:
        """Return the queries with a marked pair of rows i and i + 1."""
        numbers = np.unique(order.groups_of(self.offsets, np.flatnonzero(pairs & self.same_query)))
        return [self.answered[number] for number in numbers.tolist()]
