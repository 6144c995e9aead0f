"""How far raters agree on what they judged, and which pairs are worth judging again.

The statistics are those of `rankscope.statistics.rater_agreement`; `rankscope diagnose --ratings`
says much more of an exported file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rankscope.statistics.rater_agreement import (
    RaterAgreement,
    cohen_kappa,
    krippendorff_alpha,
)

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray
    from rankscope.reports.judging.judgment_log import Judgments, Pair

MOST_RATERS = 30
"""With more raters than this they are not compared two by two."""


@dataclass(frozen=True, slots=True)
class TwoRaters:
    """How far two raters agree."""

    first: str
    second: str
    shared: int
    """Pairs that both graded."""
    equal: float | None
    """Share of them with the same grade."""
    kappa: RaterAgreement
    """Cohen's kappa."""
    quadratic: RaterAgreement
    """Cohen's kappa with quadratic weights."""


@dataclass(frozen=True, slots=True)
class Disputed:
    """A pair on which raters differ."""

    pair: Pair
    grades: dict[str, int]
    """By rater."""

    @property
    def span(self) -> int:
        """The highest grade minus the lowest."""
        return max(self.grades.values()) - min(self.grades.values())


@dataclass(frozen=True, slots=True)
class JudgingAgreement:
    """How far all raters agree."""

    raters: dict[str, int]
    """By rater: how many pairs were graded."""
    shared: int
    """Pairs that at least two graded."""
    alpha: RaterAgreement
    """Krippendorff's alpha, of grades in an order."""
    pairs: tuple[TwoRaters, ...]
    """By two raters who share pairs."""
    again: tuple[Disputed, ...]
    """What to judge again: the largest differences first."""


def judging_agreement(judgments: Judgments, *, seen_by: str | None = None) -> JudgingAgreement:
    """Compare all raters; with ``seen_by``, on the pairs alone that this rater judged too."""
    grades: dict[Pair, dict[str, int]] = {}
    for judgment in judgments.all():
        is_open = seen_by is None or judgments.has(seen_by, judgment.pair)
        if judgment.grade is not None and is_open:
            grades.setdefault(judgment.pair, {})[judgment.rater] = judgment.grade
    given = {name for by_rater in grades.values() for name in by_rater}
    raters = [name for name in judgments.raters if name in given]
    table = np.full((len(raters), len(grades)), np.nan)
    for column, by_rater in enumerate(grades.values()):
        for row, name in enumerate(raters):
            table[row, column] = by_rater.get(name, np.nan)
    disputed = [
        Disputed(pair, by_rater)
        for pair, by_rater in grades.items()
        if len(set(by_rater.values())) > 1
    ]
    disputed.sort(key=lambda each: (-each.span, each.pair))
    return JudgingAgreement(
        raters={
            name: int(np.count_nonzero(~np.isnan(table[row]))) for row, name in enumerate(raters)
        },
        shared=sum(len(by_rater) > 1 for by_rater in grades.values()),
        alpha=krippendorff_alpha(table, level="ordinal"),
        pairs=_two_by_two(raters, table),
        again=tuple(disputed),
    )


def _two_by_two(raters: list[str], table: FloatArray) -> tuple[TwoRaters, ...]:
    if len(raters) > MOST_RATERS:
        return ()
    compared = []
    for (place, first), (other, second) in combinations(enumerate(raters), 2):
        both = ~np.isnan(table[place]) & ~np.isnan(table[other])
        shared = int(np.count_nonzero(both))
        if shared:
            left, right = table[place][both], table[other][both]
            compared.append(
                TwoRaters(
                    first,
                    second,
                    shared,
                    float((left == right).mean()),
                    cohen_kappa(left, right),
                    cohen_kappa(left, right, weights="quadratic"),
                )
            )
    return tuple(compared)
