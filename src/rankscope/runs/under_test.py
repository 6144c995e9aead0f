"""A run's rows under test: what its checks share, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from rankscope.findings import PLACES_SHOWN, CannotLookError, Place, Seen
from rankscope.runs.table import scores_of
from rankscope.tables.row_checks import seen_rows
from rankscope.tables.rows import as_ids, as_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rankscope.collection.qrels import Qrels
    from rankscope.tables.rows import Rows


@dataclass(eq=False)
class RunUnderTest:
    """A run's rows, and what they are held against.

    What was not given raises `CannotLookError` when a check asks for it.
    """

    rows: Rows
    max_depth: int = 100
    strict: bool = False
    format: str | None = None
    judgments: Qrels | str = "no qrels were given"
    """Judgments, or why there are none."""
    queries: list[str] | None = None
    """The queries that should be answered."""
    corpus_ids: Callable[[], Iterable[str]] | None = None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows as they are in the file: ids, score and rank, null where there is no number."""
        columns = [as_ids(self.rows.frame[name], self.rows) for name in ("query_id", "doc_id")]
        if "rank" in self.rows.frame.columns:
            columns.append(as_numbers(self.rows.frame["rank"]).cast(pl.Float64).fill_nan(None))
        columns.append(self.given_scores.fill_nan(None))
        return pl.DataFrame([columns[0].cast(pl.String), columns[1].cast(pl.String), *columns[2:]])

    @cached_property
    def by_query(self) -> pl.DataFrame:
        """A row for each query with documents: how many, and what its scores do."""
        score = pl.col("score")
        falling = score.sort(descending=True, nulls_last=True)
        made = {
            "documents": pl.len(),
            "is_deep": pl.len() > self.max_depth,
            "rises": (score.diff() > 0).any(),
            "ties": score.drop_nulls().is_duplicated().any(),
            "is_level": (score.n_unique() == 1) & (pl.len() > 1),
        }
        for cutoff in self.cuts:
            is_tied = falling.slice(cutoff - 1, 2).n_unique() == 1
            made[f"tie_at_{cutoff}"] = is_tied & (pl.len() > cutoff)
        if self.has_ranks:
            by_rank = score.sort_by("rank", nulls_last=True, maintain_order=True)
            made["rises_by_rank"] = (by_rank.diff() > 0).any()
        return self.frame.group_by("query_id", maintain_order=True).agg(**made)

    def where(self, column: str) -> list[str]:
        """Return the queries in which something is so."""
        return self.by_query.filter(column)["query_id"].to_list()

    @property
    def lengths(self) -> list[int]:
        """How many documents the queries have."""
        return self.by_query["documents"].to_list()

    @property
    def cuts(self) -> list[int]:
        """The ranks at which ties are looked for: that of many measures, and the depth."""
        return sorted({10, self.max_depth})

    @property
    def tied_documents(self) -> int:
        """How many documents share a score with another one of their query."""
        scored = self.frame.select("query_id", "score").drop_nulls().to_struct()
        return int(scored.is_duplicated().sum())

    @cached_property
    def several(self) -> int:
        """How many queries have two documents or more."""
        return sum(length > 1 for length in self.lengths)

    @cached_property
    def given_scores(self) -> pl.Series:
        """The scores, null where there is no number, or minus the ranks."""
        return scores_of(self.rows)

    @property
    def has_ranks(self) -> bool:
        """Whether there is a column of ranks."""
        return "rank" in self.rows.frame.columns

    @property
    def has_scores(self) -> bool:
        """Whether there is a column of scores, and not of ranks only."""
        return "score" in self.rows.frame.columns

    @property
    def query_ids(self) -> list[str]:
        """The queries, with those that have no document."""
        return [*self.by_query["query_id"], *self.rows.empty_queries]

    # --- what the run is held against

    @property
    def qrels(self) -> Qrels:
        """The judgments."""
        if isinstance(self.judgments, str):
            raise CannotLookError(self.judgments)
        return self.judgments

    @property
    def listed_queries(self) -> list[str]:
        """The queries that should be answered."""
        if self.queries is None:
            raise CannotLookError("no queries were given")
        return self.queries

    def missing(self, query_ids: list[str]) -> list[str]:
        """Return the queries that the run lacks; a strict look wants a document for each."""
        answered = set(self.by_query["query_id"] if self.strict else self.query_ids)
        return [query_id for query_id in query_ids if query_id not in answered]

    @cached_property
    def outside(self) -> tuple[set[str], set[str]]:
        """The documents that the run names, and those that the qrels name, outside the corpus."""
        if self.corpus_ids is None:
            raise CannotLookError("no corpus was given")
        named = set(self.frame["doc_id"].unique())
        judged = set() if isinstance(self.judgments, str) else set(self.judgments.doc_ids)
        for doc_id in self.corpus_ids():
            named.discard(doc_id)
            judged.discard(doc_id)
        return named, judged

    # --- what was seen, and where

    def seen_rows(self, message: str, bad: pl.Series) -> Seen | None:
        """Say something about the rows that are bad; nothing if there are none."""
        return seen_rows(message, self.rows, bad.arg_true())

    def repeats(self, column: str) -> pl.Series:
        """Tell which rows have a value that their query had before."""
        return ~self.frame.select("query_id", column).to_struct().is_first_distinct()

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
