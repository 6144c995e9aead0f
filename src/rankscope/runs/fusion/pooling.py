"""The lists of several runs, put side by side and brought to one scale: what methods look at.

Between runs and fusion. Work goes block of queries by block of queries, so that the memory it
takes does not grow with the runs. A rule of normalisation is one function; none depends on the unit
of the scores. docs/reference/fusion.md has the formulas and where they are from.
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
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


# --- normalisation: the scores of different systems on one scale, query by query ------------------

INVERTED = "minmaxinverted"
"""The rule for distances: minmax of runs that are turned round before they are ranked."""

_OTHER_NAMES = {"zmuv": "zscore"}


def plain_name(name: object) -> str:
    """Return a name as it is looked up: min-max, Min_Max and minmax are the same."""
    return str(name).casefold().replace("-", "").replace("_", "")


def normalisation_named(name: str) -> str:
    """Return the name of a rule, which may be ranx's; an unknown one is an error.

    >>> normalisation_named("min-max"), normalisation_named("ZMUV")
    ('minmax', 'zscore')
    """
    known = _OTHER_NAMES.get(plain_name(name), plain_name(name))
    if known not in NORMALISATIONS:
        raise UnknownNameError("normalisation", str(name), NORMALISATIONS)
    return known


def normalised(pool: Pool, name: str) -> Floats:
    """Return the table of normalised scores; a cell is NaN where nothing was returned."""
    if name == "borda":
        return pool.borda_points / pool.candidates[pool.query][:, None]
    return pool.table(map(NORMALISATIONS[name], pool.rankings))


def _scaled(ranking: Ranking) -> tuple[Floats, Floats, Floats]:
    """Return by row the score, the list's highest and its lowest, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    score = ranking.score
    high, low = (ranking.spread(score[end]) for end in (ranking.first, ranking.last))
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    return np.ldexp(score, -exponent), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _total(ranking: Ranking, values: Floats) -> Floats:
    """Add up by list what is given by row, and return the total by row."""
    return ranking.spread(np.add.reduceat(values, ranking.first) if values.size else values)


def _divided(above: Floats, below: Floats, equal: Floats | float) -> Floats:
    """Divide; ``equal`` where there is 0 below, as all scores of the list are equal."""
    otherwise = np.broadcast_to(np.float64(equal), above.shape).copy()
    return np.divide(above, below, out=otherwise, where=below > 0)


def minmax(ranking: Ranking) -> Floats:
    """From 0 for the run's worst document to 1 for its best; of equal ones all are the best."""
    score, high, low = _scaled(ranking)
    return _divided(score - low, high - low, equal=1.0)


def zscore(ranking: Ranking) -> Floats:
    """How many standard deviations above the mean of the query's list; 0 if scores are equal."""
    score, high, low = _scaled(ranking)
    above = score - _total(ranking, score) / ranking.size
    deviation = np.sqrt(_total(ranking, above * above) / ranking.size)
    return _divided(above, np.where(high > low, deviation, 0.0), equal=0.0)


def rank(ranking: Ranking) -> Floats:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n."""
    return 1 - (ranking.rank - 1) / ranking.size


def share(ranking: Ranking) -> Floats:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1."""
    score, _, low = _scaled(ranking)
    return _divided(score - low, _total(ranking, score - low), equal=1 / ranking.size)


def part(ranking: Ranking) -> Floats:
    """A part of the query's best score; zero stays zero, unless scores are below it.

    Then the lowest becomes 0: dividing by a negative best would turn the list round.
    """
    score, high, low = _scaled(ranking)
    zero = np.minimum(low, 0.0)
    return _divided(score - zero, high - zero, equal=1.0)


NORMALISATIONS: dict[str, Callable[[Ranking], Floats]] = {
    "minmax": minmax,
    INVERTED: minmax,
    "zscore": zscore,
    "rank": rank,
    "sum": share,
    "max": part,
    "borda": rank,  # by the candidates of all runs: `normalised`
}
"""All rules by name, in order: from a ranking to a value for each of its rows."""
