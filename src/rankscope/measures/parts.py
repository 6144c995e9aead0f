"""Parts that several measures share: ratios, gains, discounts, running sums within a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from rankscope.errors import InputError
from rankscope.measures.judged import once, once_for_judgments, place_in

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun

    Gain = str | GainTable


_DISCOUNTS = np.log2(np.arange(1.0, 1026.0))


class Gained(NamedTuple):
    """Documents with a gain above 0, by query and rank."""

    query: IntArray
    rank: IntArray
    gain: FloatArray
    discounted: FloatArray
    """The gain divided by log2(rank + 1)."""


def ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> FloatArray:
    """Divide; 0 where the divisor is not above 0."""
    divisor = np.asarray(below, dtype=np.float64)
    result = np.zeros(divisor.shape)
    np.divide(above, divisor, out=result, where=divisor > 0)
    return result


def gains_of(
    grades: FloatArray, gain: Gain, rel: float = 1.0, least: float | None = None
) -> FloatArray:
    """Turn grades into gains; a negative grade, or one below ``least``, gains nothing."""
    if least is not None:
        return np.where(grades >= least, gains_of(grades, gain, rel), 0.0)
    if gain == "binary":
        return (grades >= rel).astype(np.float64)
    positive = np.maximum(grades, 0.0)
    if gain == "exp":
        if positive.max(initial=0.0) > 1000:
            raise InputError("gain=exp is 2^grade − 1 and cannot be used with grades above 1000")
        return np.exp2(positive) - 1.0
    if gain != "linear":
        positive = positive.copy()
        for grade, value in cast("GainTable", gain):
            positive[grades == grade] = value
    return positive


@once
def gained(run: JudgedRun, gain: Gain, rel: float = 1.0, least: float | None = None) -> Gained:
    """Return the hits that gain something, in rank order."""
    gains = gains_of(run.hit_grade, gain, rel, least)
    keep = gains > 0
    rank, gains = run.hit_rank[keep], gains[keep]
    return Gained(run.hit_query[keep], rank, gains, gains / discount(rank))


def discount(rank: IntArray) -> FloatArray:
    """Return log2(rank + 1); those of usual ranks are known."""
    try:
        known: FloatArray = _DISCOUNTS.take(rank)
    except IndexError:
        known = np.log2(rank + 1.0)
    return known


@once_for_judgments
def ideal(run: JudgedRun, gain: Gain, rel: float = 1.0, least: float | None = None) -> Gained:
    """Return the best possible ranking of all judged documents that gain something."""
    gains = gains_of(run.judged_grade, gain, rel, least)
    keep = gains > 0
    query, gains = run.judged_query[keep], gains[keep]
    if not isinstance(gain, str):  # a table need not rise with the grade
        gains = gains[np.lexsort((-gains, query))]
    rank = place_in(query)
    return Gained(query, rank, gains, gains / discount(rank))


def discounted_total(run: JudgedRun, documents: Gained, cutoff: int | None) -> FloatArray:
    """By query: the sum of discounted gains down to the cutoff."""
    return total_within(run, documents.query, documents.rank, documents.discounted, cutoff)


def total_within(
    run: JudgedRun, query: IntArray, rank: IntArray, weights: FloatArray, cutoff: int | None
) -> FloatArray:
    """By query: the sum of weights down to the cutoff."""
    if cutoff is None:
        return run.total(query, weights)
    keep = rank <= cutoff
    return run.total(query[keep], weights[keep])


def decay(base: float, rank: IntArray) -> FloatArray:
    """Return base^(rank − 1), multiplied rank by rank as trec_eval does, to the last bit."""
    steps = np.full(int(rank.max(initial=1)), base)
    steps[0] = 1.0
    powers: FloatArray = np.multiply.accumulate(steps)
    return powers[rank - 1]


def running(
    place: IntArray,
    values: FloatArray,
    combine: Callable[[FloatArray, FloatArray], FloatArray] = np.add,
) -> FloatArray:
    """Combine values from the start of their group; ``place`` counts within the group from 1.

    Takes a logarithmic number of steps, and never mixes one group's rounding into another's.
    """
    result = values.astype(np.float64)
    step, longest = 1, int(place.max(initial=0))
    while step < longest:
        at = np.flatnonzero(place > step)
        result[at] = combine(result[at], result[at - step])
        step *= 2
    return result


def nonrelevant_above(run: JudgedRun, rel: float, *, lowest: float = 0.0) -> IntArray:
    """By relevant hit: how many documents judged nonrelevant are ranked above it.

    A grade below ``lowest`` counts as not judged.
    """
    judged = run.hit_grade >= lowest
    place = place_in(run.hit_query[judged])
    relevant = run.hit_grade[judged] >= rel
    return cast("IntArray", place[relevant] - run.relevant(rel).seen)


@once
def scaled_gains(run: JudgedRun, min_rel: float, max_rel: float | None) -> Gained:
    """Return the hits with their grades scaled such that ``min_rel`` is 0 and ``max_rel`` is 1.

    Grades outside are counted as the nearest end; ``max_rel`` is the highest grade by default.
    """
    highest = run.max_grade if max_rel is None else max_rel
    if highest <= min_rel:
        if max_rel is not None:
            raise InputError(f"max_rel={max_rel:g} must be above min_rel={min_rel:g}")
        highest = min_rel + 1.0  # nothing is above the lowest grade: no gains at all
    gains = (np.clip(run.hit_grade, min_rel, highest) - min_rel) / (highest - min_rel)
    keep = gains > 0
    rank, gains = run.hit_rank[keep], gains[keep]
    return Gained(run.hit_query[keep], rank, gains, gains / discount(rank))
