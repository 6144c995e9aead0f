"""Raters apart: who agrees less with the others than they do among themselves, or grades higher.

Takes ratings as `rankscope.statistics.rater_agreement` does. Tests are over groups of items (their
queries): items of one group are not independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.arrays import SMALLEST, special
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import Rated
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import BoolArray, FloatArray, IntArray

LEAST = 0.1
"""A rater is apart by at least this: in agreement, and as a part of the range of grades."""


class RaterDeviation(Part):
    """One rater against the others, over the items that they rated too."""

    items: int
    """How many items the rater and at least one other rated."""
    bias: float | None
    """Mean of the rater's grade minus the mean grade of the others; null without such items."""
    bias_p: float | None
    """Of the bias, corrected with all other p-values here; null if it could not be tested."""
    agreement: float | None
    """With the others: 1 − mean squared distance / that which chance would give, as in alpha with
    interval distances; null where fewer than two others rated the same items, or undefined."""
    others: float | None
    """Likewise, that of the others among themselves on the same items."""
    agreement_p: float | None
    """Of the difference between the two, corrected likewise."""
    is_apart: bool = False
    """Whether the rater agrees significantly less with the others than they do, by at least 0.1."""
    is_biased: bool = False
    """Whether the bias is significant, at least a tenth of the range of grades, and not explained
    by another rater's."""


