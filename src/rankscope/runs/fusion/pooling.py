"""The lists of several runs, ranked and put side by side: what every fusion method looks at.

Between runs and fusion. `best_first` is the one place here that orders documents: of the runs that
go in, and of the run that comes out. Work goes block of queries by block of queries, so that
memory does not grow with the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.runs.table import Run

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["Pool", "Ranking", "Side", "best_first"]

BLOCK = 1 << 17
"""About how many rows of one run are looked at together."""


def best_first(query: Ints, score: Floats, doc_id: pl.Series) -> Ints | None:
    """Return the order by query, then score from high to low, then id from high to low by bytes.

    This is trec_eval's rule. None says that the rows stand in this order already.
    """
    same = query[1:] == query[:-1]
    if not (same & (score[1:] >= score[:-1])).any() and (query[1:] >= query[:-1]).all():
        return None
    order = np.argsort(-score)  # in no order among equals, who are put in theirs below
    small = np.uint16 if len(query) and query.max() <= np.iinfo(np.uint16).max else np.int64
    order = order[np.argsort(query[order].astype(small), kind="stable")]  # 16 bits: a radix sort
    query, score = query[order], score[order]
    tied = np.zeros(len(order) + 1, np.bool_)  # whether a row ties with the one before it
    tied[1:-1] = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    members = np.flatnonzero(tied[:-1] | tied[1:])
    if members.size:
        rows = order[members]
        by_id = pl.DataFrame(
            {"tie": np.cumsum(~tied[members]), "doc_id": doc_id.gather(rows), "row": rows}
        ).sort("tie", "doc_id", descending=[False, True])
        order[members] = by_id["row"].to_numpy()
    return order


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """One run's documents for some queries, by query and best first.

    ``query`` numbers the queries that have documents, rising; the documents of the i-th of them
    are the rows from ``first[i]`` on, ``size[i]`` of them.
    """

    query: Ints
    first: Ints
    size: Ints
    score: Floats
    doc_id: pl.Series

    @property
    def last(self) -> Ints:
        """The row of the worst document of each query."""
        return self.first + self.size - 1

    @property
    def row_query(self) -> Ints:
        """The query of each row."""
        return np.repeat(self.query, self.size)

    @property
    def rank(self) -> Ints:
        """The rank of each row, from 1."""
        return np.arange(1, len(self.score) + 1) - np.repeat(self.first, self.size)

    def total(self, values: Floats) -> Floats:
        """Add up by query what is given by row."""
        return np.add.reduceat(values, self.first) if self.first.size else np.empty(0)


class Side:
    """Several runs side by side: their queries in order of first appearance."""

    def __init__(self, runs: Sequence[Run], only: Sequence[str] | None = None) -> None:
        self.runs = tuple(runs)
        self.query_ids = list(dict.fromkeys(q for run in runs for q in run.query_ids))
        if only is not None:
            known = set(self.query_ids)
            self.query_ids = [query_id for query_id in only if query_id in known]
        self._groups = [self._places(run) for run in runs]

    def _places(self, run: Run) -> Ints:
        """Return where a run has each query; -1 where it lacks it."""
        place = {query_id: at for at, query_id in enumerate(run.query_ids)}
        return np.array([place.get(query_id, -1) for query_id in self.query_ids], np.int64)

    def sizes(self, which: int) -> Ints:
        """Return how many documents a run has for each query."""
        group = self._groups[which]
        return np.append(np.diff(self.runs[which].offsets), 0)[group]  # -1 takes the last

    def ranking(self, which: int, low: int, high: int) -> Ranking:
        """Return one run's documents for the queries from ``low`` to before ``high``."""
        run, group = self.runs[which], self._groups[which][low:high]
        size = self.sizes(which)[low:high]
        query = np.flatnonzero(size)
        group, size = group[query], size[query]
        first = np.cumsum(size) - size
        if group.size and (np.diff(group) == 1).all():  # they stand together, as they mostly do
            begin, count = int(run.offsets[group[0]]), int(size.sum())
            score, doc_id = run.scores.slice(begin, count), run.doc_ids.slice(begin, count)
        else:
            rows = np.arange(size.sum()) + np.repeat(run.offsets[group] - first, size)
            score, doc_id = run.scores.gather(rows), run.doc_ids.gather(rows)
        values = score.to_numpy()
        order = best_first(np.repeat(query, size), values, doc_id)
        if order is not None:
            values, doc_id = values[order], doc_id.gather(order)
        return Ranking(query, first, size, values, doc_id)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of queries that are looked at together."""
        if not self.query_ids:
            return
        rows = np.max([self.sizes(which) for which in range(len(self.runs))], axis=0)
        block = (np.cumsum(rows) - rows) // BLOCK
        edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(self.query_ids)]
        yield from pairwise(edges)

    def pools(self) -> Iterator[Pool]:
        """Yield what the runs returned, block by block."""
        for low, high in self.blocks():
            rankings = [self.ranking(which, low, high) for which in range(len(self.runs))]
            yield Pool.of(rankings, low, high)


@dataclass(frozen=True, eq=False)
class Pool:
    """All documents that any run returned for some queries: the candidates.

    A table of candidates (rows) and runs (columns) is what methods compute with; NaN stands where
    a run did not return a candidate.
    """

    low: int
    """The number of the first query among all; queries are numbered from 0 within the pool."""
    queries: int
    rankings: tuple[Ranking, ...]
    candidate: tuple[Ints, ...]
    """By run and row of its ranking: the candidate."""
    query: Ints
    """By candidate: its query."""
    doc_id: pl.Series
    """By candidate: its document."""

    @classmethod
    def of(cls, rankings: Sequence[Ranking], low: int, high: int) -> Pool:
        """Find out which rows of several runs are the same document of the same query."""
        known = _rows(rankings[0]).with_row_index("at").cast({"at": pl.Int64})
        candidate = [np.arange(known.height)]
        for ranking in rankings[1:]:
            rows = _rows(ranking)
            found = rows.join(known, on=["query", "doc_id"], how="left", maintain_order="left")
            new = found["at"].is_null().to_numpy()
            at = found["at"].fill_null(0).to_numpy().copy()
            at[new] = np.arange(known.height, known.height + np.count_nonzero(new))
            added = rows.filter(new).select(pl.Series("at", at[new]), "query", "doc_id")
            known = pl.concat([known, added])
            candidate.append(at)
        return cls(
            low,
            high - low,
            tuple(rankings),
            tuple(candidate),
            known["query"].to_numpy(),
            known["doc_id"],
        )

    def table(
        self, columns: Sequence[NDArray[np.generic]], absent: Sequence[Floats] | None = None
    ) -> Floats:
        """Return the table of values given by run and row.

        Where a run did not return a candidate stands NaN, or what ``absent`` says by run and query.
        """
        made = np.full((len(self.query), len(columns)), np.nan)
        for which, values in enumerate(columns):
            if absent is not None:
                made[:, which] = absent[which][self.query]
            made[self.candidate[which], which] = values
        return made

    @cached_property
    def rank(self) -> Floats:
        """The table of ranks, from 1."""
        return self.table([ranking.rank for ranking in self.rankings])

    @cached_property
    def found(self) -> Ints:
        """By candidate: how many runs returned it."""
        return np.bincount(np.concatenate(self.candidate), minlength=len(self.query))

    @cached_property
    def candidates(self) -> Ints:
        """By query: how many candidates there are."""
        return np.bincount(self.query, minlength=self.queries)

    def size(self, which: int) -> Ints:
        """By query: how many documents a run returned."""
        ranking = self.rankings[which]
        made = np.zeros(self.queries, np.int64)
        made[ranking.query] = ranking.size
        return made


def _rows(ranking: Ranking) -> pl.DataFrame:
    return pl.DataFrame({"query": ranking.row_query, "doc_id": ranking.doc_id})
