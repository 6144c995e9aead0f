"""The lists of several runs, put side by side and brought to one scale: what methods look at.

Between runs and fusion. Work goes block of queries by block of queries, so that the memory it
takes does not grow with the runs. A rule of normalisation is one function; none depends on the unit
of the scores. docs/how-to/fuse-and-train.md has the formulas and where they are from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import UnknownNameError
from rankscope.runs import order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.runs.order import Floats, Ints
    from rankscope.runs.table import Run


class SideBySide:
    """Several runs side by side: their queries in order of first appearance, or those ``only``."""

    def __init__(self, runs: Sequence[Run], only: Sequence[str] | None = None) -> None:
        known = dict.fromkeys(chain(*(run.query_ids for run in runs)))
        self.query_ids = [q for q in (known if only is None else only) if q in known]
        self.runs = [run.answers(self.query_ids) for run in runs]
        self.sizes = np.array([run.sizes for run in self.runs])

    def pools(self) -> Iterator[Pool]:
        """Yield what the runs returned, block by block."""
        for low, high in order.blocks(self.sizes.max(axis=0)):
            yield Pool.of(self.runs, low, high)


@dataclass(frozen=True, eq=False)
class Pool:
    """What some runs returned for some queries, and the candidates: all documents among that.

    A row is a document that a run returned for a query; rows go run by run, query by query, best
    first. A table of candidates (rows) and runs (columns) is what methods compute with; a cell is
    NaN where a run did not return a candidate.
    """

    low: int
    """The number of the first query among all; queries are numbered from 0 within the pool."""
    queries: int
    runs: int
    run: Ints
    """By row: the number of the run."""
    query: Ints
    """By row: the number of the query."""
    rank: Ints
    """By row: from 1."""
    size: Ints
    """By row: the length of the list that it is in."""
    score: Floats
    """By row."""
    rows: pl.DataFrame
    """By row: query and doc_id."""

    @classmethod
    def of(cls, runs: Sequence[Run], low: int, high: int) -> Pool:
        """Take the queries from number ``low`` to before ``high`` of runs that are best first."""
        size = np.concatenate([run.sizes[low:high] for run in runs])
        run, query = np.divmod(np.repeat(np.arange(len(size)), size), high - low)
        columns = [
            (each.doc_ids[begin:end], each.scores[begin:end].to_numpy())
            for each in runs
            for begin, end in [each.offsets[[low, high]].tolist()]
        ]
        return cls(
            low=low,
            queries=high - low,
            runs=len(runs),
            run=run,
            query=query,
            rank=np.arange(1, len(query) + 1) - np.repeat(np.cumsum(size) - size, size),
            size=np.repeat(size, size),
            score=np.concatenate([scores for _, scores in columns]),
            rows=pl.DataFrame({"query": query, "doc_id": pl.concat([ids for ids, _ in columns])}),
        )

    @cached_property
    def known(self) -> pl.DataFrame:
        """The candidates: query and doc_id."""
        return self.rows.unique(maintain_order=True)

    @cached_property
    def candidate(self) -> Ints:
        """By row: the number of the candidate."""
        numbered = self.known.with_row_index("number")
        placed = self.rows.join(numbered, on=["query", "doc_id"], maintain_order="left")
        return placed["number"].to_numpy()

    @cached_property
    def query_of(self) -> Ints:
        """By candidate: its query."""
        return self.known["query"].to_numpy()

    def table(self, values: NDArray[np.generic]) -> Floats:
        """Return the table of values given by row."""
        table = np.full((len(self.query_of), self.runs), np.nan)
        table[self.candidate, self.run] = values
        return table

    @cached_property
    def first(self) -> Ints:
        """The row of the best document of each list."""
        return np.flatnonzero(self.rank == 1)

    @cached_property
    def last(self) -> Ints:
        """The row of the worst document of each list."""
        return np.flatnonzero(self.rank == self.size)

    def spread(self, values: Floats) -> Floats:
        """Return by row what is given by list."""
        return np.repeat(values, self.size[self.first])

    def total(self, values: Floats) -> Floats:
        """Add up by list what is given by row, and return the total by row."""
        return self.spread(np.add.reduceat(values, self.first) if values.size else values)

    @cached_property
    def by_query(self) -> Ints:
        """The candidates, query by query."""
        return np.argsort(self.query_of, kind="stable")

    @cached_property
    def candidates(self) -> Ints:
        """By query: how many candidates there are."""
        return np.bincount(self.query_of, minlength=self.queries)

    def borda_points(self) -> Floats:
        """Return the table of Borda's points, without an empty cell.

        A run gives its best candidate as many points as there are candidates, the next one less,
        and shares what is left among those that it did not return.
        """
        sizes = np.zeros((self.queries, self.runs))
        sizes[self.query[self.first], self.run[self.first]] = self.size[self.first]
        count, rank = self.candidates[self.query_of][:, None], self.table(self.rank)
        return np.where(np.isnan(rank), (count - sizes[self.query_of] + 1) / 2, count - rank + 1)


# --- normalisation: the scores of different systems on one scale, query by query ------------------


def plain_name(name: object) -> str:
    """Return a name as it is looked up: min-max, Min_Max and minmax are the same."""
    return str(name).casefold().replace("-", "").replace("_", "")


def normalisation_named(name: str) -> str:
    """Return the name of a rule, which may be ranx's; an unknown one is an error.

    >>> normalisation_named("min-max"), normalisation_named("ZMUV")
    ('minmax', 'zscore')
    """
    known = {"zmuv": "zscore"}.get(plain_name(name), plain_name(name))
    if known not in NORMALISATIONS:
        raise UnknownNameError("normalisation", str(name), NORMALISATIONS)
    return known


def _scaled(pool: Pool) -> tuple[Floats, Floats, Floats]:
    """Return by row the score, the list's highest and its lowest, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    high, low = (pool.spread(pool.score[end]) for end in (pool.first, pool.last))
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    return np.ldexp(pool.score, -exponent), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _divided(above: Floats, below: Floats, equal: Floats | float) -> Floats:
    """Divide; ``equal`` where there is 0 below, as all scores of the list are equal."""
    otherwise = np.broadcast_to(np.float64(equal), above.shape).copy()
    return np.divide(above, below, out=otherwise, where=below > 0)


