"""The comparison of pairs: tests, corrections, verdicts and letters, for every door.

The one engine behind `compare`, the gate, segments, analyses and the comparison of experiments.
What a family decides (p-values, corrections, verdicts) is computed for all pairs at once; a `Pair`
is made when it is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError, counted
from rankscope.statistics.choices import CORRECTIONS
from rankscope.statistics.correction import corrected
from rankscope.statistics.groups import as_good_as_best, letters
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.pair import VERDICTS, Equivalence, Pair, Pairs
from rankscope.statistics.pair_differences import BoolArray, Differences
from rankscope.statistics.paired import ENUMERATED
from rankscope.statistics.power import POWER, detectable_like

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.matrix import IntArray, Matrix, Scale
    from rankscope.statistics.noise import Noises
    from rankscope.statistics.pair import Verdict
    from rankscope.statistics.settings import Settings

MOST_TOGETHER = 50
"""Of more systems than this only the pairs that are asked about are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """Pairs that were tested as a family; arrays have a number for each row, measure by measure."""

    matrix: Matrix
    pairs: IntArray
    """``[pairs, 2]``: base and system."""
    settings: Settings
    rows: Differences
    corrected: FloatArray
    """P-values, corrected over each measure's pairs, or over all rows."""
    same: FloatArray | None
    """P-values of equivalence, corrected likewise; None where no margin was given."""
    power: float

    @property
    def size(self) -> int:
        """How many tests are in a family."""
        if self.settings.correction == "none":
            return 1
        return len(self.rows) if self.settings.family == "all" else len(self.pairs)

    @property
    def verdicts(self) -> npt.NDArray[np.int8]:
        """The verdict of each row, as places in `VERDICTS`."""
        alpha = self.settings.alpha
        gains = self.rows.mean * self._signs
        verdict = np.where(gains > 0, VERDICTS.index("better"), VERDICTS.index("worse"))
        verdict[~self.rows.shown(self.corrected, alpha)] = VERDICTS.index("can't tell")
        if self.same is not None:
            verdict[self.same <= alpha] = VERDICTS.index("equivalent")
        return verdict.astype(np.int8)

    @property
    def decidable(self) -> BoolArray:
        """Tell which rows could have been shown to differ, had their queries said it clearly.

        With the smallest p-value that as many differing queries can have (2 / 2^d), corrected among
        the p-values of the others as they are.
        """
        floor, times = self.rows.floor, np.ones(len(self.rows))
        if self.settings.correction == "bonferroni":
            times[:] = self.size
        elif self.settings.correction == "holm":
            for part in self._families():
                smaller = np.searchsorted(np.sort(self.rows.p[part]), floor[part])
                times[part] = np.maximum(self.size - smaller, 1)
        return np.asarray(floor * times <= self.settings.alpha)

    @property
    def note(self) -> str:
        """Say what the tests could not show, whatever the outcome; '' if they could."""
        differ = self.rows.differing > 0
        unable = ~self.decidable & differ
        if not unable.any():
            return ""
        alpha, total = self.settings.alpha, int(np.count_nonzero(differ))
        if unable.sum() < total:
            return (
                f"{counted(int(unable.sum()), 'pair')} of {total:,} differ on too few queries for "
                f"any outcome to be significant at {alpha:g}"
            )
        floor = self.rows.floor[differ].min()
        over = f" before correction over {self.size:,} tests" if self.size > 1 else ""
        return (
            f"too few queries differ to show anything: the smallest possible p-value is "
            f"{floor:.3g}{over}, and {alpha:g} is asked for"
        )

    @property
    def _signs(self) -> FloatArray:
        signs = [1.0 if scale.higher_is_better else -1.0 for scale in self.matrix.scales]
        return np.repeat(signs, len(self.pairs))

    def _families(self) -> list[slice]:
        step = max(1, len(self.rows) if self.settings.family == "all" else len(self.pairs))
        return [slice(start, start + step) for start in range(0, len(self.rows), step)]

    def made(self, chosen: IntArray) -> list[Pair]:
        """Make the pairs of some rows."""
        matrix, rows, verdicts, decidable = self.matrix, self.rows, self.verdicts, self.decidable
        intervals = rows.intervals(self.corrected, self.settings.alpha, chosen)
        means, detectable = matrix.means(), self._detectable(chosen)
        methods = _methods(rows, self.settings, self.size, chosen)
        made = []
        for at, row in enumerate(chosen.tolist()):
            measure, place = divmod(row, len(self.pairs))
            base, system = self.pairs[place].tolist()
            scale, base_mean = matrix.scales[measure], float(means[measure, base])
            wins, losses = int(rows.wins[row]), int(rows.losses[row])
            difference = float(rows.mean[row])
            made.append(
                Pair(
                    measure=scale.name,
                    base=matrix.systems[base],
                    system=matrix.systems[system],
                    queries=len(matrix.query_ids),
                    base_mean=base_mean,
                    system_mean=float(means[measure, system]),
                    difference=difference,
                    interval=intervals[at],
                    relative=difference / base_mean if base_mean else None,
                    wins=wins if scale.higher_is_better else losses,
                    ties=len(matrix.query_ids) - wins - losses,
                    losses=losses if scale.higher_is_better else wins,
                    d=_effect(difference, float(rows.deviation[row])),
                    p=float(rows.p[row]),
                    p_corrected=float(self.corrected[row]),
                    family=self.size,
                    method=methods[at],
                    verdict=VERDICTS[verdicts[row]],
                    drawn=rows.units,
                    differing=int(rows.differing[row]),
                    decidable=bool(decidable[row]),
                    detectable=detectable[at],
                    equivalence=self._equivalence(row),
                )
            )
        return made

    def _equivalence(self, row: int) -> Equivalence | None:
        if self.same is None or self.settings.margin is None:
            return None
        return Equivalence(margin=self.settings.margin, p=float(self.same[row]))

    def _detectable(self, chosen: IntArray) -> list[float]:
        """Return the smallest difference each row shows, at the hardest step of the correction.

        Infinite where noise or weights leave more to chance than a formula knows.
        """
        sample, rows = self.matrix.sample, self.rows
        if sample is not None and sample.weights is not None:
            return [math.inf] * len(chosen)
        answers = detectable_like(
            rows.units,
            rows.differing[chosen] / rows.units,
            rows.spread[chosen],
            alpha=step_alpha(self.settings, self.size),
            power=self.power,
            largest=rows.high[chosen],
        )
        return [float(answer) for answer in np.where(rows.noisy[chosen], math.inf, answers)]


