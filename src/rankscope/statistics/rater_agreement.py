"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha; Kendall's τ.

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

Weights = Literal["none", "linear", "quadratic"]
"""How much a disagreement weighs: all the same, its distance in grades, or the distance squared."""

Level = Literal["nominal", "ordinal", "interval"]
"""What grades are: names, places in an order, or numbers with distances."""

MOST_GRADES = 30
"""With more different grades they are scores, and intervals take their ranks as given."""

MOST_DRAWN = 200_000
"""With more groups than this there is no interval: a bootstrap would take minutes."""

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
    """The agreement of all raters, in four forms."""

    fleiss: RaterAgreement
    """Fleiss' kappa: grades are names."""
    nominal: RaterAgreement
    """Krippendorff's alpha: grades are names."""
    ordinal: RaterAgreement
    """Krippendorff's alpha: grades are places in an order."""
    interval: RaterAgreement
    """Krippendorff's alpha: grades are numbers with distances."""


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
        return weighted_sums(item, np.square(votes, dtype=np.float64), self.items)

    def paired(self) -> Rated:
        """Return the ratings of items that have at least two: a single one agrees with nobody."""
        return self.only(self.sizes[self.item] >= 2)

    def sums(self, values: npt.ArrayLike) -> FloatArray:
        """By item: the sum of a value by rating."""
        return weighted_sums(self.item, np.asarray(values, dtype=np.float64), self.items)


