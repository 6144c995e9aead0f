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
    def row_size(self) -> Ints:
        """The length of the list that each row is in."""
        return np.repeat(self.size, self.size)

    @property
    def rank(self) -> Ints:
        """The rank of each row, from 1."""
        return np.arange(1, len(self.score) + 1) - np.repeat(self.first, self.size)


class SideBySide:
    """Several runs side by side: their queries in order of first appearance, or those ``only``."""

    def __init__(self, runs: Sequence[Run], only: Sequence[str] | None = None) -> None:
        self.runs = tuple(runs)
        known = dict.fromkeys(chain(*(run.query_ids for run in runs)))
        self.query_ids = [q for q in (known if only is None else only) if q in known]
        self._groups = []  # by run: where it has each query; -1 where it lacks it
        for run in runs:
            place = {query_id: at for at, query_id in enumerate(run.query_ids)}
            self._groups.append(np.array([place.get(q, -1) for q in self.query_ids], np.int64))

    def sizes(self, which: int) -> Ints:
        """Return how many documents a run has for each query."""
        return np.append(self.runs[which].sizes, 0)[self._groups[which]]  # -1 takes the last

    def ranking(self, which: int, low: int, high: int) -> Ranking:
        """Return one run's documents for the queries from ``low`` to before ``high``."""
        run, size = self.runs[which], self.sizes(which)[low:high]
        query = np.flatnonzero(size)
        group, size = self._groups[which][low:high][query], size[query]
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
        listed = [pl.DataFrame({"query": r.row_query, "doc_id": r.doc_id}) for r in rankings]
        known = listed[0].with_row_index("at").cast({"at": pl.Int64})
        candidate = [np.arange(known.height)]
        for rows in listed[1:]:
            joined = rows.join(known, on=["query", "doc_id"], how="left", maintain_order="left")
            new = joined["at"].is_null().to_numpy()
            at = joined["at"].fill_null(0).to_numpy().copy()
            at[new] = np.arange(known.height, known.height + np.count_nonzero(new))
            added = rows.filter(new).select(pl.Series("at", at[new]), "query", "doc_id")
            known = pl.concat([known, added])
            candidate.append(at)
        query, doc_id = known["query"].to_numpy(), known["doc_id"]
        return cls(low, high - low, tuple(rankings), tuple(candidate), query, doc_id)

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
        size = np.zeros((self.queries, len(self.rankings)))
        for which, ranking in enumerate(self.rankings):
            size[ranking.query, which] = ranking.size
        shared = (count - size[self.query] + 1) / 2
        return np.where(np.isnan(self.rank), shared, count - self.rank + 1)
