"""What unjudged documents could do to a value, and to the difference between two systems.

A way to judge is a query and some of its unjudged documents, which are taken for relevant. Many
ways are measured at once, each as a query of one `JudgedRun`.

For a difference the unjudged documents of each query are ordered by what they would do for the
system that is behind, and the first x of them are judged relevant, for every x. With a given number
of relevant documents the divisors of P, R, F, nDCG, DCG and RBP are fixed, so no other choice of x
does more, and of RR and Success one document decides: for these the worst case is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from rankscope.measures.judged import place_in
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.runs.order import rows_of
from rankscope.scoring.bounds import graded_from, holes_in
from rankscope.statistics.arrays import SAME

if TYPE_CHECKING:
    from rankscope.diagnosis.judge_next import Candidates
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure

MOST_ROWS = 1_000_000
"""No more entries are made for the ways of one measure and run, or of one pair of runs."""

RISING = frozenset({"P", "R", "R_cap", "F", "Success", "RR", "CG", "DCG", "RBP"})
"""Measures that no further relevant document in the run lowers."""

BY_NUMBER = RISING | {"nDCG", "AP", "Rprec"}
"""Measures of which, with a given number of relevant documents, the value is highest where these
are ranked first and lowest where they are ranked last."""

EXACT = frozenset({"P", "R", "R_cap", "F", "DCG", "nDCG", "RBP", "RR", "Success"})
"""Measures of which the worst case for a difference is exact."""

DRAWS = 400
"""So many times all unjudged documents are judged at random."""

FEWEST_DRAWS = 50
"""Fewer draws say too little about a chance."""

MOST_DRAWN = 4_000_000
"""No more entries are made for all draws together."""

SEED = 0

Verdict = Literal["certain", "open", "unknown", "equal"]
"""Whether the order of two systems holds: however the unjudged are judged; not if some of them are
relevant; not known; there is none."""


def fillable(measure: Measure) -> bool:
    """Tell whether judgments can be added for a measure: not by subtopic, span or length."""
    return not measure.needs


def is_by_number(measure: Measure) -> bool:
    """Tell whether a measure is one of `BY_NUMBER` and sees relevant documents only.

    Then a document of grade 0 is the same as an unjudged one.
    """
    options = measure.options
    return (
        measure.name in BY_NUMBER
        and not options["judged_only"]
        and not isinstance(options.get("gain"), tuple)  # a table may give grade 0 a gain
        and cast("float", options.get("rel", 1.0)) > 0
    )


def as_seen(measure: Measure, judged: JudgedRun) -> JudgedRun:
    """Return a run without what a measure does not look at, so that its ways are few rows."""
    if measure.cutoff is not None and not measure.options["judged_only"]:
        judged = judged.cut(measure.cutoff)
    return graded_from(judged, np.finfo(np.float64).tiny if is_by_number(measure) else 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Ways to judge: each is a query and some of its unjudged documents, which are relevant."""

    query: IntArray
    """By way: the query."""
    way: IntArray
    """By document that is judged relevant: its way."""
    rank: IntArray
    """By such document: its rank in the run; 0 if the run lacks it."""

    @classmethod
    def slices(cls, query: IntArray, rank: IntArray, start: IntArray, size: IntArray) -> Ways:
        """Make ways of slices of a list of documents, which comes by query."""
        row = np.arange(int(size.sum())) + np.repeat(start - (np.cumsum(size) - size), size)
        return cls(query[start], np.repeat(np.arange(len(size)), size), rank[row])

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


def _entries(judged: JudgedRun) -> IntArray:
    """By query: how many entries each of its ways takes over."""
    return judged.count(judged.hit_query) + judged.count(judged.judged_query)


# --- one value -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """By query: the lowest and highest value of a measure over all ways to judge."""

    lowest: FloatArray
    highest: FloatArray
    rows: int
    """How many entries were made to find them."""


def value_range(
    measure: Measure, judged: JudgedRun, grade: float, *, most_rows: int = MOST_ROWS
) -> Range | None:
    """Return by query how low and how high a measure could be; None if that is not known.

    Looked at are the unjudged documents down to the measure's cutoff; each gets grade 0 or
    ``grade``, and counts where relevant documents are counted. Exact: of `RISING` measures all or
    none of them relevant are the ends; of others of `BY_NUMBER` the first x and the last x of them
    are tried, for every x. Not known of other measures, and where more than ``most_rows`` entries
    would have to be made.

    >>> from rankscope.measures.language import Measure
    >>> from rankscope.scoring.align import align
    >>> from rankscope.scoring.inputs import as_judgments
    >>> judged = align(as_judgments({"q": {"a": 1, "b": 1}}), {"q": {"a": 2, "x": 1}}).judged
    >>> ends = value_range(Measure.parse("AP"), judged, 1.0)
    >>> ends.lowest.tolist(), ends.highest.tolist()  # (1 + 2/2) / 3 if x is relevant
    ([0.5], [0.6666666666666666])
    """
    if not is_by_number(measure) or (measure.name == "RBP" and grade > judged.max_grade):
        return None  # RBP may divide gains by the highest grade there is
    query, rank = holes_in(judged, measure.cutoff)
    place, size = place_in(query), np.bincount(query, minlength=len(judged))[query]
    start = np.arange(len(query)) - place + 1
    if measure.name in RISING:
        last = place == size
        starts, sizes = start[last], size[last]
    else:  # the first x documents, and the last x but for all of them
        later = place > 1
        starts = np.concatenate([start, np.flatnonzero(later)])
        sizes = np.concatenate([place, (size - place + 1)[later]])
    base = as_seen(measure, judged)
    rows = int(_entries(base)[query[starts]].sum() + 2 * sizes.sum())
    if rows > most_rows:
        return None
    ways = Ways.slices(query, rank, starts, sizes)
    values = compute(measure, ways.of(base, grade))
    lowest = compute(measure, base)
    highest = lowest.copy()
    np.minimum.at(lowest, ways.query, values)
    np.maximum.at(highest, ways.query, values)
    return Range(lowest, highest, rows)


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


