"""A judge against another: how often it is right, and whether a constant answer would do as well.

With skewed grades a high accuracy is easy: whoever always says the most frequent grade has it, too.
So each judge is set beside the best constant answer, of which it must be significantly better
(McNemar's exact test over the pairs on which one of them is right and the other is wrong). The
constant is chosen on the same pairs, with hindsight: the comparison is rather too strict than too
lenient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import (
    MOST_GRADES,
    Rated,
    RaterAgreement,
    coded,
    cohen_kappa,
    krippendorff_alpha,
)
from rankscope.statistics.tests import corrected, sign_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.judged import FloatArray

FINAL, QRELS, MAJORITY = "final", "qrels", "majority"
"""What a judge can be compared with, beside another rater."""


class JudgeComparison(Part):
    """One judge against a reference, over the pairs that both judged."""

    judge: str
    """The rater that is looked at."""
    reference: str
    """What its grades are compared with: a rater, ``final``, the ``qrels`` given, or the
    ``majority`` of the others, without those that are apart."""
    items: int
    """Pairs that both judged."""
    grades: tuple[float, ...]
    """All grades that either gave, lowest first; none if there are too many for a table."""
    confusion: tuple[tuple[int, ...], ...]
    """By grade of the judge, by grade of the reference: how many pairs."""
    accuracy: float
    """Share of pairs with the same grade."""
    within_one: float
    """Share of pairs whose grades differ by at most 1."""
    kappa: RaterAgreement
    """Cohen's kappa."""
    quadratic: RaterAgreement
    """Cohen's kappa with quadratic weights."""
    constant: float
    """The most frequent grade of the reference: the best constant answer; of several the lowest."""
    constant_accuracy: float
    """The accuracy of always saying that."""
    p_corrected: float
    """Of the difference between the two accuracies: McNemar's exact test, with Holm's correction
    over the judges."""
    deciding: int
    """Pairs on which either the judge or the constant is right, and not both: what is tested."""
    squared_error: float
    """Mean squared difference to the reference."""
    constant_squared_error: float
    """The squared error of always saying the mean grade of the reference: its variance."""

    @property
    def is_better(self) -> bool:
        """Whether the judge is right more often than the constant."""
        return self.accuracy > self.constant_accuracy


class SelfAgreement(Part):
    """How far one rater agrees with itself, over the pairs that it judged again."""

    rater: str
    """The rater."""
    items: int
    """Pairs that it judged at least twice."""
    repeats: int
    """How often it judged a pair at most."""
    equal: float
    """Share of them with the same grade in the first two ratings."""
    all_equal: float
    """Share of them with the same grade in all ratings."""
    kappa: RaterAgreement
    """Cohen's kappa between the first two ratings."""
    quadratic: RaterAgreement
    """The same with quadratic weights."""
    alpha: RaterAgreement
    """Krippendorff's alpha (ordinal) between all ratings."""


def compared(
    judges: Sequence[tuple[str, FloatArray, str, FloatArray]],
) -> tuple[JudgeComparison, ...]:
    """Compare judges with references: name and grades of each, by item; NaN where there is none.

    A judge that shares no item with its reference is left out.
    """
    rows = []
    for judge, grades, reference, truth in judges:
        both = ~np.isnan(grades) & ~np.isnan(truth)
        if both.any():
            rows.append((judge, grades[both], reference, truth[both]))
    constants = [_most_frequent(truth) for _, _, _, truth in rows]
    tests = []
    for (_, grades, _, truth), constant in zip(rows, constants, strict=True):
        advantage = (grades == truth).astype(np.float64) - (truth == constant)
        above, below = np.count_nonzero(advantage > 0), np.count_nonzero(advantage < 0)
        tests.append((float(sign_p(above, below)), int(above + below)))  # McNemar's exact test
    p_values = corrected([p for p, _ in tests], "holm").tolist()
    return tuple(
        _comparison(*row, constant, p, deciding)
        for row, constant, p, (_, deciding) in zip(rows, constants, p_values, tests, strict=True)
    )


def _most_frequent(grades: FloatArray) -> float:
    values, _, totals = coded(grades)
    return float(values[np.argmax(totals)])


def _comparison(  # noqa: PLR0917
    judge: str,
    grades: FloatArray,
    reference: str,
    truth: FloatArray,
    constant: float,
    p: float,
    deciding: int,
) -> JudgeComparison:
    values, codes, _ = coded(np.concatenate([grades, truth]))
    few = len(values) <= MOST_GRADES
    table = np.zeros((0, 0), np.int64)
    if few:
        cells = codes[: len(grades)] * len(values) + codes[len(grades) :]
        table = np.bincount(cells, minlength=len(values) ** 2).reshape(len(values), -1)
    mean = float(truth.mean())
    return JudgeComparison(
        judge=judge,
        reference=reference,
        items=len(grades),
        grades=tuple(values.tolist()) if few else (),
        confusion=tuple(tuple(row) for row in table.tolist()),
        accuracy=float((grades == truth).mean()),
        within_one=float((np.abs(grades - truth) <= 1).mean()),
        kappa=cohen_kappa(grades, truth),
        quadratic=cohen_kappa(grades, truth, weights="quadratic"),
        constant=constant,
        constant_accuracy=float((truth == constant).mean()),
        p_corrected=p,
        deciding=deciding,
        squared_error=float(((grades - truth) ** 2).mean()),
        constant_squared_error=float(((truth - mean) ** 2).mean()),
    )


def fails_constant(comparison: JudgeComparison, *, alpha: float, family: int) -> bool:
    """Tell whether a judge is not better than the best constant answer.

    Where all pairs have the reference's grade no judge can be better. Where too few pairs decide
    for the test to tell, only a judge that is plainly not better fails.
    """
    if comparison.constant_accuracy == 1 or comparison.items < FEWEST:
        return False
    if not comparison.is_better:
        return True
    could_tell = 2.0 ** (1 - comparison.deciding) * family <= alpha
    return could_tell and comparison.p_corrected > alpha


def self_agreement(
    rater: str, item: np.ndarray, repeat: np.ndarray, grade: np.ndarray
) -> SelfAgreement | None:
    """Compare the ratings that one rater gave to the same items; None if there are none."""
    again = np.unique(item[repeat == 2])
    if not len(again):
        return None
    keep = np.isin(item, again)
    numbers = np.searchsorted(again, item[keep])
    repeats = int(repeat[keep].max())
    rated = Rated(repeat[keep] - 1, numbers, grade[keep].astype(np.float64), len(again))
    first, second = np.empty(len(again)), np.empty(len(again))
    for place, target in enumerate((first, second)):
        rows = rated.rater == place
        target[rated.item[rows]] = rated.grade[rows]
    lowest, highest = np.full(len(again), np.inf), np.full(len(again), -np.inf)
    np.minimum.at(lowest, rated.item, rated.grade)
    np.maximum.at(highest, rated.item, rated.grade)
    return SelfAgreement(
        rater=rater,
        items=len(again),
        repeats=repeats,
        equal=float((first == second).mean()),
        all_equal=float((lowest == highest).mean()),
        kappa=cohen_kappa(first, second),
        quadratic=cohen_kappa(first, second, weights="quadratic"),
        alpha=krippendorff_alpha(rated, level="ordinal"),
    )