def step_alpha(settings: Settings, family: int) -> float:
    """Return the alpha of the hardest step of a correction."""
    return settings.alpha if settings.correction in ("none", "bh") else settings.alpha / family


def _effect(difference: float, deviation: float) -> float:
    """Return Cohen's d; without spread 0 if there is no difference, and else infinite."""
    if deviation:
        return difference / deviation
    return math.copysign(math.inf, difference) if difference else 0.0


def _methods(rows: Differences, settings: Settings, size: int, chosen: IntArray) -> list[str]:
    """Return how each p-value was found."""
    drawn = settings.resamples_for(size)
    methods = []
    for row in chosen.tolist():
        is_single = not math.isnan(rows.size[row])
        if settings.test == "bootstrap":
            methods.append(f"bootstrap, {drawn:,} resamples")
        elif settings.test == "t":
            methods.append("sign" if is_single else "t")
        elif is_single or rows.differing[row] <= ENUMERATED:
            methods.append("permutation, all sign flips")
        else:
            methods.append(f"permutation, {drawn:,} sign flips")
    return methods


# --- families ------------------------------------------------------------------------------------


def family_tests(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    noises: Noises | None = None,
    power: float = POWER,
) -> Tested:
    """Test pairs (base, system), measure by measure, and correct their p-values.

    ``noises`` is what is known of how far systems move by themselves, beside what the matrix knows;
    ``power`` the one with which the smallest detectable difference is seen.
    """
    for scale in matrix.scales:
        if settings.margin is not None and settings.margin >= scale.change[1]:
            raise InputError(
                f"margin is {settings.margin:g}, and {scale.name} cannot differ by more than "
                f"{scale.change[1]:g}; name one below that, such as 0.02"
            )
    size = len(pairs) * (len(matrix.scales) if settings.family == "all" else 1)
    rows = Differences.of(matrix, pairs, settings, noises=noises, family=size)
    same = None
    if settings.margin is not None:
        same = over_family(rows.equivalence_p(settings.margin), len(pairs), settings)
    return Tested(
        matrix=matrix,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        settings=settings,
        rows=rows,
        corrected=over_family(rows.p, len(pairs), settings),
        same=same,
        power=power,
    )


def over_family(p_values: FloatArray, pairs: int, settings: Settings) -> FloatArray:
    """Correct p-values over each measure's pairs, or over all of them."""
    if settings.family == "all" or not pairs:
        return corrected(p_values, settings.correction)
    by_measure = p_values.reshape(-1, pairs)
    return np.concatenate([corrected(row, settings.correction) for row in by_measure])


def compare_pairs(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    noises: Noises | None = None,
) -> Pairs:
    """Compare pairs (base, system), measure by measure.

    A verdict of better or worse needs a corrected p-value of at most alpha. With a margin, a pair
    whose two one-sided t tests, corrected likewise, rule out a difference as large as the margin is
    equivalent, be the difference significant or not.
    """
    return as_pairs(family_tests(matrix, pairs, settings, noises=noises))