# --- a difference --------------------------------------------------------------------------------


class Conclusion(Part):
    """Which of two systems is better, and what unjudged documents could make of it."""

    better: str
    """The system with the better mean; of equal ones the first."""
    worse: str
    """The other."""
    difference: float
    """How much better its mean is; not negative."""
    lowest: float | None = None
    """The difference in the worst case for the better system; negative: it would be behind. Null
    where it is not known exactly, and where both are equal."""
    unjudged: int
    """How many unjudged documents of either system are looked at, over all queries."""
    verdict: Verdict
    """Certain: it stays better, however they are judged; open: not if some are relevant."""
    chance: float | None = None
    """About how probable it is that the other system would be ahead if all of them were judged and
    each were relevant as often as documents that the same systems rank there are known to be; null
    if both are equal, or it was too much to try."""
    p_corrected: float | None = None
    """Of the difference, as systems are compared: the paired test, corrected over the pairs. Null
    where none was made: the measure is no mean, or the runs have no query in common."""


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
        return Conclusion(difference=0.0, verdict="equal", **known)
    gain = (worse.change - better.change) / queries  # what each does for the one behind
    rows = rows[np.lexsort((-gain[rows], candidates.query[rows]))]
    shifts, is_complete = _shifts(measure, better, worse, candidates, rows, grade)
    shifts /= queries
    most = shifts.max(axis=1, initial=0.0)
    lowest = abs(lead) - math.fsum(most.tolist())
    is_exact = is_complete and is_by_number(measure) and measure.name in EXACT
    is_open = lowest <= tolerance
    chance: float | None = 0.0
    if is_open or not is_exact:
        chances = candidates.probability[rows]
        chance = _chance(candidates.query[rows], gain[rows], chances, most, abs(lead))
    return Conclusion(
        difference=abs(lead),
        lowest=lowest if is_exact else None,
        verdict="open" if is_open else "certain" if is_exact else "unknown",
        chance=chance,
        **known,
    )


def _shifts(  # noqa: PLR0917
    measure: Measure,
    better: Side,
    worse: Side,
    candidates: Candidates,
    rows: IntArray,
    grade: float,
) -> tuple[FloatArray, bool]:
    """Return what the first x documents of each query do for the worse, as ``[queries, x]``.

    x is from 0; −∞ past a query's last document. No more of each query are looked at than so many
    entries allow; the second value says whether that is all there are.
    """
    query = candidates.query[rows]
    place = place_in(query)
    most = int(place.max(initial=0))
    if not most:
        return np.zeros((0, 1)), candidates.is_complete
    entries = _entries(better.judged) + _entries(worse.judged)
    costs = np.bincount(place, entries[query] + 4 * place).cumsum()
    depth = min(max(int(np.searchsorted(costs, MOST_ROWS, "right")) - 1, 1), most)
    inside = np.flatnonzero(place <= depth)
    start, size = inside - place[inside] + 1, place[inside]
    sign = 1 if measure.definition.higher_is_better else -1
    of_worse, of_better = (
        Ways.slices(query, candidates.ranks[side.name][rows], start, size).changes(
            measure, side.judged, grade
        )
        for side in (worse, better)
    )
    line = np.unique(query[inside], return_inverse=True)[1]
    shifts = np.full((int(line.max()) + 1, depth + 1), -np.inf)
    shifts[:, 0] = 0.0
    shifts[line, size] = sign * (of_worse - of_better)
    return shifts, candidates.is_complete and depth == most


def _chance(
    query: IntArray, gain: FloatArray, probability: FloatArray, most: FloatArray, lead: float
) -> float | None:
    """Return about how probable it is that a lead is turned round; None: too much to try.

    Judgments are drawn: each document is relevant independently of the others, with its own
    probability. What those of one query do alone is added up, to the most that they can do
    together. The draws have a seed of their own, and all conclusions use the same.

    Reference: Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation,
    SIGIR 2006.
    """
    if not len(query):
        return 0.0
    draws = min(DRAWS, MOST_DRAWN // len(query))
    if draws < FEWEST_DRAWS:
        return None
    drawn = np.random.default_rng(SEED).random((draws, len(query))) < probability
    by_query = np.add.reduceat(drawn * gain, np.flatnonzero(place_in(query) == 1), axis=1)
    totals = np.minimum(by_query, most).sum(axis=1)
    return float(np.count_nonzero(totals > lead * (1 + SAME)) / draws)
