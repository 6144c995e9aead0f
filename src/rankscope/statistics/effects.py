"""Effect size: how large a difference is, in units of how much it varies from query to query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import High, Low, Part, Unbounded
from rankscope.statistics.arrays import (
    SMALLEST,
    as_rows,
    check_level,
    constant_rows,
    noncentral_t,
    row_deviations,
    row_means,
    special,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

STRAIGHT = 4
"""From so many degrees of freedom on the line is straight enough to step along it."""

STEPS = 80
"""Halvings of the bracket in which a noncentrality is searched."""


class Effect(Part):
    """How large a difference is, in standard deviations of the per-query differences."""

    d: Unbounded
    """Paired d: mean / standard deviation; null if infinite (the differences do not vary)."""
    low: Low
    """The lower end of its confidence interval; null if there is none."""
    high: High
    """The upper end; null if there is none."""
    hedges: Unbounded
    """d corrected for few queries (Hedges' g); null if infinite."""
    level: float
    """The confidence of the interval."""
    note: str = ""
    """Why there is no interval; '' if there is one."""


def paired_effects(differences: npt.ArrayLike, *, level: float = 0.95) -> list[Effect]:
    """Return the effect size of each row of ``differences[k, n]``.

    d = mean / s, with s the sample standard deviation of the differences; d·√n is Student's t. Its
    interval holds every δ for which the observed t is not in a tail of the noncentral t
    distribution with noncentrality δ·√n. ``hedges`` is J·d, J = Γ(f/2) / (√(f/2) Γ((f−1)/2)) with
    f = n − 1: d is too large on average with few queries.

    Edges: one query, or no spread: d is 0 if the differences are 0 and else infinite, and the
    interval is (−∞, ∞): without a spread the data say nothing about it. With n = 2, J is 0 in the
    limit (f = 1) and ``hedges`` is 0.

    Reference: Hedges, J. Educ. Statist. 1981; Cumming and Finch, Educ. Psychol. Meas. 2001.

    >>> [effect] = paired_effects([0.1, 0.3, 0.2, 0.2])
    >>> round(effect.d, 3)
    2.449
    """
    check_level(level)
    rows = as_rows(differences, "differences")
    queries = rows.shape[1]
    constant = constant_rows(rows)
    effects: list[Effect | None] = [None] * len(rows)
    for row in np.flatnonzero(constant):
        mean = float(rows[row].mean())
        d = math.copysign(math.inf, mean) if mean else 0.0
        note = "one query" if queries == 1 else "the differences do not vary"
        effects[row] = Effect(d=d, low=-math.inf, high=math.inf, hedges=d, level=level, note=note)
    varying = np.flatnonzero(~constant)
    if len(varying):
        root = math.sqrt(queries)
        d_values = row_means(rows[varying]) / row_deviations(rows[varying])
        lows, highs = _noncentral_ends(d_values * root, queries - 1, level)
        factor = _hedges_factor(queries - 1)
        for row, d, low, high in zip(varying, d_values.tolist(), lows, highs, strict=True):
            effects[row] = Effect(
                d=d, low=low / root, high=high / root, hedges=factor * d, level=level
            )
    return [effect for effect in effects if effect is not None]


def _hedges_factor(freedom: int) -> float:
    if freedom < 2:
        return 0.0
    log = math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)
    return math.exp(log) / math.sqrt(freedom / 2)


def _noncentral_ends(t: FloatArray, freedom: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the noncentralities for which t is the upper and the lower tail's edge."""
    tail = (1 - level) / 2
    high = _noncentrality(np.abs(t), freedom, tail)
    low = _noncentrality(np.abs(t), freedom, 1 - tail)
    return np.where(t < 0, -high, low), np.where(t < 0, -low, high)


def _noncentrality(t: FloatArray, freedom: int, share: float) -> FloatArray:
    """Return nc with P(T' ≤ t) = share for t ≥ 0; the probability falls as nc grows.

    As a normal quantile the probability is nearly a straight line in nc of the slope −1/width, so a
    few steps along it are enough; one that leaves the bracket is halved instead.
    """
    functions = special()
    target = float(functions.ndtri(share))
    width = np.sqrt(1 + t**2 / (2 * freedom))
    reach = 10 + abs(target) * (2 + t / math.sqrt(freedom))
    low, high = t - 2 * reach, t + 2 * reach
    guess = np.clip(t * (1 - 1 / (4 * freedom)) - target * width, low, high)
    left = np.arange(len(t))  # rows that are not settled; none depends on how long another takes
    for _ in range(STEPS):
        shares = noncentral_t(freedom, guess[left], t[left])
        above = shares > share
        low[left[above]], high[left[~above]] = guess[left[above]], guess[left[~above]]
        within = np.clip(shares, SMALLEST, 1 - 1e-16)
        moved = guess[left] + (functions.ndtri(within) - target) * width[left]
        near = (moved > low[left]) & (moved < high[left]) & (freedom >= STRAIGHT)
        moved = np.where(near, moved, (low[left] + high[left]) / 2)
        settled = np.abs(moved - guess[left]) <= 1e-13 * (1 + np.abs(moved))
        guess[left] = moved
        left = left[~settled]
        if not len(left):
            break
    return np.asarray(guess)