def as_pairs(tested: Tested) -> Pairs:
    """Return pairs that were tested; each is made when it is looked at."""
    measure, place = np.divmod(np.arange(len(tested.rows)), max(len(tested.pairs), 1))
    return Pairs(
        tested.made,
        measures=[scale.name for scale in tested.matrix.scales],
        systems=tested.matrix.systems,
        measure=measure,
        base=tested.pairs[place, 0],
        system=tested.pairs[place, 1],
        verdict=tested.verdicts,
    )


def compare_with_all(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], settings: Settings
) -> tuple[Pair, ...]:
    """Compare pairs (base, system) by the first measure, as one family with all other pairs.

    So what an analysis says of two systems never contradicts a comparison of all of them.
    """
    known = {frozenset(pair) for pair in pairs}
    count = len(matrix.systems)
    others = [pair for pair in combinations(range(count), 2) if frozenset(pair) not in known]
    family = [*pairs, *(others if count <= MOST_TOGETHER else [])]
    return compare_pairs(matrix.only_measures(1), family, settings)[: len(pairs)]


def family_words(pairs: int, measures: int, settings: Settings) -> str:
    """Say which tests were corrected together, and how."""
    each = "the one pair" if pairs == 1 else f"the {pairs:,} pairs"
    if settings.family == "all" and measures > 1:
        each = f"all {pairs * measures:,} pairs of {measures} measures together"
    elif measures > 1:
        each += " of each measure"
    if pairs == 1 and (settings.family == "measure" or measures == 1):
        return f"family: {each}"
    return f"family: {each}; {CORRECTIONS[settings.correction]}"


def system_groups(matrix: Matrix, compared: Pairs) -> list[tuple[list[str], set[int]]]:
    """Return letters of each system, and who is not separated from the best, by measure.

    The pairs must be all pairs, and their own tests decide: two systems share a letter if and only
    if no difference between them is shown.
    """
    groups = []
    for scale, means in zip(matrix.scales, matrix.means(), strict=True):
        apart = compared.apart(scale.name, matrix.systems)
        order = np.argsort(-means if scale.higher_is_better else means, kind="stable").tolist()
        groups.append((letters(apart, order), set(as_good_as_best(apart, order))))
    return groups


# --- means, and groups of queries ----------------------------------------------------------------


def mean_rows(matrix: Matrix, settings: Settings) -> list[Interval]:
    """Return the interval of the mean of each measure and system, ``m * s`` of them."""
    rows = matrix.values.reshape(-1, matrix.shape[2])
    bounds = [scale.bounds for scale in matrix.row_scales()]
    if matrix.sample is not None:
        return matrix.sample.intervals(rows, level=settings.level, bounds=bounds)
    return mean_intervals(
        rows, method=settings.interval, bounds=bounds, level=settings.level, **settings.resampling
    )


@dataclass(frozen=True, slots=True)
class Group:
    """What a group of queries says: a row for each measure and system, and measure and pair."""

    label: str
    n: int
    means: list[float]
    """Of row ``measure * systems + system``."""
    intervals: list[Interval]
    """Of the means."""
    differences: list[float]
    """Of row ``measure * pairs + pair``."""
    difference_intervals: list[Interval]
    """Of the differences; they agree with the corrected p-values."""
    p: list[float]
    """Of the differences."""
    p_corrected: list[float]
    """Over the groups."""


def by_group(
    matrix: Matrix,
    members: Mapping[str, Sequence[int]],
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    family: int | None = None,
) -> list[Group]:
    """Compare pairs (base, system) within each group of queries.

    ``members`` are the columns of each group's queries. For each measure and pair, p-values are
    corrected over the groups; where these were chosen from a larger ``family``, each is multiplied
    by its size.
    """
    size = len(members) if family is None else family
    parts = {label: matrix.only_queries(columns) for label, columns in members.items()}
    tested = {
        label: Differences.of(part, pairs, settings, family=size) for label, part in parts.items()
    }
    p_values = np.array([rows.p for rows in tested.values()])  # [groups, rows]
    if family is not None:
        adjusted = np.minimum(p_values * family, 1.0)
    elif p_values.size:
        adjusted = np.apply_along_axis(corrected, 0, p_values, settings.correction)
    else:
        adjusted = p_values
    return [
        Group(
            label=label,
            n=part.shape[2],
            means=part.means().ravel().tolist(),
            intervals=mean_rows(part, settings),
            differences=tested[label].mean.tolist(),
            difference_intervals=tested[label].intervals(p_corrected, settings.alpha),
            p=tested[label].p.tolist(),
            p_corrected=p_corrected.tolist(),
        )
        for (label, part), p_corrected in zip(parts.items(), adjusted, strict=True)
    ]


def decided(difference: float, p_corrected: float, scale: Scale, alpha: float) -> Verdict:
    """Return what a test of a mean difference shows."""
    if p_corrected > alpha or not difference:
        return "can't tell"
    return "better" if scale.is_better(difference) else "worse"
