"""What unjudged documents could do to the difference between two systems.

A way to judge is a query and some of its unjudged documents, which are taken for relevant. Many
ways are measured at once, each as a query of one `JudgedRun`: each document alone, and all that
help the system that is behind together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.runs.order import rows_of
from rankscope.scoring.bounds import graded_from
from rankscope.statistics.arrays import SAME

if TYPE_CHECKING:
    from rankscope.diagnosis.judge_next import Candidates
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure

DRAWS = 400
"""So many times all unjudged documents are judged at random."""

FEWEST_DRAWS = 50
"""Fewer draws say too little about a chance."""

MOST_DRAWN = 4_000_000
"""No more entries are made for all draws together."""

SEED = 0


def as_seen(measure: Measure, judged: JudgedRun) -> JudgedRun:
    """Return a run without what a measure does not look at, so that its ways are few rows."""
    if measure.cutoff is not None and not measure.options["judged_only"]:
        judged = judged.cut(measure.cutoff)
    return graded_from(judged, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Ways to judge: each is a query and some of its unjudged documents, which are relevant."""

    query: IntArray
    """By way: the query."""
    way: IntArray
    """By document that is judged relevant: its way."""
    rank: IntArray
    """By such document: its rank in the run; 0 if the run lacks it."""

    def of(self, judged: JudgedRun, grade: float) -> JudgedRun:
        """Return a run with a query for each way; ``judged`` has no negative grades."""
        inside = self.rank > 0
        hits, hit_way = self._rows(judged.hit_query, judged)
        hit_way = np.concatenate([hit_way, self.way[inside]])
        hit_rank = np.concatenate([judged.hit_rank[hits], self.rank[inside]])
        hit_grade = np.append(judged.hit_grade[hits], np.full(np.count_nonzero(inside), grade))
        judgments, all_way = self._rows(judged.judged_query, judged)
        all_way = np.concatenate([all_way, self.way])
        all_grade = np.append(judged.judged_grade[judgments], np.full(len(self.way), grade))
        by_rank, by_grade = np.lexsort((hit_rank, hit_way)), np.lexsort((-all_grade, all_way))
        return replace(
            judged,
            query_ids=("",) * len(self.query),
            retrieved=judged.retrieved[self.query],
            in_run=judged.in_run[self.query],
            hit_query=hit_way[by_rank],
            hit_rank=hit_rank[by_rank],
            hit_grade=hit_grade[by_rank],
            judged_query=all_way[by_grade],
            judged_grade=all_grade[by_grade],
            max_grade=max(judged.max_grade, grade) if len(self.way) else judged.max_grade,
        )

    def _rows(self, query: IntArray, judged: JudgedRun) -> tuple[IntArray, IntArray]:
        """Return the entries of each way's query, one way after the other, and their ways."""
        rows, at = rows_of(np.searchsorted(query, np.arange(len(judged) + 1)), self.query)
        return rows, np.repeat(np.arange(len(self.query)), np.diff(at))

    def changes(self, measure: Measure, judged: JudgedRun, grade: float) -> FloatArray:
        """By way: what it adds to its query's value; ``judged`` is `as_seen` by the measure."""
        before: FloatArray = compute(measure, judged)
        after: FloatArray = compute(measure, self.of(judged, grade))
        return after - before[self.query]


def changes_of_one(
    measure: Measure, judged: JudgedRun, query: IntArray, rank: IntArray, grade: float
) -> FloatArray:
    """Return what judging each of some documents relevant, alone, would add to its query's value.

    ``rank`` is 0 where the run lacks a document: then it can only count as one more to be found.
    """
    if measure.cutoff is not None and not measure.options["judged_only"]:
        rank = np.where(rank > measure.cutoff, 0, rank)
    # all documents of a query that the run lacks are the same to it: each case is measured once
    cases, same = np.unique(np.stack([query, rank]), axis=1, return_inverse=True)
    ways = Ways(cases[0], np.arange(cases.shape[1]), cases[1])
    return ways.changes(measure, as_seen(measure, judged), grade)[same.reshape(-1)]


