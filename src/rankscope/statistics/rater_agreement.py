"""Agreement of raters beyond chance: Cohen's kappa, Krippendorff's alpha; Kendall's τ.

Functions take ``grades[r, n]``, a row for each rater and a column for each item, NaN where a rater
left an item out; or `Rated`, the same as a list of ratings, which many raters of few items need.

All coefficients are 1 − D_o / D_e: the disagreement seen over the one that chance would give, with
the same grades dealt out at random. So 1 is perfect agreement, 0 what chance gives, and below 0 is
disagreement by system. Where all ratings are the same grade, chance would agree as well: D_e is 0,
and agreement cannot be distinguished from chance. The value is then None, with the reason; 1 and 0
would both claim to know.

No coefficient needs a table of all grades by all grades: each disagreement is a sum over items, so
scores with decimals cost no more than four grades.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows, check_level, check_name, check_resamples
from rankscope.statistics.intervals import FEWEST, Interval, resampled_means

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray, IntArray

Weights = Literal["none", "quadratic"]
"""How much a disagreement weighs: all the same, or its distance in grades squared."""

Level = Literal["nominal", "ordinal", "interval"]
"""What grades are: names, places in an order, or numbers with distances."""

MOST_GRADES = 30
"""With more different grades they are scores, which no table of grades by grades shows."""

MOST_DRAWN = 200_000
"""With more groups than this there is no interval: a bootstrap would take minutes."""

MOST_COUNTS = 20_000_000
"""With more grades times groups than this neither: their counts would take too much memory."""

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's thresholds of alpha: from 0.8 on conclusions can be drawn, from 0.667 on tentative
ones, and below none. Reference: Krippendorff, Content Analysis, 2004, p. 241."""


class RaterAgreement(Part):
    """How far raters agree beyond chance: 1 perfectly, 0 as chance would, below 0 less than it."""

    value: float | None
    """The coefficient; null where it is undefined."""
    items: int
    """How many items count: those with at least two ratings."""
    reason: str = ""
    """Why there is no value; '' if there is one."""
    interval: Interval | None = None
    """By bootstrap over items or their groups; null where it was not asked for, where nothing
    varies, or with too few items."""


class Agreements(Part):
    """The agreement of all raters: Krippendorff's alpha, by what grades are."""

    nominal: RaterAgreement
    """Grades are names."""
    ordinal: RaterAgreement
    """Grades are places in an order."""
    interval: RaterAgreement
    """Grades are numbers with distances."""


class Coded(NamedTuple):
    """Grades by number."""

    values: FloatArray
    """The different grades, lowest first."""
    codes: IntArray
    """By rating: the number of its grade."""
    totals: IntArray
    """By grade: how many ratings have it."""


def coded(grades: FloatArray) -> Coded:
    """Number grades."""
    values, codes, totals = np.unique(grades, return_inverse=True, return_counts=True)
    return Coded(values, codes.astype(np.int64, copy=False), totals.astype(np.int64, copy=False))


