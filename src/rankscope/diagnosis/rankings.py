"""Rankings: what every system put where, as columns that all analyses share.

Rows come by query, in the order of the judgments' queries, and by rank. A pair of query and
document is a 64-bit key that is the same in all systems, so that overlaps are overlaps of numbers;
grades are only given where the ids are the same to the letter. Ranks are rankscope's own (score,
then id from high to low, in double precision), whatever the profile of the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.runs.order import rows_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

    KeyArray: TypeAlias = npt.NDArray[np.uint64]


LEAST_NONRELEVANT = 0.2
"""Where a smaller share of the judgments is nonrelevant, what is unjudged was not left out of a
pool: it was taken for nonrelevant."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """What one system retrieved for the judged queries."""

    run: Run
    """The run as it was given."""
    offsets: IntArray
    """The rows of query i are ``offsets[i]:offsets[i + 1]``; none if the run lacks it."""
    source: IntArray
    """By row: the row of the run."""
    key: KeyArray
    """By row: what stands for query and document."""
    grade: FloatArray
    """By row; NaN: nobody judged it. A negative grade means pooled and not judged."""

    @cached_property
    def score(self) -> FloatArray:
        """By row: the score."""
        return self.run.scores.to_numpy()[self.source]

    @cached_property
    def query(self) -> IntArray:
        """By row: the number of the query."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def rank(self) -> IntArray:
        """By row: the rank, from 1."""
        return np.arange(1, len(self.source) + 1) - self.offsets[self.query]

    @property
    def sizes(self) -> IntArray:
        """By query: how many documents there are."""
        return np.diff(self.offsets)

    @cached_property
    def is_judged(self) -> BoolArray:
        """By row: whether somebody judged it; a negative grade says that nobody did."""
        judged: BoolArray = self.grade >= 0  # NaN is not
        return judged

    def top(self, cutoff: int) -> BoolArray:
        """By row: whether it is in the first ``cutoff``."""
        inside: BoolArray = self.rank <= cutoff
        return inside

    def doc_ids(self, rows: IntArray | BoolArray) -> pl.Series:
        """Return the ids of the documents in some rows."""
        return self.run.doc_ids.gather(self.source[rows]).cast(pl.String)

    def of_query(self, query: int) -> list[str]:
        """Return the documents of one query, best first."""
        rows = np.arange(self.offsets[query], self.offsets[query + 1])
        ids: list[str] = self.doc_ids(rows).to_list()
        return ids


@dataclass(frozen=True, eq=False)
class Rankings:
    """What all systems retrieved, and all that is judged, under the same keys."""

    query_ids: tuple[str, ...]
    """The judged queries, in the order of the judgments."""
    systems: Mapping[str, Ranking]
    """By system."""
    judged_query: IntArray
    """By judgment: the number of its query; judgments come by query."""
    judged_grade: FloatArray
    """By judgment: the grade."""
    judged_ids: pl.Series
    """By judgment: the document's id."""

    @cached_property
    def is_nonrelevant(self) -> BoolArray:
        """By judgment: whether it says nonrelevant, or pooled and not judged."""
        nonrelevant: BoolArray = self.judged_grade < RELEVANT
        return nonrelevant

    @cached_property
    def pooled(self) -> BoolArray:
        """By query: whether anything but relevant documents was judged, or pooled."""
        pooled = np.zeros(len(self.query_ids), np.bool_)
        pooled[self.judged_query[self.is_nonrelevant]] = True
        return pooled

    @property
    def unjudged_by_design(self) -> bool:
        """Whether unjudged means nonrelevant: hardly anything but relevant ones was judged."""
        few = int(self.is_nonrelevant.sum()) < LEAST_NONRELEVANT * len(self.is_nonrelevant)
        return few or 2 * int(self.pooled.sum()) < len(self.pooled)

    @classmethod
    def of(cls, judgments: Judgments, runs: Mapping[str, Run]) -> Rankings:
        """Bring runs into one form."""
        number = {query_id: place for place, query_id in enumerate(judgments.query_ids)}
        query, pairs = judgments.query, judgments.pairs
        ids, grades = pairs["doc_id"], pairs["grade"].cast(pl.Float64).to_numpy()
        known = _Known(_keys(query, ids))
        systems = {}
        for name, run in runs.items():
            offsets, source = _rows(run, number)
            of_query = np.repeat(np.arange(len(number)), np.diff(offsets))
            key = _keys(of_query, run.doc_ids, source)
            grade = np.full(len(key), np.nan)
            hits, at = known.places(key)
            same = (ids.gather(at) == run.doc_ids.gather(source[hits]).cast(pl.String)).to_numpy()
            grade[hits[same]] = grades[at[same]]
            systems[name] = Ranking(run, offsets, source, key, grade)
        return cls(judgments.query_ids, systems, query, grades, ids)


class _Known:
    """The keys of judgments, to look others up in.

    Most documents are unjudged, so a table of the first bits is asked before anything is searched.
    """

    _BITS = 22

    def __init__(self, keys: KeyArray) -> None:
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._is_there = np.zeros(1 << self._BITS, np.bool_)
        self._is_there[self._bucket(keys)] = True

    def _bucket(self, keys: KeyArray) -> IntArray:
        return (keys >> np.uint64(64 - self._BITS)).astype(np.int64)

    def places(self, keys: KeyArray) -> tuple[IntArray, IntArray]:
        """Return which of some keys are known, and as which judgment."""
        if not len(self._keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        near = np.flatnonzero(self._is_there[self._bucket(keys)])
        at = np.minimum(np.searchsorted(self._keys, keys[near]), len(self._keys) - 1)
        is_same = self._keys[at] == keys[near]
        return near[is_same], self._order[at[is_same]]


def _rows(run: Run, number: Mapping[str, int]) -> tuple[IntArray, IntArray]:
    """Return the offsets of each judged query, and the rows of the run by query and rank."""
    place = np.fromiter(
        (number.get(query_id, -1) for query_id in run.query_ids), np.int64, len(run.query_ids)
    )
    groups = np.flatnonzero(place >= 0)
    groups = groups[np.argsort(place[groups])]
    rows, _ = rows_of(run.offsets, groups)
    sizes = np.zeros(len(number), np.int64)
    sizes[place[groups]] = np.diff(run.offsets)[groups]
    order = run.best_first()
    return np.concatenate([[0], np.cumsum(sizes)]), rows if order is None else order[rows]


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _keys(query: IntArray, doc_ids: pl.Series, rows: IntArray | None = None) -> KeyArray:
    """Return a key for each query and document; two of them are alike once in 10¹² pairs."""
    hashes = doc_ids.cast(pl.String).hash().to_numpy()
    if rows is not None:
        hashes = hashes[rows]
    mixed: KeyArray = hashes ^ (query.astype(np.uint64) + np.uint64(1)) * _ODD
    return mixed
