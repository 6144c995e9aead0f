"""Risk: a mean gain may hide queries that got much worse.

``values[s, n]`` holds a row for each system and a column for each query. Losses weigh more than
gains by a factor 1 + alpha: with alpha = 0 risk is the mean difference, with alpha = 1 losing 0.1
on one query outweighs winning 0.2 on another.
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

    from rankscope.statistics.arrays import FloatArray


class Risk(Part):
    """Risk of a system against a baseline; higher is better, negative means net risk."""

    alpha: float
    """How much more a loss weighs than a gain."""
    reward: float
    """Sum of gains over the number of queries."""
    loss: float
    """Sum of losses over the number of queries, at least 0."""
    wins: int
    """Queries that gained."""
    losses: int
    """Queries that lost."""
    u_risk: float
    """reward − (1 + alpha)·loss."""
    t_risk: float | None
    """u_risk over its standard error, read as a t statistic: below −2 the risk is significant,
    above 2 so is the reward. None where weighted differences do not vary."""


def _check(alpha: float) -> None:
    if not (math.isfinite(alpha) and alpha >= 0):
        raise InputError(f"alpha of a risk must be a finite number from 0 up, got {alpha}")


def weighted_changes(changes: FloatArray, alpha: float) -> FloatArray:
    """Return differences in which losses weigh 1 + alpha."""
    return np.where(changes < 0, (1 + alpha) * changes, changes)


def risk(system: npt.ArrayLike, baseline: npt.ArrayLike, *, alpha: float = 1.0) -> Risk:
    """Return URisk and TRisk of one system against one baseline, query by query.

    With δ = system − baseline and x = δ for gains, (1 + alpha)·δ for losses: URisk = mean of x,
    TRisk = URisk / (s_x/√n), s_x with n − 1.

    Edges: no spread of x (identical runs, one query): TRisk is None.

    Reference: Wang, Bennett and Collins-Thompson, Robust ranking models via risk-sensitive
    optimization, SIGIR 2012; Dinçer, Macdonald and Ounis, Hypothesis testing for the risk-sensitive
    evaluation of retrieval systems, SIGIR 2014.

    >>> answer = risk([0.5, 0.3, 0.9], [0.3, 0.4, 0.8])
    >>> round(answer.u_risk, 4), round(answer.t_risk, 3), answer.wins, answer.losses
    (0.0333, 0.277, 2, 1)
    """
    _check(alpha)
    scores, base = as_rows(system, "system")[0], as_rows(baseline, "baseline")[0]
    if len(scores) != len(base):
        raise InputError(f"both need the same queries, got {len(scores):,} and {len(base):,}")
    changes = scores - base
    count = len(changes)
    weighted = weighted_changes(changes, alpha)[np.newaxis]
    mean = float(row_means(weighted)[0])
    ratio = None
    if not constant_rows(weighted)[0]:
        ratio = mean / (float(row_deviations(weighted)[0]) / math.sqrt(count))
    return Risk(
        alpha=alpha,
        reward=math.fsum(changes[changes > 0].tolist()) / count,
        loss=-math.fsum(changes[changes < 0].tolist()) / count,
        wins=int(np.count_nonzero(changes > 0)),
        losses=int(np.count_nonzero(changes < 0)),
        u_risk=mean,
        t_risk=ratio,
    )


def z_risk(values: npt.ArrayLike, *, alpha: float = 1.0) -> FloatArray:
    """Return ZRisk of each system of ``values[s, n]``, all systems together being the baseline.

    What a system would score on a query if systems and queries were independent is e = (sum of the
    system) · (sum of the query) / (sum of all). z = (x − e)/√e, and ZRisk is the sum of z over
    queries, losses (z < 0) weighing 1 + alpha.

    Edges: a query or system that scores 0 throughout has e = 0 and counts 0; negative values are
    refused.

    Reference: Dinçer, Macdonald and Ounis, Risk-sensitive evaluation and learning to rank using
    multiple baselines, SIGIR 2016.

    >>> z_risk([[0.5, 0.5], [0.5, 0.5]]).tolist()
    [0.0, 0.0]
    """
    _check(alpha)
    rows = as_rows(values)
    if rows.min() < 0:
        raise InputError("scores must be 0 or more for ZRisk and GeoRisk")
    total = math.fsum(rows.ravel().tolist())
    if not total:
        return np.zeros(len(rows))
    expected = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / total
    away = np.zeros_like(rows)
    np.divide(rows - expected, np.sqrt(expected), out=away, where=expected > 0)
    return np.asarray(weighted_changes(away, alpha).sum(axis=1))


def geo_risk(values: npt.ArrayLike, *, alpha: float = 1.0) -> FloatArray:
    """Return GeoRisk of each system of ``values[s, n]``: effectiveness and risk in one number.

    √(mean · Φ(ZRisk/n)), Φ the standard normal distribution: 0 for a system that finds nothing,
    higher for one that is effective and does not fail where others succeed.

    Reference: as in `z_risk`.

    >>> [round(float(value), 4) for value in geo_risk([[0.5, 0.5], [0.5, 0.5]])]
    [0.5, 0.5]
    """
    rows = as_rows(values)
    spread = special().ndtr(z_risk(rows, alpha=alpha) / rows.shape[1])
    return np.asarray(np.sqrt(row_means(rows) * spread))