def weighted_sums(groups: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the sum of the values of each of so many groups."""
    sums = np.bincount(groups, weights=values, minlength=count)
    return sums.astype(np.float64, copy=False)


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, *, weights: Weights = "none"
) -> RaterAgreement:
    """Return Cohen's kappa of two raters over the items that both rated.

    κ = 1 − Σ w(a, b)·O(a, b) / Σ w(a, b)·E(a, b), with O the share of items that got a from the
    first and b from the second, and E the product of both raters' shares. The weight w is 1 for any
    two different grades (``none``), |a − b| (``linear``) or (a − b)² (``quadratic``), in grades and
    not in how many grades in use lie between them: the value does not depend on whether somebody
    happened to use a grade in between.

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
    elif weights == "quadratic":
        centred = pair - values[len(values) // 2]  # whole numbers stay whole, large ones get small
        seen = float(((centred[0] - centred[1]) ** 2).sum())
        squares, sums = (centred**2).sum(axis=1), centred.sum(axis=1)
        chance = float(count * squares.sum() - 2 * sums[0] * sums[1])
    else:
        seen = float(np.abs(pair[0] - pair[1]).sum())
        below = [np.cumsum(share)[:-1] for share in shares]  # E|a − b| is a sum over the gaps
        crossing = below[0] * (count - below[1]) + below[1] * (count - below[0])
        chance = float(crossing @ np.diff(values))
    return RaterAgreement(value=1 - count * seen / chance, items=count)


def fleiss_kappa(grades: npt.ArrayLike | Rated) -> RaterAgreement:
    """Return Fleiss' kappa of any number of raters; it need not be the same ones for each item.

    κ = (P̄ − P_e) / (1 − P_e). P̄ is the mean over items of the share of pairs of raters that agree,
    Σ_c n_c(n_c − 1) / (m(m − 1)) with n_c of an item's m ratings being c; P_e = Σ_c p_c², with p_c
    the mean over items of n_c / m.

    Edges: items may have unequal numbers of ratings, though Fleiss defined it for equal ones: each
    item then counts the same, however many rated it (the form that Gwet gives); items with a single
    rating are left out. No item with two ratings: None. One grade only: None.

    Reference: Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin
    1971; Gwet, Handbook of Inter-Rater Reliability, 2014, chapter 2.

    >>> round(fleiss_kappa([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 0]]).value, 4)
    0.3333
    """
    rated = Rated.of(grades).paired()
    undefined = _undefined(rated)
    if undefined is not None:
        return undefined
    sizes = rated.sizes
    used = sizes > 0
    agreeing = (rated.squares - sizes)[used] / (sizes * (sizes - 1))[used]
    shares = np.bincount(rated.coded.codes, weights=1 / sizes[rated.item]) / np.count_nonzero(used)
    chance = float(shares @ shares)
    # from the disagreements, so that no rounding keeps unanimous raters from 1
    disagreeing = float((1 - agreeing).mean())
    return RaterAgreement(value=1 - disagreeing / (1 - chance), items=int(np.count_nonzero(used)))


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
    rated = Rated.of(grades).paired()
    undefined = _undefined(rated)
    if undefined is not None:
        return undefined
    count = len(rated.grade)
    values, codes, totals = rated.coded
    if level == "nominal":
        chance = float(count * count - (totals * totals).sum())
        seen = float(_disagreements(rated).sum())
    else:
        scores = _scores(values, totals, level)
        chance = 2 * float(count * (totals @ scores**2) - (totals @ scores) ** 2)
        seen = float(_disagreements(rated, scores[codes]).sum())
    return RaterAgreement(
        value=1 - (count - 1) * seen / chance, items=int(np.count_nonzero(rated.sizes))
    )


def _scores(values: FloatArray, totals: IntArray, level: Level) -> FloatArray:
    """Return the number of each grade: itself, or the mean rank of its ratings among all."""
    if level == "ordinal":
        return np.asarray(np.cumsum(totals) - totals / 2, dtype=np.float64)
    centred: FloatArray = values - values[len(values) // 2]  # whole numbers stay whole
    return centred


def _disagreements(rated: Rated, scores: FloatArray | None = None) -> FloatArray:
    """By item: Σ_{i,j} δ²(x_i, x_j) / (m − 1) over its ratings; exactly 0 where all are equal.

    Without ``scores`` by rating, two different grades are 1 apart.
    """
    sizes = rated.sizes
    if scores is None:
        apart = sizes * sizes - rated.squares
    else:
        sums, lengths = rated.sums(scores), rated.sums(scores**2)
        apart = np.where(rated.squares == sizes * sizes, 0.0, 2 * (sizes * lengths - sums**2))
    return np.asarray(apart / np.maximum(sizes - 1, 1), dtype=np.float64)


def _undefined(rated: Rated) -> RaterAgreement | None:
    """Return the answer for ratings that no coefficient is defined for."""
    if not len(rated.grade):
        return RaterAgreement(value=None, items=0, reason="no item was rated by two raters")
    if rated.grade.min() == rated.grade.max():
        return _one_grade(rated.grade, int(np.count_nonzero(rated.sizes)))
    return None


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
    """Return Fleiss' kappa and Krippendorff's alpha of three levels, with bootstrap intervals.

    Resamples draw items with replacement, or whole ``groups`` of them (a number by item, such as
    that of its query: items of one group are not independent); the interval is that between the
    quantiles of the resampled coefficients. With fewer than ten groups single items are drawn.

    Edges: no interval with fewer than ten items, or where nothing varies (unanimous raters: a
    bootstrap would claim a certainty it cannot have). Resamples in which the coefficient is
    undefined are left out, and counted in the interval's note. With more than 30 different grades
    the ordinal intervals take the ranks of the grades as given, and the nominal coefficients have
    none.

    Reference: Zapf et al., Measuring inter-rater reliability for nominal data: which coefficients
    and confidence intervals are appropriate?, BMC Medical Research Methodology 2016.

    >>> half = [[0, 1, 2, 3] * 5, [0, 1, 2, 2] * 5]
    >>> answer = agreements(half).ordinal
    >>> round(answer.value, 3), answer.interval.low < answer.value < answer.interval.high
    (0.9, True)
    """
    check_level(level)
    check_resamples(resamples)
    rated = Rated.of(grades)
    answers = {
        "fleiss": fleiss_kappa(rated),
        **{name: krippendorff_alpha(rated, level=name) for name in get_args(Level)},
    }
    rated = rated.paired()
    drawn = _drawn_groups(rated, groups)
    count = int(drawn.max(initial=-1)) + 1
    if FEWEST <= count <= MOST_DRAWN and answers["interval"].value not in (None, 1.0):
        resampled = _resampled(rated, drawn, count, resamples=resamples, seed=seed)
        for name, values in resampled.items():
            interval = _interval(values, level)
            answers[name] = answers[name].model_copy(update={"interval": interval})
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


def _resampled(
    rated: Rated, drawn: IntArray, count: int, *, resamples: int, seed: int
) -> dict[str, FloatArray]:
    """Return each coefficient under each resample; NaN where it is undefined.

    Every coefficient is a function of sums over items, so all resamples of a sum are one product.
    """
    values, codes, totals = rated.coded
    used = np.flatnonzero(drawn >= 0)
    rows: list[FloatArray] = []

    def add(by_item: FloatArray) -> int:
        """Add a row of sums by group, and return its place."""
        rows.append(weighted_sums(drawn[used], by_item[used], count))
        return len(rows) - 1

    sizes = rated.sizes.astype(np.float64)
    size = add(sizes)
    few = len(values) <= MOST_GRADES
    levels: tuple[Level, ...] = ("interval",) if few else ("interval", "ordinal")
    moments = {}
    for level in levels:
        scores = _scores(values, totals, level)[codes]
        sums_by_item = rated.sums(scores), rated.sums(scores**2)
        moments[level] = add(_disagreements(rated, scores)), *map(add, sums_by_item)
    if few:
        nominal = add(_disagreements(rated))
        agreed = add((rated.squares - sizes) / np.maximum(sizes * (sizes - 1), 1))
        items = add((sizes > 0).astype(np.float64))
        counts = np.zeros((len(values), rated.items))
        item, code, votes = rated.votes
        counts[code, item] = votes
        shares = [add(each / np.maximum(sizes, 1)) for each in counts]
        tables = {
            (c, k): add(counts[c] * (counts[k] - (c == k)) / np.maximum(sizes - 1, 1))
            for c in range(len(values))
            for k in range(c, len(values))
        }
    sums = resampled_means(np.stack(rows), resamples=resamples, seed=seed) * count
    answers: dict[str, FloatArray] = {}
    for name, (seen, mean, square) in moments.items():
        chance = 2 * (sums[size] * sums[square] - sums[mean] ** 2)
        answers[name] = _beyond((sums[size] - 1) * sums[seen], chance)
    if few:
        table = np.empty((len(values), len(values), resamples))
        for (c, k), place in tables.items():
            table[c, k] = table[k, c] = sums[place]
        margins = table.sum(axis=1)  # [grade, resample]
        total = margins.sum(axis=0)
        chance = total**2 - (margins**2).sum(axis=0)
        answers["nominal"] = _beyond((total - 1) * sums[nominal], chance)
        ranks = np.cumsum(margins, axis=0) - margins / 2
        distances = (ranks[:, np.newaxis] - ranks) ** 2
        chance = (margins[:, np.newaxis] * margins * distances).sum(axis=(0, 1))
        answers["ordinal"] = _beyond((total - 1) * (table * distances).sum(axis=(0, 1)), chance)
        share = sums[shares] / sums[items]
        answers["fleiss"] = _beyond(1 - sums[agreed] / sums[items], 1 - (share**2).sum(axis=0))
    return answers


def _beyond(seen: FloatArray, chance: FloatArray) -> FloatArray:
    """Return 1 − seen / chance; NaN where chance leaves no disagreement, but for rounding."""
    known = chance > 1e-9
    return np.where(known, 1 - seen / np.where(known, chance, 1.0), np.nan)


def _interval(values: FloatArray, level: float) -> Interval | None:
    known = values[~np.isnan(values)]
    if 2 * len(known) < len(values):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]).tolist()
    lost = len(values) - len(known)
    note = f"undefined in {lost:,} of {len(values):,} resamples" if lost else ""
    return Interval(low=low, high=high, level=level, method="percentile", note=note)


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


def median_grades(grades: npt.ArrayLike | Rated) -> FloatArray:
    """Return the median of the grades, by item; NaN where nobody rated.

    >>> median_grades([[0, 1, 3], [0, 2, np.nan], [3, np.nan, np.nan]]).tolist()
    [0.0, 1.5, 3.0]
    """
    rated = Rated.of(grades)
    grade = rated.grade[np.lexsort((rated.grade, rated.item))]
    sizes = rated.sizes
    known = np.flatnonzero(sizes)
    begins = (np.cumsum(sizes) - sizes)[known]
    lower, upper = (sizes[known] - 1) // 2, sizes[known] // 2
    answer = np.full(rated.items, np.nan)
    answer[known] = (grade[begins + lower] + grade[begins + upper]) / 2
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
