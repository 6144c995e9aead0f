"""Does an experiment come out again? An effect measured twice, by others or on other topics.

Two experiments compare an advanced system with a baseline: the original and its repetition. On the
same topics (reproduction) the scores themselves can be compared; on other topics or another
collection (replication) only the effect can.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import (
    SMALLEST,
    as_rows,
    constant_rows,
    row_deviations,
    row_means,
    special,
)
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray


class Replicability(Part):
    """An effect measured twice."""

    effect: float
    """Mean difference, advanced − baseline, of the original."""
    effect_again: float
    """The same of the repetition."""
    effect_ratio: float | None
    """effect_again / effect: 1 is the same effect, above 1 a larger one, 0 none, negative the
    opposite. None if there was no effect."""
    improvement: float | None
    """Relative improvement of the original, effect / mean of the baseline; None if that is 0."""
    improvement_again: float | None
    """The same of the repetition."""
    delta_improvement: float | None
    """ΔRI: improvement − improvement_again; 0 is the same, positive a smaller improvement."""
    rmse_baseline: float | None
    """Root mean square of the topic-by-topic differences between the two baseline runs; None if
    the topics differ."""
    rmse_advanced: float | None
    """The same for the two advanced runs."""
    p_baseline: float
    """p-value of a t test of the two baseline runs against each other: paired on the same topics,
    Welch's otherwise. Small means that the scores are not the same."""
    p_advanced: float
    """The same for the two advanced runs."""


def replicability(
    baseline: npt.ArrayLike,
    advanced: npt.ArrayLike,
    baseline_again: npt.ArrayLike,
    advanced_again: npt.ArrayLike,
    *,
    same_topics: bool = True,
) -> Replicability:
    """Compare two experiments; each of the four is one row of per-topic scores.

    ``same_topics``: the repetition used the same topics in the same order, so that scores are
    compared topic by topic; otherwise only effects are, and the two sets may differ in size.

    Edges: no original effect leaves the effect ratio None, a baseline of mean 0 the relative
    improvement. Equal scores have RMSE 0 and p = 1.

    Reference: Breuer et al., How to measure the reproducibility of system-oriented IR experiments,
    SIGIR 2020.

    >>> answer = replicability([0.2, 0.4], [0.3, 0.5], [0.2, 0.4], [0.25, 0.45])
    >>> round(answer.effect_ratio, 3), round(answer.delta_improvement, 3)
    (0.5, 0.167)
    >>> answer.rmse_baseline, round(answer.rmse_advanced, 3)
    (0.0, 0.05)
    """
    first = [as_rows(row, "scores") for row in (baseline, advanced)]
    again = [as_rows(row, "scores") for row in (baseline_again, advanced_again)]
    for pair in (first, again):
        if pair[0].shape != pair[1].shape:
            raise InputError(
                "baseline and advanced need the same topics, got "
                f"{pair[0].shape[1]:,} and {pair[1].shape[1]:,}"
            )
    if same_topics and first[0].shape != again[0].shape:
        raise InputError(
            f"the repetition has {again[0].shape[1]:,} topics and the original "
            f"{first[0].shape[1]:,}; say same_topics=False for other topics"
        )
    means = [float(row_means(row)[0]) for row in first]
    means_again = [float(row_means(row)[0]) for row in again]
    effect, effect_again = means[1] - means[0], means_again[1] - means_again[0]
    improvement = effect / means[0] if means[0] else None
    improvement_again = effect_again / means_again[0] if means_again[0] else None
    delta = None
    if improvement is not None and improvement_again is not None:
        delta = improvement - improvement_again
    errors = [
        math.sqrt(float(((scores_again - scores) ** 2).mean())) if same_topics else None
        for scores, scores_again in zip(first, again, strict=True)
    ]
    p_values = [
        paired_tests(scores_again - scores, test="t")[0].p
        if same_topics
        else _welch(scores, scores_again)
        for scores, scores_again in zip(first, again, strict=True)
    ]
    return Replicability(
        effect=effect,
        effect_again=effect_again,
        effect_ratio=effect_again / effect if effect else None,
        improvement=improvement,
        improvement_again=improvement_again,
        delta_improvement=delta,
        rmse_baseline=errors[0],
        rmse_advanced=errors[1],
        p_baseline=p_values[0],
        p_advanced=p_values[1],
    )


def _welch(first: FloatArray, second: FloatArray) -> float:
    """Return the two-sided p-value of Welch's t test; 1 without spread and with equal means."""
    if min(first.shape[1], second.shape[1]) < 2:
        return 1.0
    parts = [
        0.0 if constant_rows(row)[0] else float(row_deviations(row)[0] ** 2) / row.shape[1]
        for row in (first, second)
    ]
    away = abs(float(np.subtract(row_means(first), row_means(second))[0]))
    if not sum(parts):
        return SMALLEST if away else 1.0
    freedom = sum(parts) ** 2 / sum(
        part**2 / (row.shape[1] - 1) for part, row in zip(parts, (first, second), strict=True)
    )
    return max(2 * float(special().stdtr(freedom, -away / math.sqrt(sum(parts)))), SMALLEST)
