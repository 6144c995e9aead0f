"""The comparison of pairs: tests, corrections and verdicts of all of them, and each in full.

The one engine behind `compare`, `gate`, analyses and the comparison of experiments: where
intervals, tests, correction, effect sizes, power and equivalence come together. What a family
decides (p-values, corrections, verdicts) is computed for all pairs, in blocks of differences that
are dropped again; what concerns one pair alone (intervals, effect, power) when the pair is looked
at. So memory is bounded by a few numbers for each pair, however many queries there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError
from rankscope.statistics.arrays import constant_rows, row_blocks, row_deviations, row_means
from rankscope.statistics.clusters import cluster_tests
from rankscope.statistics.detectable import POWER
from rankscope.statistics.equivalence import Equivalence, equivalence_tests, noisy_equivalence
from rankscope.statistics.family import FamilyTests, family_tests, over_family
from rankscope.statistics.groups import as_good_as_best, letters
from rankscope.statistics.noise import noisy_difference
from rankscope.statistics.pair import VERDICTS, Pair, Pairs
from rankscope.statistics.pairwise import agreeing, family_level, repeat_noises, row_intervals
from rankscope.statistics.reach import detectable_rows

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.matrix import IntArray, Matrix, Scale
    from rankscope.statistics.noise import RunNoise
    from rankscope.statistics.pair import BoolArray
    from rankscope.statistics.pairwise import Noises
    from rankscope.statistics.settings import Settings

MOST_TOGETHER = 50
"""Of more systems than this only the pairs that are asked about are compared."""


def compare_pairs(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    tests: FamilyTests | None = None,
    noises: Noises | None = None,
    power: float = POWER,
) -> Pairs:
    """Compare pairs (base, system), measure by measure.

    A verdict of better or worse needs a corrected p-value of at most alpha, and a mean difference
    in that direction (for the Wilcoxon and sign tests also more wins than losses). With a margin,
    a pair whose two one-sided t tests, corrected likewise, rule out a difference as large as the
    margin is equivalent, be the difference significant or not.

    ``tests`` are those of the pairs, if they were made already; ``noises`` what is known of how
    far systems move by themselves, beside what the matrix knows; ``power`` is the one with which
    the smallest detectable difference is seen.
    """
    _check_margin(matrix.scales, settings)
    tests = tests or family_tests(matrix, pairs, settings)
    noises = {**repeat_noises(matrix, pairs), **(noises or {})}
    p_values, adjusted = _with_noise(tests, matrix, pairs, noises, settings)
    listed = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    rows = np.arange(adjusted.size)
    measure, place = np.divmod(rows, max(len(pairs), 1))
    by_row = {key[0] * len(pairs) + key[1]: noise for key, noise in noises.items()}
    work = _Work(matrix, listed, settings, by_row)
    same = _corrected_equivalence(work)
    shown, verdict = _decided(work, adjusted.ravel(), same)
    maker = _Maker(work, tests, power, p_values.ravel(), adjusted.ravel(), same, shown, verdict)
    return Pairs(
        maker.made,
        measures=[scale.name for scale in matrix.scales],
        systems=matrix.systems,
        measure=measure,
        base=listed[place, 0],
        system=listed[place, 1],
        verdict=verdict,
    )


def family_p(matrix: Matrix, pairs: Sequence[tuple[int, int]], settings: Settings) -> FloatArray:
    """Return the corrected p-values ``[m, pairs]`` that `compare_pairs` has, and nothing else."""
    tests = family_tests(matrix, pairs, settings)
    return _with_noise(tests, matrix, pairs, repeat_noises(matrix, pairs), settings)[1]


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


# --- all pairs of a family -----------------------------------------------------------------------


def _check_margin(scales: Sequence[Scale], settings: Settings) -> None:
    for scale in scales:
        if settings.margin is not None and settings.margin >= scale.change[1]:
            raise InputError(
                f"margin is {settings.margin:g}, and {scale.name} cannot differ by more than "
                f"{scale.change[1]:g}; name one below that, such as 0.02"
            )


def _with_noise(
    tests: FamilyTests,
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    noises: Noises,
    settings: Settings,
) -> tuple[FloatArray, FloatArray]:
    """Return p-values before and after correction, no smaller than noise and weights allow.

    Where few queries have most of the weight, flips of their signs promise more than the t test of
    the weighted mean, which knows how many queries that is worth.
    """
    sample = matrix.sample
    if not noises and (sample is None or sample.weights is None):
        return tests.p, tests.corrected
    listed = np.array(pairs, dtype=np.int64)
    by_t = np.zeros(tests.p.size)
    if sample is not None and sample.weights is not None:
        for block in row_blocks(len(by_t), matrix.shape[2]):
            rows = matrix.pair_rows(np.arange(block.start, block.stop), listed)
            by_t[block] = cluster_tests(
                rows, clusters=sample.clusters, weights=sample.weights, test="t"
            )
    for (measure, pair), noise in noises.items():
        row = measure * len(pairs) + pair
        [units] = matrix.units(matrix.pair_rows(np.array([row]), listed))
        by_t[row] = max(by_t[row], noisy_difference(units, noise, level=settings.level).p)
    p_values = by_t.reshape(tests.p.shape)
    corrected = np.maximum(tests.corrected, over_family(p_values, settings))
    return np.maximum(tests.p, p_values), corrected


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What pairs are compared by; a row is a pair on one measure."""

    matrix: Matrix
    pairs: IntArray
    """``[pairs, 2]``: base and system."""
    settings: Settings
    noises: Mapping[int, Sequence[tuple[RunNoise, float]]]
    """How far systems move by themselves, by row."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.matrix.scales) * len(self.pairs)

    def rows(self, chosen: IntArray) -> _Rows:
        """Return the differences of some rows."""
        rows = self.matrix.pair_rows(chosen, self.pairs)
        measures = (chosen // len(self.pairs)).tolist()
        numbers = chosen.tolist()
        return _Rows(
            numbers=numbers,
            by_query=rows,
            units=self.matrix.units(rows),
            scales=[self.matrix.scales[measure] for measure in measures],
            noises={at: self.noises[row] for at, row in enumerate(numbers) if row in self.noises},
        )

    def blocks(self) -> Iterator[tuple[slice, _Rows]]:
        """Yield the differences of all rows, block by block."""
        for block in row_blocks(self.count, self.matrix.shape[2]):
            yield block, self.rows(np.arange(block.start, block.stop))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The differences of some rows."""

    numbers: list[int]
    """Which rows they are."""
    by_query: FloatArray
    units: FloatArray
    """By what is drawn: queries, or clusters of them."""
    scales: list[Scale]
    noises: Mapping[int, Sequence[tuple[RunNoise, float]]]
    """By place among these rows."""

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The lowest and highest difference of each row."""
        return [scale.change for scale in self.scales]


def _decided(
    work: _Work, corrected: FloatArray, same: FloatArray | None
) -> tuple[BoolArray, npt.NDArray[np.int8]]:
    """Return which rows are shown to differ, and the verdicts, as places in `VERDICTS`."""
    alpha = work.settings.alpha
    by_rank = work.settings.test in ("wilcoxon", "sign")  # these do not test the mean
    gains, agrees = np.empty(work.count), np.ones(work.count, dtype=bool)
    for block, rows in work.blocks():
        sign = np.array([1.0 if scale.higher_is_better else -1.0 for scale in rows.scales])
        gains[block] = sign * row_means(rows.units)
        if by_rank:
            changes = rows.by_query
            wins = np.count_nonzero(changes > 0, axis=1) - np.count_nonzero(changes < 0, axis=1)
            agrees[block] = gains[block] * sign * wins > 0
    shown = (corrected <= alpha) & (gains != 0) & agrees
    verdict = np.where(gains > 0, VERDICTS.index("better"), VERDICTS.index("worse"))
    verdict[~shown] = VERDICTS.index("no difference shown")
    if same is not None:
        verdict[same <= alpha] = VERDICTS.index("equivalent")
    return shown, verdict.astype(np.int8)


def _corrected_equivalence(work: _Work) -> FloatArray | None:
    """Return p-values of equivalence, corrected over the same family as the differences."""
    if work.settings.margin is None:
        return None
    p_values = np.empty(work.count)
    for block, rows in work.blocks():
        p_values[block] = [test.p for test in _equivalence(rows, work.settings)]
    by_measure = p_values.reshape(len(work.matrix.scales), -1)
    return over_family(by_measure, work.settings).ravel()


def _equivalence(rows: _Rows, settings: Settings) -> list[Equivalence]:
    """Test equivalence within the margin, each row by itself."""
    assert settings.margin is not None
    tests = equivalence_tests(
        rows.units, margin=settings.margin, alpha=settings.alpha, bounds=rows.bounds
    )
    for at, noise in rows.noises.items():
        tests[at] = noisy_equivalence(
            tests[at], rows.units[at], noise, alpha=settings.alpha, bounds=rows.scales[at].change
        )
    return tests


# --- one pair ------------------------------------------------------------------------------------


def paired_d(rows: FloatArray) -> list[float]:
    """Return the mean of each row of differences in its standard deviations.

    Without spread it is 0 if the differences are 0, and else infinite.
    """
    constant, means = constant_rows(rows), row_means(rows)
    effects = np.where(means == 0, 0.0, np.copysign(math.inf, means))
    if not constant.all():
        varying = rows[~constant]
        effects[~constant] = row_means(varying) / row_deviations(varying)
    return [float(effect) for effect in effects]


@dataclass(frozen=True, slots=True, eq=False)
class _Maker:
    """Makes the pairs of any rows from what was decided of all of them."""

    work: _Work
    tests: FamilyTests
    power: float
    p: FloatArray
    corrected: FloatArray
    same: FloatArray | None
    """P-values of equivalence, corrected; None where no margin was given."""
    shown: BoolArray
    """Whether a difference is shown, be it equivalent within the margin or not."""
    verdict: npt.NDArray[np.int8]

    def made(self, chosen: IntArray) -> list[Pair]:
        """Make the pairs of some rows."""
        settings, matrix = self.work.settings, self.work.matrix
        rows = self.work.rows(chosen)
        means = matrix.means()  # [m, s]
        changes = row_means(rows.units).tolist()
        alone, at_once = self._intervals(rows, changes)
        effects = paired_d(rows.units)
        detectable = self._detectable(rows)
        equivalence = self._equivalence(rows)
        compared = []
        for at, (row, scale) in enumerate(zip(rows.numbers, rows.scales, strict=True)):
            measure, place = divmod(row, len(self.work.pairs))
            base, system = self.work.pairs[place].tolist()
            base_mean = float(means[measure, base])
            gains = rows.by_query[at] if scale.higher_is_better else -rows.by_query[at]
            wins, losses = int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains < 0))
            compared.append(
                Pair(
                    measure=scale.name,
                    base=matrix.systems[base],
                    system=matrix.systems[system],
                    queries=len(gains),
                    base_mean=base_mean,
                    system_mean=float(means[measure, system]),
                    difference=changes[at],
                    interval=alone[at],
                    simultaneous=at_once[at],
                    relative=changes[at] / base_mean if base_mean else None,
                    wins=wins,
                    ties=len(gains) - wins - losses,
                    losses=losses,
                    d=effects[at],
                    p=float(self.p[row]),
                    p_corrected=float(self.corrected[row]),
                    family=1 if settings.correction == "none" else self.tests.size,
                    method=self.tests.methods[row],
                    verdict=VERDICTS[self.verdict[row]],
                    drawn=rows.units.shape[1],
                    differing=int(np.count_nonzero(rows.units[at])),
                    decidable=bool(self.tests.floor.flat[row] <= settings.alpha),
                    detectable=detectable[at],
                    equivalence=equivalence[at],
                )
            )
        return compared

    def _intervals(
        self, rows: _Rows, changes: Sequence[float]
    ) -> tuple[list[Interval], list[Interval]]:
        """Return the interval of each difference alone, and for the family at once."""
        matrix, settings = self.work.matrix, self.work.settings
        alone = row_intervals(matrix, rows.by_query, rows.bounds, settings.level, rows.noises)
        at_once = alone
        level = family_level(1 - settings.alpha, self.tests.size, settings)
        if level != settings.level:
            at_once = row_intervals(matrix, rows.by_query, rows.bounds, level, rows.noises)
        above_alpha = math.nextafter(settings.alpha, 1.0)
        agreed = []
        for row, change, interval in zip(rows.numbers, changes, at_once, strict=True):
            p = float(self.corrected[row])
            p = p if self.shown[row] else max(p, above_alpha)
            interval = agreeing(interval, change, p, settings.alpha)  # noqa: PLW2901
            agreed.append(interval.model_copy(update={"level": 1 - settings.alpha}))
        is_the_same = self.tests.size == 1 and level == settings.level
        return (agreed if is_the_same else alone), agreed

    def _detectable(self, rows: _Rows) -> list[float]:
        """Return the smallest difference each row shows, at the hardest step of the correction."""
        sample = self.work.matrix.sample
        answers = np.full(len(rows.numbers), math.inf)
        if sample is not None and sample.weights is not None:
            return answers.tolist()
        measures = np.array(rows.numbers) // len(self.work.pairs)
        for measure in np.unique(measures).tolist():
            part = measures == measure
            answers[part] = detectable_rows(
                rows.units[part],
                alpha=float(self.tests.step[measure]),
                power=self.power,
                largest=self.work.matrix.scales[measure].change[1],
            )
        answers[list(rows.noises)] = math.inf
        return answers.tolist()

    def _equivalence(self, rows: _Rows) -> Sequence[Equivalence | None]:
        """Return the tests of equivalence with their corrected p-values."""
        if self.same is None:
            return [None] * len(rows.numbers)
        alpha = self.work.settings.alpha
        return [
            test.model_copy(update={"p": p, "equivalent": p <= alpha})
            for test, p in zip(
                _equivalence(rows, self.work.settings),
                self.same[rows.numbers].tolist(),
                strict=True,
            )
        ]