@dataclass(frozen=True, eq=False)
class Rated:
    """Ratings as a list; a rater rates an item once at most."""

    rater: IntArray
    """By rating: the number of the rater."""
    item: IntArray
    """By rating: the number of the item."""
    grade: FloatArray
    """By rating: the grade."""
    items: int
    """How many items there are."""

    @classmethod
    def of(cls, grades: npt.ArrayLike | Rated) -> Rated:
        """Take ratings as ``grades[r, n]`` with NaN where there is none."""
        if isinstance(grades, Rated):
            return grades
        table = np.atleast_2d(np.asarray(grades, dtype=np.float64))
        if table.ndim != 2:
            raise InputError(f"grades must have a row for each rater, not {table.ndim} dimensions")
        if np.isinf(table).any():
            raise InputError("grades contain an infinite number; grades are finite, or missing")
        rater, item = np.nonzero(~np.isnan(table))
        return cls(rater, item, table[rater, item], table.shape[1])

    def only(self, keep: npt.NDArray[np.bool_]) -> Rated:
        """Return some of the ratings; items keep their numbers."""
        if keep.all():
            return self
        return Rated(self.rater[keep], self.item[keep], self.grade[keep], self.items)

    @cached_property
    def sizes(self) -> IntArray:
        """By item: how many ratings it has."""
        return np.bincount(self.item, minlength=self.items)

    @cached_property
    def coded(self) -> Coded:
        """The grades by number."""
        return coded(self.grade)

    @cached_property
    def votes(self) -> tuple[IntArray, IntArray, IntArray]:
        """By item and grade that it was given: the item, the grade's number, how many ratings."""
        width = max(len(self.coded.values), 1)
        cells, votes = np.unique(self.item * width + self.coded.codes, return_counts=True)
        return cells // width, cells % width, votes

    @cached_property
    def squares(self) -> FloatArray:
        """By item: Σ_c n_c², n_c the number of its ratings that are c."""
        item, _, votes = self.votes
        return np.bincount(item, votes.astype(np.float64) ** 2, self.items).astype(np.float64)

    def paired(self) -> Rated:
        """Return the ratings of items that have at least two: a single one agrees with nobody."""
        return self.only(self.sizes[self.item] >= 2)

    def sums(self, values: FloatArray) -> FloatArray:
        """By item: the sum of a value by rating."""
        return np.bincount(self.item, values, self.items).astype(np.float64)


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, *, weights: Weights = "none"
) -> RaterAgreement:
    """Return Cohen's kappa of two raters over the items that both rated.

    κ = 1 − Σ w(a, b)·O(a, b) / Σ w(a, b)·E(a, b), with O the share of items that got a from the
    first and b from the second, and E the product of both raters' shares. The weight w is 1 for any
    two different grades (``none``) or (a − b)² (``quadratic``), in grades and not in how many
    grades in use lie between them: a grade that nobody happened to use changes nothing.

    Edges: no item that both rated: None. Both gave one and the same grade to all: None. One gave a
    single grade and the other did not: 0, as chance would agree as often.

    Reference: Cohen, A coefficient of agreement for nominal scales, 1960; Cohen, Weighted kappa,
    Psychological Bulletin 1968.

    >>> cohen_kappa([0, 0, 1, 1, 2], [0, 1, 1, 1, 2]).value
    0.6875
    >>> cohen_kappa([1, 1], [1, 1]).reason
    'only grade 1 was given: agreement cannot be distinguished from chance'
    """
    check_name("weights", weights, get_args(Weights))
    pair = np.atleast_2d(np.asarray([first, second], dtype=np.float64))
    pair = pair[:, ~np.isnan(pair).any(axis=0)]
    count = pair.shape[1]
    if not count:
        return RaterAgreement(value=None, items=0, reason="no item was rated by both")
    values, codes, _ = coded(pair.ravel())
    if len(values) == 1:
        return _one_grade(values, count)
    left, right = codes.reshape(pair.shape)
    shares = [np.bincount(side, minlength=len(values)) for side in (left, right)]
    if weights == "none":
        seen = float(np.count_nonzero(left != right))
        chance = float(count * count - shares[0] @ shares[1])
    else:
        centred = pair - values[len(values) // 2]  # whole numbers stay whole, large ones get small
        seen = float(((centred[0] - centred[1]) ** 2).sum())
        squares, sums = (centred**2).sum(axis=1), centred.sum(axis=1)
        chance = float(count * squares.sum() - 2 * sums[0] * sums[1])
    return RaterAgreement(value=1 - count * seen / chance, items=count)


def krippendorff_alpha(
    grades: npt.ArrayLike | Rated, *, level: Level = "nominal"
) -> RaterAgreement:
    """Return Krippendorff's alpha: any number of raters, any pattern of missing ratings.

    α = 1 − D_o / D_e. In the table of coincidences an item with m ratings counts each ordered pair
    of them 1/(m − 1) times: o_ck; n_c are its sums, n the sum of all. D_o = Σ o_ck δ²_ck / n and
    D_e = Σ n_c n_k δ²_ck / (n(n − 1)). The distance δ_ck is 1 for two different grades
    (``nominal``), c − k (``interval``), or how many ratings lie between the two in the order of all
    (``ordinal``): Σ_{g from c to k} n_g − (n_c + n_k)/2.

    The ordinal distance is that of mean ranks, so ordinal and interval alpha are both computed from
    sums of squares by item, Σ_{i,j} (x_i − x_j)² = 2(m Σx² − (Σx)²): exactly, without the table.

    Edges: items with a single rating are left out. No item with two: None. One grade only: None.
    Unanimous raters with several grades: 1.

    Reference: Krippendorff, Computing Krippendorff's alpha-reliability, 2011.

    >>> table = [[1, 2, 3, 3, 2], [1, 2, 3, 3, 2], [np.nan, 3, 3, 3, 2]]
    >>> [round(krippendorff_alpha(table, level=level).value, 3) for level in get_args(Level)]
    [0.78, 0.823, 0.871]
    """
    check_name("level", level, get_args(Level))
    return _alpha(Rated.of(grades).paired(), level)


def _alpha(rated: Rated, level: Level) -> RaterAgreement:
    """Return alpha of ratings that are two at least for each item."""
    if not len(rated.grade):
        return RaterAgreement(value=None, items=0, reason="no item was rated by two raters")
    items = int(np.count_nonzero(rated.sizes))
    if rated.grade.min() == rated.grade.max():
        return _one_grade(rated.grade, items)
    sums = _sums(rated, level, np.zeros(rated.items, np.int64), 1)
    return RaterAgreement(value=float(_coefficients(sums, level)[0]), items=items)


def _sums(rated: Rated, level: Level, groups: IntArray, count: int) -> FloatArray:
    """Return the sums over groups of items that alpha is made of, ``[rows, count]``.

    How many ratings there are; their disagreement Σ_{i,j} δ²(x_i, x_j) / (m − 1), exactly 0 where
    all are equal; then Σ x and Σ x², or, of names, how many ratings have each grade.
    """
    values, codes, totals = rated.coded
    sizes, used = rated.sizes, np.flatnonzero(rated.sizes)
    place = groups[rated.item]
    if level == "nominal":
        apart = sizes * sizes - rated.squares
        cells = np.bincount(codes * count + place, minlength=len(values) * count)
        rows: list[FloatArray] = list(cells.reshape(-1, count).astype(np.float64))
    else:
        scores = (values - values[len(values) // 2])[codes]  # whole numbers stay whole
        if level == "ordinal":  # mean ranks among all ratings
            scores = (np.cumsum(totals) - totals / 2)[codes]
        sums, lengths = rated.sums(scores), rated.sums(scores**2)
        apart = np.where(rated.squares == sizes * sizes, 0.0, 2 * (sizes * lengths - sums**2))
        powers = (scores, scores**2)
        rows = [np.asarray(np.bincount(place, x, count), np.float64) for x in powers]
    apart = apart[used] / (sizes[used] - 1)
    disagreement = np.bincount(groups[used], apart, minlength=count)
    return np.stack([np.bincount(place, minlength=count), disagreement, *rows])


def _coefficients(sums: FloatArray, level: Level) -> FloatArray:
    """Return alpha of each column of `_sums`; NaN where chance leaves no disagreement."""
    total, seen, *rows = sums
    if level == "nominal":
        chance = total**2 - (np.stack(rows) ** 2).sum(axis=0)
    else:
        chance = 2 * (total * rows[1] - rows[0] ** 2)
    known = chance > 1e-9  # but for rounding
    return np.where(known, 1 - (total - 1) * seen / np.where(known, chance, 1.0), np.nan)


def _one_grade(values: FloatArray, items: int) -> RaterAgreement:
    return RaterAgreement(
        value=None,
        items=items,
        reason=f"only grade {values[0]:g} was given: agreement cannot be distinguished from chance",
    )


def agreements(
    grades: npt.ArrayLike | Rated,
    *,
    groups: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> Agreements:
    """Return Krippendorff's alpha of three levels, with bootstrap intervals.

    Resamples draw items with replacement, or whole ``groups`` of them (a number by item, such as
    that of its query: items of one group are not independent); the interval is that between the
    quantiles of the resampled coefficients. With fewer than ten groups single items are drawn.

    Edges: no interval with fewer than ten items, or where nothing varies (unanimous raters: a
    bootstrap would claim a certainty it cannot have). Resamples in which the coefficient is
    undefined are left out. Ordinal intervals take the ranks of the grades as they are among all
    ratings.

    Reference: Zapf et al., Measuring inter-rater reliability for nominal data: which coefficients
    and confidence intervals are appropriate?, BMC Medical Research Methodology 2016.

    >>> half = [[0, 1, 2, 3] * 5, [0, 1, 2, 2] * 5]
    >>> answer = agreements(half).ordinal
    >>> round(answer.value, 3), answer.interval.low < answer.value < answer.interval.high
    (0.9, True)
    """
    check_level(level)
    check_resamples(resamples)
    rated = Rated.of(grades).paired()
    drawn = _drawn_groups(rated, groups)
    count = int(drawn.max(initial=-1)) + 1
    answers = {}
    for distance in get_args(Level):
        answers[distance] = answer = _alpha(rated, distance)
        many = distance == "nominal" and count * len(rated.coded.values) > MOST_COUNTS
        if answer.value not in (None, 1.0) and FEWEST <= count <= MOST_DRAWN and not many:
            sums = _sums(rated, distance, drawn, count)
            means = resampled_means(sums, resamples=resamples, seed=seed)
            interval = _interval(_coefficients(means * count, distance), level)
            answers[distance] = answer.model_copy(update={"interval": interval})
    return Agreements(**answers)


def _drawn_groups(rated: Rated, groups: npt.ArrayLike | None) -> IntArray:
    """By item: the number of what is drawn with it, counted from 0; −1 for items without ratings.

    Groups are numbers from 0 up.
    """
    used = rated.sizes > 0
    if groups is not None:
        of_item = np.asarray(groups, dtype=np.int64)
        present = np.bincount(of_item[used]) > 0
        if np.count_nonzero(present) >= FEWEST:
            numbers = np.cumsum(present) - 1
            answer = np.full(rated.items, -1)
            answer[used] = numbers[of_item[used]]
            return answer
    return np.where(used, np.cumsum(used) - 1, -1)


def _interval(values: FloatArray, level: float) -> Interval | None:
    known = values[~np.isnan(values)]
    if 2 * len(known) < len(values):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low=low, high=high, level=level, method="percentile")


def majority(grades: npt.ArrayLike | Rated) -> FloatArray:
    """Return the grade of the majority, by item: the most frequent one.

    NaN where nobody rated, and where two grades are equally frequent: then there is no majority.

    >>> majority([[0, 1, 3, 2], [0, 2, np.nan, 1], [1, 3, np.nan, 1]]).tolist()
    [0.0, nan, 3.0, 1.0]
    """
    rated = Rated.of(grades)
    item, code, votes = rated.votes
    highest = np.zeros(rated.items, np.int64)
    np.maximum.at(highest, item, votes)
    best = np.flatnonzero(votes == highest[item])
    alone = best[np.bincount(item[best], minlength=rated.items)[item[best]] == 1]
    answer = np.full(rated.items, np.nan)
    answer[item[alone]] = rated.coded.values[code[alone]]
    return answer


def kendall(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return Kendall's τ_b between two lists of scores of the same systems.

    With C pairs in the same order and D in opposite ones, of P = n(n−1)/2:
    (C − D) / √((P − T₁)(P − T₂)), T₁ and T₂ the pairs tied in each list, so that two equal lists
    with ties have τ = 1.

    Edges: a list in which all are tied has no value: None.

    Reference: Kendall, The treatment of ties in ranking problems, Biometrika 1945.

    >>> round(kendall([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4]), 4)
    0.6667
    """
    lists = [as_rows(scores, "scores")[0] for scores in (first, second)]
    if len(lists[0]) != len(lists[1]) or len(lists[0]) < 2:
        sizes = " and ".join(str(len(scores)) for scores in lists)
        raise InputError(f"both orders need the same systems, at least two of them; got {sizes}")
    tau = float(import_module("scipy.stats").kendalltau(*lists).statistic)
    return None if math.isnan(tau) else tau