class Conclusion(Part):
    """Which of two systems is better, and what unjudged documents could make of it."""

    better: str
    """The system with the better mean; of equal ones the first."""
    worse: str
    """The other."""
    difference: float
    """How much better its mean is; not negative."""
    lowest: float
    """The difference if all unjudged documents that help the other were relevant; negative: it
    would be behind."""
    unjudged: int
    """How many unjudged documents of either system are looked at, over all queries."""
    chance: float | None = None
    """About how probable it is that the other system would be ahead if all of them were judged and
    each were relevant as often as documents that the same systems rank there are known to be; null
    if both are equal, or it was too much to try."""
    p_corrected: float | None = None
    """Of the difference, as systems are compared: the paired test, corrected over the pairs. Null
    where none was made: the measure is no mean, or the runs have no query in common."""

    @property
    def verdict(self) -> Literal["holds", "open", "equal"]:
        """Whether the order holds: even then; not then; there is none."""
        if self.difference == 0:
            return "equal"
        return "holds" if self.lowest > SAME else "open"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of two systems, and what each candidate would do for it alone."""

    name: str
    judged: JudgedRun
    """`as_seen` by the measure."""
    values: FloatArray
    """By query: the value, turned such that higher is better."""
    change: FloatArray
    """By candidate: what it alone would add to its query's value if it were relevant, turned
    likewise."""


def conclude(
    measure: Measure,
    sides: tuple[Side, Side],
    candidates: Candidates,
    keep: BoolArray,
    grade: float,
) -> Conclusion:
    """Tell what unjudged documents could make of the difference between two systems.

    ``keep`` says by query whether it counts.
    """
    queries = int(np.count_nonzero(keep))
    lead = math.fsum((sides[0].values - sides[1].values)[keep].tolist()) / queries
    better, worse = sides if lead >= 0 else sides[::-1]
    tolerance = SAME * max(float(np.abs(side.values).max(initial=0.0)) for side in sides)
    either = candidates.within(better.name) | candidates.within(worse.name)
    rows = np.flatnonzero(keep[candidates.query] & either)
    known: dict[str, Any] = {"better": better.name, "worse": worse.name, "unjudged": len(rows)}
    if abs(lead) <= tolerance:
        return Conclusion(difference=0.0, lowest=0.0, **known)
    gain = (worse.change - better.change) / queries  # what each does for the one behind
    rows = rows[np.argsort(candidates.query[rows], kind="stable")]
    query, starts = np.unique(candidates.query[rows], return_index=True)
    most = np.maximum(np.maximum.reduceat(gain[rows], starts), 0.0) if len(rows) else np.zeros(0)
    helpful = rows[gain[rows] > 0]
    if len(helpful):
        asked, way = np.unique(candidates.query[helpful], return_inverse=True)
        sign = 1 if measure.definition.higher_is_better else -1
        of_worse, of_better = (
            Ways(asked, way, candidates.ranks[side.name][helpful]).changes(
                measure, side.judged, grade
            )
            for side in (worse, better)
        )
        together = sign * (of_worse - of_better) / queries
        at = np.searchsorted(query, asked)
        most[at] = np.maximum(most[at], together)
    return Conclusion(
        difference=abs(lead),
        lowest=abs(lead) - math.fsum(most.tolist()),
        chance=_chance(starts, gain[rows], candidates.probability[rows], most, abs(lead)),
        **known,
    )


def _chance(
    starts: IntArray, gain: FloatArray, probability: FloatArray, most: FloatArray, lead: float
) -> float | None:
    """Return about how probable it is that a lead is turned round; None: too much to try.

    Judgments are drawn: each document is relevant independently of the others, with its own
    probability. What those of one query do alone is added up, to the most that they can do
    together. The draws have a seed of their own, and all conclusions use the same.

    Reference: Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation,
    SIGIR 2006.
    """
    if not len(gain) or most.sum() <= lead:
        return 0.0
    draws = min(DRAWS, MOST_DRAWN // len(gain))
    if draws < FEWEST_DRAWS:
        return None
    drawn = np.random.default_rng(SEED).random((draws, len(gain))) < probability
    by_query = np.add.reduceat(drawn * gain, starts, axis=1)
    totals = np.minimum(by_query, most).sum(axis=1)
    return float(np.count_nonzero(totals > lead * (1 + SAME)) / draws)
