"""The lists of several runs, ranked and put side by side: what normalisations and methods look at.

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
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.runs.order import Floats, Ints
    from rankscope.runs.table import Run


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """One run's documents for some queries, by query and best first; all is given by row."""

    query: Ints
    """The number of the query among these."""
    rank: Ints
    """From 1."""
    size: Ints
    """The length of the list that the row is in."""
    score: Floats
    doc_id: pl.Series

    @classmethod
    def of(cls, run: Run, low: int, high: int) -> Ranking:
        """Take the queries from number ``low`` to before ``high`` of a run that is best first."""
        begins, size = run.offsets[low:high], run.sizes[low:high]
        begin, count = int(run.offsets[low]), int(size.sum())
        return cls(
            np.repeat(np.arange(high - low), size),
            np.arange(begin + 1, begin + count + 1) - np.repeat(begins, size),
            np.repeat(size, size),
            run.scores.slice(begin, count).to_numpy(),
            run.doc_ids.slice(begin, count),
        )

    @property
    def first(self) -> Ints:
        """The row of the best document of each list."""
        return np.flatnonzero(self.rank == 1)

    @property
    def last(self) -> Ints:
        """The row of the worst document of each list."""
        return np.flatnonzero(self.rank == self.size)

    def spread(self, values: Floats) -> Floats:
        """Return by row what is given by list."""
        return np.repeat(values, self.size[self.first])


class SideBySide:
    """Several runs side by side: their queries in order of first appearance, or those ``only``."""

    def __init__(self, runs: Sequence[Run], only: Sequence[str] | None = None) -> None:
        known = dict.fromkeys(chain(*(run.query_ids for run in runs)))
        self.query_ids = [q for q in (known if only is None else only) if q in known]
        self.runs = [run.answers(self.query_ids) for run in runs]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of queries that are looked at together."""
        return order.blocks(np.max([run.sizes for run in self.runs], axis=0))

    def pools(self) -> Iterator[Pool]:
        """Yield what the runs returned, block by block."""
        for low, high in self.blocks():
            yield Pool.of([Ranking.of(run, low, high) for run in self.runs], low, high)


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
        listed = [pl.DataFrame({"query": r.query, "doc_id": r.doc_id}) for r in rankings]
        known = pl.concat(listed).unique(maintain_order=True).with_row_index("at")
        candidate = tuple(
            rows.join(known, on=["query", "doc_id"], maintain_order="left")["at"].to_numpy()
            for rows in listed
        )
        query = known["query"].to_numpy()
        return cls(low, high - low, tuple(rankings), candidate, query, known["doc_id"])

    def table(self, columns: Iterable[NDArray[np.generic]]) -> Floats:
        """Return the table of values given by run and row, of shape (candidates, runs)."""
        table = np.full((len(self.query), len(self.rankings)), np.nan)
        for which, values in enumerate(columns):
            table[self.candidate[which], which] = values
        return table

    @cached_property
    def score(self) -> Floats:
        """The table of scores as given."""
        return self.table(ranking.score for ranking in self.rankings)

    @cached_property
    def rank(self) -> Floats:
        """The table of ranks, from 1."""
        return self.table(ranking.rank for ranking in self.rankings)

    @cached_property
    def by_query(self) -> Ints:
        """The candidates, query by query."""
        return np.argsort(self.query, kind="stable")

    @cached_property
    def candidates(self) -> Ints:
        """By query: how many candidates there are."""
        return np.bincount(self.query, minlength=self.queries)

    @cached_property
    def borda_points(self) -> Floats:
        """The table of Borda's points, without an empty cell.

        A run gives its best candidate as many points as there are candidates, the next one less,
        and shares what is left among those that it did not return.
        """
        count = self.candidates[self.query][:, None]
        sizes = [np.bincount(r.query, minlength=self.queries) for r in self.rankings]
        shared = (count - np.transpose(sizes)[self.query] + 1) / 2
        return np.where(np.isnan(self.rank), shared, count - self.rank + 1)
