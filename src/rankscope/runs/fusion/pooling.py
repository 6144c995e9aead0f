"""The lists of several runs, ranked and put side by side: what every fusion method looks at.

Between runs and fusion. Work goes block of queries by block of queries, so that the memory it
takes does not grow with the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.runs import order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.runs.order import Floats, Ints
    from rankscope.runs.table import Run


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


class SideBySide:
    """Several runs side by side: their queries in order of first appearance."""

    def __init__(self, runs: Sequence[Run], only: Sequence[str] | None = None) -> None:
        self.runs = tuple(runs)
        self.query_ids = list(dict.fromkeys(chain(*(run.query_ids for run in runs))))
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
        return np.append(self.runs[which].sizes, 0)[group]  # -1 takes the last

    def ranking(self, which: int, low: int, high: int) -> Ranking:
        """Return one run's documents for the queries from ``low`` to before ``high``."""
        run, group = self.runs[which], self._groups[which][low:high]
        size = self.sizes(which)[low:high]
        query = np.flatnonzero(size)
        group, size = group[query], size[query]
        best = run.best_first()
        if best is None and group.size and (np.diff(group) == 1).all():  # one stretch of rows
            begin, count = int(run.offsets[group[0]]), int(size.sum())
            score, doc_id = run.scores.slice(begin, count), run.doc_ids.slice(begin, count)
        else:
            rows, _ = order.rows_of(run.offsets, group)
            rows = rows if best is None else best[rows]
            score, doc_id = run.scores.gather(rows), run.doc_ids.gather(rows)
        return Ranking(query, np.cumsum(size) - size, size, score.to_numpy(), doc_id)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of queries that are looked at together."""
        largest = np.max([self.sizes(which) for which in range(len(self.runs))], axis=0)
        return order.blocks(largest)

    def pools(self) -> Iterator[Pool]:
        """Yield what the runs returned, block by block."""
        for low, high in self.blocks():
            rankings = [self.ranking(which, low, high) for which in range(len(self.runs))]
            yield Pool.of(rankings, low, high)


@dataclass(frozen=True, eq=False)
class Pool:
    """All documents that any run returned for some queries: the candidates.

    A table of candidates (rows) and runs (columns) is what methods compute with; a cell is NaN
    where a run did not return a candidate.
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
        """Find the rows of several runs that are the same document of the same query."""
        known = _rows(rankings[0]).with_row_index("at").cast({"at": pl.Int64})
        candidate = [np.arange(known.height)]
        for ranking in rankings[1:]:
            rows = _rows(ranking)
            joined = rows.join(known, on=["query", "doc_id"], how="left", maintain_order="left")
            new = joined["at"].is_null().to_numpy()
            at = joined["at"].fill_null(0).to_numpy().copy()
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
        """Return the table of values given by run and row, of shape (candidates, runs).

        Where a run did not return a candidate it is NaN, or what ``absent`` says by run and query.
        """
        table = np.full((len(self.query), len(columns)), np.nan)
        for which, values in enumerate(columns):
            if absent is not None:
                table[:, which] = absent[which][self.query]
            table[self.candidate[which], which] = values
        return table

    @cached_property
    def rank(self) -> Floats:
        """The table of ranks, from 1."""
        return self.table([ranking.rank for ranking in self.rankings])

    @cached_property
    def returned(self) -> Ints:
        """By candidate: how many runs returned it."""
        return np.bincount(np.concatenate(self.candidate), minlength=len(self.query))

    @cached_property
    def by_query(self) -> Ints:
        """The candidates, query by query."""
        return np.argsort(self.query, kind="stable")

    @cached_property
    def candidates(self) -> Ints:
        """By query: how many candidates there are."""
        return np.bincount(self.query, minlength=self.queries)

    def size(self, which: int) -> Ints:
        """By query: how many documents a run returned."""
        ranking = self.rankings[which]
        sizes = np.zeros(self.queries, np.int64)
        sizes[ranking.query] = ranking.size
        return sizes


def _rows(ranking: Ranking) -> pl.DataFrame:
    return pl.DataFrame({"query": ranking.row_query, "doc_id": ranking.doc_id})