def rater_deviations(
    grades: npt.ArrayLike | Rated,
    *,
    raters: int | None = None,
    groups: npt.ArrayLike | None = None,
    alpha: float = 0.05,
) -> list[RaterDeviation]:
    """Return how far each rater is from the others, and whether that is more than chance.

    Agreement: on an item with m ≥ 3 ratings the mean squared distance of the rater's grade to the
    others', minus that of the others among themselves. Above 0 it is the rater who is apart; each
    of the others is nearer to the rest than the rest is among itself, so only the right one is
    named. Bias: the rater's grade minus the others' mean. One rater's bias gives all others the
    opposite one; so the largest significant bias is named, and the others are tested without that
    rater.

    Both are tested over groups (means by group; by item if there are fewer than ten groups) by
    Student's t, with Holm's correction over all raters and both questions. With two raters nobody
    is named: neither is more wrong than the other.

    >>> right = [0, 1, 2, 3] * 5
    >>> rows = rater_deviations([right, right, right[::-1]])
    >>> [row.is_apart for row in rows], round(rows[2].agreement, 2), rows[2].others
    ([False, False, True], -0.97, 1.0)
    """
    rated = Rated.of(grades)
    count = int(rated.rater.max(initial=-1)) + 1 if raters is None else raters
    rated = rated.paired()
    if len(rated.grade):  # around one of the grades: whole numbers stay whole, large ones get small
        middle = np.sort(rated.grade)[len(rated.grade) // 2]
        rated = Rated(rated.rater, rated.item, rated.grade - middle, rated.items)
    numbers = rated.item
    if groups is not None and len(rated.item):
        of_rating = np.asarray(groups, dtype=np.int64)[rated.item]
        numbers = of_rating if len(np.unique(of_rating)) >= FEWEST else numbers
    spread = float(np.ptp(rated.grade)) if len(rated.grade) else 0.0
    chance = 2 * float(np.var(rated.grade, ddof=1)) if spread else 0.0
    near, among = _distances(rated)
    both = rated.sizes[rated.item] >= 3
    bias, bias_p = _tests(_biases(rated), numbers, rated.rater, count)
    apart_p = _tests((near - among)[both], numbers[both], rated.rater[both], count)[1]
    raw = np.stack([bias_p, apart_p])
    known = ~np.isnan(raw)
    family = int(known.sum())
    raw[known] = corrected(raw[known])
    items = np.bincount(rated.rater, minlength=count)
    compared = np.bincount(rated.rater[both], minlength=count)
    to_others, of_others = (
        np.bincount(rated.rater[both], weights=rows[both], minlength=count)
        / np.maximum(compared, 1)
        for rows in (near, among)
    )
    biased = _biased(rated, numbers, count, alpha / max(family, 1), LEAST * spread)
    deviations = []
    for rater in range(count):
        agreement = others = None
        if compared[rater] and chance > 0:
            agreement = 1 - float(to_others[rater]) / chance
            others = 1 - float(of_others[rater]) / chance
        by_bias, by_distance = (None if np.isnan(p) else float(p) for p in raw[:, rater])
        is_apart = agreement is not None and others is not None and others - agreement >= LEAST
        deviations.append(
            RaterDeviation(
                items=int(items[rater]),
                bias=float(bias[rater]) if items[rater] else None,
                bias_p=by_bias,
                agreement=agreement,
                others=others,
                agreement_p=by_distance,
                is_apart=is_apart and by_distance is not None and by_distance <= alpha,
                is_biased=bool(biased[rater]),
            )
        )
    return deviations


def _tests(
    values: FloatArray, groups: IntArray, raters: IntArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each rater's values, and a p-value over groups; NaN without values.

    Student's t of the means by group; the sign test where these do not vary.
    """
    sizes = np.bincount(raters, minlength=count)
    overall = np.bincount(raters, weights=values, minlength=count) / np.maximum(sizes, 1)
    width = int(groups.max(initial=0)) + 1
    cells, place = np.unique(raters * width + groups, return_inverse=True)
    means = np.bincount(place, weights=values) / np.bincount(place)
    owner = cells // width
    n = np.bincount(owner, minlength=count)
    mean = np.bincount(owner, weights=means, minlength=count) / np.maximum(n, 1)
    squares = np.bincount(owner, weights=(means - mean[owner]) ** 2, minlength=count)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    varies = error > 1e-12 * np.abs(mean)
    ratio = np.abs(mean) / np.where(varies, error, 1.0)
    student = 2 * special().stdtr(np.maximum(n - 1, 1), -ratio)
    signs = np.where(mean == 0, 1.0, 2.0 ** (1.0 - n))
    p = np.clip(np.where(varies, student, signs), SMALLEST, 1.0)
    return overall, np.where(n > 0, p, np.nan)


def _biases(rated: Rated) -> FloatArray:
    """By rating: its grade minus the mean of the others' for the same item."""
    sums, sizes = rated.sums(rated.grade)[rated.item], rated.sizes[rated.item]
    return np.asarray(rated.grade - (sums - rated.grade) / (sizes - 1), dtype=np.float64)


def _distances(rated: Rated) -> tuple[FloatArray, FloatArray]:
    """By rating: the mean squared distance to the others, and that of the others; from sums."""
    sizes = rated.sizes[rated.item]
    sums, squares = rated.sums(rated.grade)[rated.item], rated.sums(rated.grade**2)[rated.item]
    to_others = sizes * rated.grade**2 - 2 * rated.grade * sums + squares
    in_item = sizes * squares - sums**2  # of all pairs of its item, each once
    pairs = np.maximum((sizes - 1) * (sizes - 2) / 2, 1)
    near = to_others / np.maximum(sizes - 1, 1)
    return np.asarray(near), np.asarray((in_item - to_others) / pairs)


def _biased(rated: Rated, numbers: IntArray, count: int, alpha: float, least: float) -> BoolArray:
    """Tell which biases no other rater's explains: the largest is taken out, then the next."""
    named = np.zeros(count, dtype=bool)
    while count - named.sum() >= 3 and least:
        keep = ~named[rated.rater]
        left = rated.only(keep)
        paired = left.sizes[left.item] >= 2
        left, groups = left.only(paired), numbers[keep][paired]
        means, p_values = _tests(_biases(left), groups, left.rater, count)
        sizes = np.where((p_values <= alpha) & (np.abs(means) >= least), np.abs(means), 0.0)
        if not sizes.any():
            break
        named[int(np.argmax(sizes))] = True
    return named
