"""What judges are compared with: a final grade, the qrels, another rater, or the others' majority.

A majority must not accuse the innocent: raters that are apart have no vote in it, and a judge is
not compared with one that exists for fewer than half of its pairs. Where two others say
the opposite of each other, they have a majority only where one of them errs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.diagnosis.judge_comparisons import (
    FINAL,
    MAJORITY,
    QRELS,
    JudgeComparison,
    compared,
)
from rankscope.diagnosis.rater_orders import RatedPairs
from rankscope.diagnosis.regrading import PAIR
from rankscope.errors import InputError, UnknownNameError, counted
from rankscope.statistics.rater_agreement import majority

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.judgments import Judgments


@dataclass(frozen=True, eq=False)
class References:
    """What judges can be compared with."""

    rated: RatedPairs
    final: FloatArray | None
    qrels: Judgments | None
    apart: list[int]
    """The raters that are apart: they have no vote in a majority."""

    @cached_property
    def judged(self) -> FloatArray | None:
        """The grades of the qrels, by item; None where these are not of documents."""
        if self.qrels is None or self.qrels.gold is not None or not self.qrels.query_ids:
            return None
        known = self.qrels.pairs.select(*PAIR, pl.col("grade").cast(pl.Float64))
        joined = self.rated.pairs.join(known, on=PAIR, how="left", maintain_order="left")
        return joined["grade"].fill_null(float("nan")).to_numpy()

    @cached_property
    def fitting(self) -> FloatArray | None:
        """The grades of the qrels, if they seem to be on the scale of the raters."""
        if self.judged is None or np.isnan(self.judged).all():
            return None
        of_rating = self.judged[self.rated.rated.item]
        both = ~np.isnan(of_rating)
        if _on_scale(self.rated.rated.grade[both], of_rating[both]):
            return self.judged
        same = [
            _on_scale(grades[shared], self.judged[shared])
            for grades in map(self.rated.of, range(len(self.rated.raters)))
            if (shared := ~np.isnan(grades) & ~np.isnan(self.judged)).any()
        ]
        return self.judged if 2 * sum(same) >= len(same) else None

    def majority(self, place: int) -> FloatArray:
        """Return the majority of the others by item; NaN where there is none."""
        return majority(self.rated.others(place, self.apart))


def _on_scale(grades: FloatArray, truth: FloatArray) -> bool:
    """Tell whether grades have the ends of the reference; a single grade must occur in it."""
    if not np.ptp(grades):
        return bool((truth == grades[0]).any())
    return bool(grades.min() == truth.min() and grades.max() == truth.max())


def is_half(grades: FloatArray, truth: FloatArray) -> bool:
    """Tell whether there is a reference for at least half of a judge's pairs."""
    graded = ~np.isnan(grades)
    return 2 * int((graded & ~np.isnan(truth)).sum()) >= int(graded.sum())


def judged(
    references: References, judge: str | None, reference: str | None
) -> tuple[tuple[JudgeComparison, ...], dict[str, str]]:
    """Compare the judge that is named, or each, with the reference; and say who has none."""
    rated = references.rated
    for name in (judge, reference):
        if name not in (None, FINAL, QRELS, MAJORITY, *rated.raters):
            raise UnknownNameError("rater", str(name), rated.raters)
    if judge is not None and judge not in rated.raters:
        raise UnknownNameError("rater", judge, rated.raters)
    if judge is not None and judge == reference:
        raise InputError("judges: the judge and the reference are the same rater; name another")
    shared = _shared_reference(reference, references)
    rows, reasons = [], {}
    for place, rater in enumerate(rated.raters):
        if judge not in (None, rater) or rater == reference:
            continue
        grades = rated.of(place)
        is_asked = reference is not None or (shared is not None and shared[0] == FINAL)
        if shared is not None and (is_asked or is_half(grades, shared[1])):
            rows.append((rater, grades, *shared))
        elif is_half(grades, usual := references.majority(place)):
            rows.append((rater, grades, MAJORITY, usual))
        else:
            pairs = int((~np.isnan(grades)).sum())
            both = int((~np.isnan(grades) & ~np.isnan(usual)).sum())
            reasons[rater] = (
                f"the others have a majority for {both:,} of its {counted(pairs, 'pair')} only"
            )
    return compared(rows), reasons


def _shared_reference(name: str | None, references: References) -> tuple[str, FloatArray] | None:
    """Return what all judges are compared with; None: each with the majority of the others."""
    rated = references.rated
    if name in rated.raters:
        return str(name), rated.of(rated.raters.index(str(name)))
    if name == FINAL and references.final is None:
        raise InputError(
            "judges.reference: the ratings have no final grade; name a rater, qrels, or majority"
        )
    if name == QRELS and references.judged is None:
        raise InputError(
            "judges.reference: no qrels of documents were given; name a rater, or majority"
        )
    if name == QRELS and references.judged is not None:
        return QRELS, references.judged
    if name == MAJORITY:
        return None
    if references.final is not None:
        return FINAL, references.final
    return None if references.fitting is None else (QRELS, references.fitting)
