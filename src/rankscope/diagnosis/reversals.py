"""Reversals: could unjudged documents turn the order of two systems round, and how many would do?

For each query the unjudged documents of both systems are ordered by what they would do for the
system that is behind, and the first x of them are judged relevant, for every x. With a given number
of relevant documents the divisors of P, R, F, nDCG, DCG and RBP are fixed, so no other choice of x
does more, and of RR and Success one document decides: for these the worst case is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankscope.diagnosis.judging_ways import MOST_ROWS, Ways, as_seen, is_by_number
from rankscope.measures.judged import place_in
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.statistics.arrays import SAME

if TYPE_CHECKING:
    from rankscope.diagnosis.judge_next import Unjudged
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure

EXACT = frozenset(("P", "R", "R_cap", "F", "DCG", "nDCG", "RBP", "RR", "Success"))
"""Measures whose worst case is exact, however many documents are unjudged."""

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


class Conclusion(Part):
    """Which of two systems is better, and what unjudged documents could make of it."""

    better: str
    """The system with the better mean; of equal ones the first."""
    worse: str
    """The other."""
    difference: float
    """How much better its mean is; not negative."""
    verdict: Verdict
    """Certain: it stays better, however the unjudged documents are judged. Open: the difference is
    gone, or reversed, if some of them are relevant. Unknown: neither could be shown. Equal: both
    means are the same."""
    lowest: float | None
    """The difference in the worst case for the better system; negative: it would be behind. Null
    where it is not known exactly."""
    unjudged: int
    """How many unjudged documents of either system are looked at, over all queries."""
    needed: int | None
    """About how few of them must be relevant for the difference to be gone; null unless open."""
    chance: float | None
    """About how probable it is that the other system would be ahead if all of them were judged and
    each were relevant as often as documents that the same systems rank there are known to be; null
    if both are equal."""
    p_corrected: float | None = None
    """Of the difference, as systems are compared: the paired test, corrected over the pairs. Null
    where none was made: the measure is no mean, or the runs have no query in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two systems."""

    name: str
    judged: JudgedRun
    values: FloatArray
    """By query: the value, turned such that higher is better."""
    rank: IntArray
    """By unjudged document: its rank; 0 if the measure does not see it."""
    change: FloatArray
    """By unjudged document: what it alone would add to its query's value if it were relevant,
    turned likewise."""


def conclude(
    measure: Measure,
    sides: tuple[Side, Side],
    holes: Unjudged,
    keep: BoolArray,
    grade: float,
) -> Conclusion:
    """Tell what unjudged documents could make of the difference between two systems.

    ``keep`` says by query whether it counts.
    """
    queries = int(np.count_nonzero(keep))
    change = sum_of(sides[0].values[keep] - sides[1].values[keep]) / queries
    better, worse = sides if change >= 0 else sides[::-1]
    difference = abs(change)
    scale = max(float(np.abs(side.values).max(initial=0.0)) for side in sides)
    mine = np.flatnonzero(
        keep[holes.query] & (holes.is_candidate(better.rank) | holes.is_candidate(worse.rank))
    )
    if difference <= SAME * scale:
        return Conclusion(
            better=better.name,
            worse=worse.name,
            difference=0.0,
            verdict="equal",
            lowest=None,
            unjudged=len(mine),
            needed=None,
            chance=None,
        )
    gain = (worse.change - better.change)[mine] / queries  # what each does for the one behind
    mine = mine[np.lexsort((-gain, holes.query[mine]))]
    shifts, complete = _shifts(measure, better, worse, holes.query[mine], mine, grade)
    shifts /= queries
    complete &= holes.is_complete
    reach = difference - sum_of(shifts.max(axis=1, initial=0.0))
    tolerance = SAME * scale
    exact = complete and is_by_number(measure) and measure.name in EXACT
    lowest = reach if exact else None
    verdict: Verdict = "unknown"
    if reach <= tolerance:
        verdict = "open"
    elif exact:
        verdict = "certain"
    return Conclusion(
        better=better.name,
        worse=worse.name,
        difference=difference,
        verdict=verdict,
        lowest=lowest,
        unjudged=len(mine),
        needed=_needed(shifts, difference - tolerance) if verdict == "open" else None,
        chance=0.0
        if verdict == "certain"
        else _chance(measure, better, worse, holes, mine, grade, difference, queries),
    )


def sum_of(values: FloatArray) -> float:
    """Add values without rounding in between."""
    return math.fsum(values.tolist())


def _shifts(  # noqa: PLR0917
    measure: Measure,
    better: Side,
    worse: Side,
    query: IntArray,
    rows: IntArray,
    grade: float,
) -> tuple[FloatArray, bool]:
    """Return what the first x documents of each query do for the system that is behind.

    As ``[queries, x]``, x from 0; −∞ past a query's last document. No more of each query are
    looked at than so many rows allow; the second value says whether that is all of them.
    """
    place = place_in(query)
    most = int(place.max(initial=0))
    if not most:
        return np.zeros((0, 1)), True
    bases = [as_seen(measure, side.judged) for side in (better, worse)]
    depth = next(
        (
            x
            for x in range(most, 1, -1)
            if _rows_of(bases, query[place <= x], place, x) <= MOST_ROWS // 2
        ),
        1,
    )
    looked = np.flatnonzero(place <= depth)
    start, size = looked - place[looked] + 1, place[looked]
    sign = 1 if measure.definition.higher_is_better else -1
    shift = np.zeros(len(looked))
    for base, side, direction in zip(bases, (better, worse), (-sign, sign), strict=True):
        ways = Ways.slices(query, side.rank[rows], start, size)
        shift += direction * (
            compute(measure, ways.of(base, grade)) - compute(measure, base)[ways.query]
        )
    line = np.unique(query[looked], return_inverse=True)[1]
    shifts = np.full((int(line.max()) + 1, depth + 1), -np.inf)
    shifts[:, 0] = 0.0
    shifts[line, size] = shift
    return shifts, depth == most


def _rows_of(bases: list[JudgedRun], query: IntArray, place: IntArray, depth: int) -> int:
    """Count the entries that ways of up to ``depth`` documents take."""
    entries = [base.count(base.hit_query) + base.count(base.judged_query) for base in bases]
    return int(sum(counts[query].sum() for counts in entries)) + 4 * int(
        place[place <= depth].sum()
    )


def _needed(shifts: FloatArray, difference: float) -> int:
    """Return how few documents make up for a difference, over all queries.

    Of each query the steps of its concave hull are taken, steepest first over all queries; where a
    step is one document this is the fewest possible.
    """
    steps: list[FloatArray] = []
    sizes: list[IntArray] = []
    line, at = np.arange(len(shifts)), np.zeros(len(shifts), np.int64)
    columns = np.arange(shifts.shape[1])
    while len(line):
        length = columns - at[:, np.newaxis]
        ahead = shifts[line] - shifts[line, at][:, np.newaxis]
        slope = np.where(length > 0, ahead / np.maximum(length, 1), -np.inf)
        following = slope.argmax(axis=1)
        best = slope[np.arange(len(line)), following]
        rises = best > 0
        steps.append(best[rises])
        sizes.append((following - at)[rises])
        line, at = line[rises], following[rises]
    slope, size = np.concatenate(steps), np.concatenate(sizes)
    order = np.argsort(-slope, kind="stable")
    total = np.cumsum(slope[order] * size[order])
    last = min(int(np.searchsorted(total, difference * (1 - SAME))), len(total) - 1)
    return int(size[order][: last + 1].sum())


def _chance(  # noqa: PLR0917
    measure: Measure,
    better: Side,
    worse: Side,
    holes: Unjudged,
    rows: IntArray,
    grade: float,
    difference: float,
    queries: int,
) -> float | None:
    """Return about how probable it is that a difference is turned round; None: too much to try.

    Judgments are drawn: each document is relevant independently of the others, with its own
    probability, and both systems are measured again, so that documents of one query count together.
    The draws have a seed of their own, and all conclusions use the same.

    Reference: Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation,
    SIGIR 2006.
    """
    query, probability = holes.query[rows], holes.probability[rows]
    bases = [as_seen(measure, side.judged) for side in (better, worse)]
    places, line = np.unique(query, return_inverse=True)
    entries = sum(int((base.count(base.hit_query) + base.count(base.judged_query))[places].sum())
                  for base in bases) + 4 * sum_of(probability)  # fmt: skip
    draws = int(min(DRAWS, MOST_DRAWN // max(entries, 1)))
    if draws < FEWEST_DRAWS:
        return None
    random = np.random.default_rng(SEED)
    is_relevant = random.random((draws, len(rows))) < probability
    draw, at = np.nonzero(is_relevant)
    shift = np.zeros(draws * len(places))
    sign = 1 if measure.definition.higher_is_better else -1
    for base, side, direction in zip(bases, (better, worse), (-sign, sign), strict=True):
        ways = Ways(np.tile(places, draws), draw * len(places) + line[at], side.rank[rows][at])
        shift += direction * (
            compute(measure, ways.of(base, grade)) - compute(measure, base)[ways.query]
        )
    shifts = shift.reshape(draws, len(places)).sum(axis=1) / queries
    return float(np.count_nonzero(shifts > difference * (1 + SAME)) / draws)