def minmax(pool: Pool) -> Floats:
    """From 0 for the run's worst document to 1 for its best; of equal ones all are the best."""
    score, high, low = _scaled(pool)
    return pool.table(_divided(score - low, high - low, equal=1.0))


def zscore(pool: Pool) -> Floats:
    """How many standard deviations above the mean of the query's list; 0 if scores are equal."""
    score, high, low = _scaled(pool)
    above = score - pool.total(score) / pool.size
    deviation = np.sqrt(pool.total(above * above) / pool.size)
    return pool.table(_divided(above, np.where(high > low, deviation, 0.0), equal=0.0))


def rank(pool: Pool) -> Floats:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n."""
    return pool.table(1 - (pool.rank - 1) / pool.size)


def share(pool: Pool) -> Floats:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1."""
    score, _, low = _scaled(pool)
    return pool.table(_divided(score - low, pool.total(score - low), equal=1 / pool.size))


def part(pool: Pool) -> Floats:
    """A part of the query's best score; zero stays zero, unless scores are below it.

    Then the lowest becomes 0: dividing by a negative best would turn the list round.
    """
    score, high, low = _scaled(pool)
    zero = np.minimum(low, 0.0)
    return pool.table(_divided(score - zero, high - zero, equal=1.0))


def borda(pool: Pool) -> Floats:
    """Borda's points, as a share of the candidates; what a run did not return has some too."""
    return pool.borda_points() / pool.candidates[pool.query_of][:, None]


INVERTED = "minmaxinverted"
"""The rule for distances: minmax of runs that are turned round before they are ranked."""

NORMALISATIONS: dict[str, Callable[[Pool], Floats]] = {
    "minmax": minmax,
    INVERTED: minmax,
    "zscore": zscore,
    "rank": rank,
    "sum": share,
    "max": part,
    "borda": borda,
}
"""All rules by name, in order: each returns a table."""
