"""Raters apart: who agrees less with the others than they do among themselves, or grades higher.

Takes ratings as `rankscope.statistics.rater_agreement` does. Tests are over groups of items (their
queries): items of one group are not independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import Rated
from rankscope.statistics.tests import corrected, paired_tests

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray, IntArray

PERMUTED = 3_000
"""Up to so many groups times raters the tests permute; beyond, Student's t answers alike."""

LEAST = 0.1
"""A rater is apart by at least this: in agreement, and as a part of the range of grades."""


STEPPED = 30
"""Up to so many raters a bias is tested again without those who explain it; among more, a single
one hardly moves the mean of the others."""


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
    resamples: int = 10_000,
    seed: int = 0,
) -> list[RaterDeviation]:
    """Return how far each rater is from the others, and whether that is more than chance.

    Agreement: on an item with m ≥ 3 ratings the mean squared distance of the rater's grade to the
    others', minus that of the others among themselves. Above 0 it is the rater who is apart; each
    of the others is nearer to the rest than the rest is among itself, so only the right one is
    named. Bias: the rater's grade minus the others' mean. One rater's bias gives all others the
    opposite one; so the largest significant bias is named, and the others are tested without that
    rater.

    Both are tested over groups (means by group; by item if there are fewer than ten groups), two-
    sided by permutation, or by Student's t where that takes long, with Holm's correction over all
    raters and both questions. With two raters nobody is named: neither is more wrong than the
    other.

    >>> right = [0, 1, 2, 3] * 5
    >>> rows = rater_deviations([right, right, right[::-1]])
    >>> [row.is_apart for row in rows], round(rows[2].agreement, 2), rows[2].others
    ([False, False, True], -0.97, 1.0)
    """
    rated = Rated.of(grades)
    count = int(rated.rater.max(initial=-1)) + 1 if raters is None else raters
    rated = _centred(rated.paired())
    numbers = _numbered(rated, groups)
    spread = float(np.ptp(rated.grade)) if len(rated.grade) else 0.0
    chance = 2 * float(np.var(rated.grade, ddof=1)) if spread else 0.0
    biases, sizes = _biases(rated), rated.sizes[rated.item]
    near, among = _distances(rated)
    compared = sizes >= 3
    options = _Test(alpha, resamples, seed, int(numbers.max(initial=0)) * max(count, 1) <= PERMUTED)
    of_rater = [np.flatnonzero(rated.rater == rater) for rater in range(count)]
    bias_p = [options.p(biases[rows], numbers[rows]) for rows in of_rater]
    apart_p = []
    for rows in of_rater:
        both = rows[compared[rows]]
        apart_p.append(options.p(near[both] - among[both], numbers[both]))
    tested = [p for p in (*bias_p, *apart_p) if p is not None]
    family = len(tested)
    answer = iter(corrected(tested, "holm").tolist())
    bias_p = [None if p is None else next(answer) for p in bias_p]
    apart_p = [None if p is None else next(answer) for p in apart_p]
    if count <= STEPPED:
        biased = _biased(rated, numbers, count, options, family, spread)
    else:
        biased = {
            rater
            for rater, (p, rows) in enumerate(zip(bias_p, of_rater, strict=True))
            if p is not None and p <= alpha and abs(biases[rows].mean()) >= LEAST * spread > 0
        }
    deviations = []
    for rater, rows in enumerate(of_rater):
        both = rows[compared[rows]]
        known = len(both) > 0 and chance > 0
        agreement = 1 - float(near[both].mean()) / chance if known else None
        others = 1 - float(among[both].mean()) / chance if known else None
        bias = float(biases[rows].mean()) if len(rows) else 0.0
        p = apart_p[rater]
        deviations.append(
            RaterDeviation(
                items=len(rows),
                bias=bias if len(rows) else None,
                bias_p=bias_p[rater],
                agreement=agreement,
                others=others,
                agreement_p=p,
                is_apart=agreement is not None
                and others is not None
                and others - agreement >= LEAST
                and p is not None
                and p <= alpha,
                is_biased=rater in biased,
            )
        )
    return deviations


def _centred(rated: Rated) -> Rated:
    """Return ratings around one of the grades: whole numbers stay whole, large ones get small."""
    if not len(rated.grade):
        return rated
    middle = np.sort(rated.grade)[len(rated.grade) // 2]
    return Rated(rated.rater, rated.item, rated.grade - middle, rated.items)


class _Test:
    """How means are tested against 0, over groups."""

    def __init__(self, alpha: float, resamples: int, seed: int, permutes: bool) -> None:
        self.alpha = alpha
        self._options = {"resamples": resamples, "seed": seed}
        self._permutes = permutes

    def p(self, values: FloatArray, groups: IntArray) -> float | None:
        """Return the p-value of the mean over groups; None without values."""
        if not len(values):
            return None
        counts = np.bincount(groups)
        used = counts > 0
        means = np.bincount(groups, weights=values)[used] / counts[used]
        test = "permutation" if self._permutes else "t"
        [result] = paired_tests(means, test=test, **self._options)  # type: ignore[arg-type]
        return result.p

    def is_sure(self, values: FloatArray, groups: IntArray, family: int) -> bool:
        """Tell whether a mean differs from 0 among a family of tests (Bonferroni)."""
        p = self.p(values, groups)
        return p is not None and p * family <= self.alpha


def _numbered(rated: Rated, groups: npt.ArrayLike | None) -> IntArray:
    """By rating: the number of its group, or of its item where there are few groups."""
    if groups is not None and len(rated.item):
        of_rating = np.asarray(groups, dtype=np.int64)[rated.item]
        if np.count_nonzero(np.bincount(of_rating)) >= FEWEST:
            return of_rating
    return rated.item


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


def _biased(  # noqa: PLR0917
    rated: Rated, numbers: IntArray, raters: int, test: _Test, family: int, spread: float
) -> set[int]:
    """Return the raters whose bias no other rater's explains, the largest first taken out."""
    named: set[int] = set()
    while raters - len(named) >= 3:
        keep = ~np.isin(rated.rater, list(named))
        left = rated.only(keep)
        paired = left.sizes[left.item] >= 2
        left, groups = left.only(paired), numbers[keep][paired]
        biases = _biases(left)
        counts = np.bincount(left.rater, minlength=raters)
        means = np.bincount(left.rater, weights=biases, minlength=raters) / np.maximum(counts, 1)
        worst = next(
            (
                rater
                for rater in np.argsort(-np.abs(means), kind="stable").tolist()
                if spread
                and abs(means[rater]) >= LEAST * spread
                and test.is_sure(biases[left.rater == rater], groups[left.rater == rater], family)
            ),
            None,
        )
        if worst is None:
            break
        named.add(worst)
    return named
