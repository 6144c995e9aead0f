"""Bayesian reading of a paired comparison: how probable is better, about the same, worse?

A p-value answers "how odd were these differences if nothing differed"; people ask "how sure can I
be that the new one is better". Given the differences and no prior knowledge, the posterior of their
mean answers that, in three parts around a margin below which a difference does not matter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import (
    as_rows,
    constant_rows,
    row_deviations,
    row_means,
    special,
)

if TYPE_CHECKING:
    import numpy.typing as npt

Bounds = tuple[float, float]


class Posterior(Part):
    """Three probabilities that add up to 1."""

    better: float
    """P(the mean difference is above the margin)."""
    within: float
    """P(it is within the margin, to either side)."""
    worse: float
    """P(it is below minus the margin)."""
    margin: float
    """Below which a difference does not matter; with 0, within is 0."""
    mean: float
    """The mean difference observed."""
    method: str
    """``t``, or ``unseen`` where the differences do not vary."""


def posteriors(
    differences: npt.ArrayLike, *, margin: float = 0.0, bounds: Bounds = (-1.0, 1.0)
) -> list[Posterior]:
    """Return P(better), P(within the margin), P(worse) for each row of ``differences[k, n]``.

    With the prior 1/σ² on mean and variance (no knowledge), the posterior of the mean is Student's
    t with n − 1 degrees of freedom around x̄ with scale s/√n: the correlated t test of Benavoli et
    al. for differences that are not correlated, as those on separate queries. P(worse) with margin
    0 is then the one-sided p-value of the paired t test, so that the two never contradict each
    other. Read it as what it is: the certainty of somebody who knew nothing before.

    Edges: differences that do not vary (identical runs, one query) have no t. A share p of all
    queries may differ unseen, p ~ Beta(1, n) after n alike, and pulls the mean towards either of
    the ``bounds`` with equal probability: identical runs on 50 queries are within 0.01 with
    probability 1 − 0.99^50 = 0.39.

    Reference: Benavoli, Corani, Demšar and Zaffalon, Time for a change: a tutorial for comparing
    multiple classifiers through Bayesian analysis, JMLR 2017; Box and Tiao, Bayesian Inference in
    Statistical Analysis, 1973.

    >>> [answer] = posteriors([0.03, 0.05, -0.01, 0.04, 0.02, 0.06], margin=0.01)
    >>> round(answer.better, 3), round(answer.within, 3), round(answer.worse, 3)
    (0.957, 0.038, 0.005)
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise InputError(f"margin must be a finite number from 0 up, got {margin}")
    rows = as_rows(differences, "differences")
    low, high = bounds
    if not low <= 0 <= high or rows.min() < low or rows.max() > high:
        raise InputError(f"bounds must hold 0 and every difference, got {bounds}")
    count = rows.shape[1]
    means = row_means(rows)
    still = constant_rows(rows)
    answers = []
    for row, mean, fixed in zip(rows, means.tolist(), still.tolist(), strict=True):
        if fixed:
            worse = _pulled(-margin, mean, count, bounds)
            better = _pulled(-margin, -mean, count, (-high, -low))
            method = "unseen"
        else:
            scale = float(row_deviations(row[np.newaxis])[0]) / math.sqrt(count)
            worse = float(special().stdtr(count - 1, (-margin - mean) / scale))
            better = float(special().stdtr(count - 1, (mean - margin) / scale))
            method = "t"
        answers.append(
            Posterior(
                better=better,
                within=max(0.0, 1 - better - worse),
                worse=worse,
                margin=margin,
                mean=mean,
                method=method,
            )
        )
    return answers


def _pulled(limit: float, value: float, count: int, bounds: Bounds) -> float:
    """Return P(mean < limit) if a share ~ Beta(1, n) of queries like these has another value.

    With equal probability those are at the lower bound or at the upper one:
    P(share > x) = (1 − x)^n.
    """
    low, high = bounds
    if value < limit:
        up = (limit - value) / (high - value) if high > value else 1.0
        return 1 - (1 - min(up, 1.0)) ** count / 2
    down = (value - limit) / (value - low) if value > low else 1.0
    return (1 - min(down, 1.0)) ** count / 2
