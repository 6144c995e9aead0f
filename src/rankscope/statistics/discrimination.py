"""Which measure tells systems apart: discriminative power on a set of runs.

On the same runs and topics one measure separates more pairs of systems than another. It says how
much noise a measure carries, not whether it measures the right thing.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows, check_alpha, check_name, row_means
from rankscope.statistics.choices import TESTS
from rankscope.statistics.max_t import max_t
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.choices import Test

FamilyTest = Literal["max_t"]

CURVE = 1_000
"""How many p-values of a curve are kept."""


class Discrimination(Part):
    """How well one measure tells the systems apart."""

    measure: str
    """The measure."""
    systems: int
    """How many systems there are."""
    topics: int
    """How many topics they were scored on."""
    pairs: int
    """How many pairs of systems there are."""
    separated: float
    """Discriminative power: the share of pairs with p ≤ alpha."""
    alpha: float
    """The error rate."""
    test: str
    """``max_t`` (for the whole family of pairs) or a paired test of each pair by itself."""
    needed: float | None
    """The smallest difference of means from which on every pair is separated; None if the largest
    is not."""
    p_values: tuple[float, ...]
    """p-values of all pairs, largest first: the achieved significance level curve. Of more than
    `CURVE` pairs, as many at even distances."""


def discriminative_power(
    scores: Mapping[str, npt.ArrayLike],
    *,
    test: Test | FamilyTest = "max_t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Discrimination]:
    """Compare measures by the pairs of systems they separate, best first.

    ``scores`` holds ``values[s, n]`` for each measure: the same systems and topics. ``max_t`` tests
    all pairs of a measure as one family; any of `rankscope.statistics.paired.TESTS` tests each pair
    by itself, as the literature does, and finds 5 % of equal pairs different.

    Ties in the order are by name. Edges: fewer than two systems are refused.

    Reference: Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006 (with the
    bootstrap test); Carterette, ACM TOIS 2012 (families of tests).

    >>> sharp = [[0.1, 0.2, 0.1, 0.2, 0.1, 0.2], [0.5, 0.6, 0.7, 0.5, 0.6, 0.8]]
    >>> blunt = [[0.0, 1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]]
    >>> [(row.measure, row.separated) for row in discriminative_power({"B": blunt, "A": sharp})]
    [('A', 1.0), ('B', 0.0)]
    """
    check_alpha(alpha)
    check_name("test", test, (*get_args(FamilyTest), *TESTS))
    results = []
    for measure, values in scores.items():
        rows = as_rows(values)
        if len(rows) < 2:
            raise InputError(f"{measure}: at least two systems are needed, one row for each")
        p_values, gaps = _tested(rows, test, alpha, resamples, seed)
        separated = p_values <= alpha
        results.append(
            Discrimination(
                measure=measure,
                systems=len(rows),
                topics=rows.shape[1],
                pairs=len(p_values),
                separated=float(separated.mean()),
                alpha=alpha,
                test=test,
                needed=_needed(gaps, separated),
                p_values=tuple(_thinned(np.sort(p_values)[::-1]).tolist()),
            )
        )
    return sorted(results, key=lambda result: (-result.separated, result.measure))


def _tested(
    rows: FloatArray, test: Test | FamilyTest, alpha: float, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the p-value and the absolute difference of every pair."""
    if test == "max_t":
        family = max_t(rows, alpha=alpha, resamples=resamples, seed=seed)
        return family.p, np.abs(family.differences)
    changes = np.stack([rows[b] - rows[a] for a, b in combinations(range(len(rows)), 2)])
    results = paired_tests(changes, test=test, resamples=resamples, seed=seed)
    return np.array([result.p for result in results]), np.abs(row_means(changes))


def _thinned(ordered: FloatArray) -> FloatArray:
    """Return at most `CURVE` of some numbers, the first and the last among them."""
    if len(ordered) <= CURVE:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, CURVE).round().astype(np.int64)]


def _needed(gaps: FloatArray, separated: npt.NDArray[np.bool_]) -> float | None:
    """Return the smallest gap above all those that are not separated."""
    above = gaps[gaps > gaps[~separated].max()] if not separated.all() else gaps
    return float(above.min()) if len(above) else None
