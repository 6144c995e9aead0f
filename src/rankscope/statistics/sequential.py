"""Looking again and again: tests and intervals that hold over all looks at once.

A gate that tests every commit at 0.05 raises a false alarm within 50 commits almost surely. An
*e-value* is a bet against the null hypothesis: a factor by which a stake has grown, at most 1 on
average if the hypothesis holds, so that it reaches 20 with probability 1/20 at most. Bets can be
added up over commits without an end, and the guarantee stays. Differences must have known bounds;
nothing else about their distribution is assumed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Low, Part
from rankscope.statistics.arrays import as_rows, check_alpha, row_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

Bounds = tuple[float, float]

STAKES = np.geomspace(0.01, 0.99, 24)
"""Which share of the stake is bet on each query; the stake is divided equally among them."""

STEPS = 60
"""Halvings with which an end of an interval is found."""

LOOKS = 200
"""A confidence sequence is given at no more points than this unless more are asked for."""


def log_e_value(
    differences: npt.ArrayLike,
    *,
    mean: float = 0.0,
    side: Literal["below", "above"] = "below",
    bounds: Bounds = (-1.0, 1.0),
) -> float:
    """Return the logarithm of the e-value against "the mean is at least ``mean``".

    With ``side="above"``, against "the mean is at most ``mean``". For each share g of `STAKES`,
    the stake is multiplied by 1 + g·(mean − d)/(high − mean) for every difference d, which is at
    least 0 and on average at most 1 under the hypothesis; the e-value is the mean over the shares.
    No order of the queries changes it.

    Under the hypothesis P(e ≥ 1/α) ≤ α, for any n and any distribution within the bounds.

    Edges: differences outside the bounds are refused. A mean at the bound itself cannot be bet
    against on that side: 0.

    Reference: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting,
    JRSS B 2024; Shafer, Testing by betting, JRSS A 2021.

    >>> round(log_e_value([-0.2, -0.1, -0.3] * 20), 2)
    7.73
    >>> round(log_e_value([0.2, 0.1, 0.3] * 20), 2)
    -1.01
    """
    row = _within(differences, bounds)
    return float(_log_e_values(row, np.array([mean]), side, bounds)[0])


def mean_interval(
    differences: npt.ArrayLike, *, alpha: float = 0.05, bounds: Bounds = (-1.0, 1.0)
) -> tuple[float, float]:
    """Return an interval of the mean that holds for any n and any distribution within the bounds.

    All means that neither e-value refutes at alpha/2. Wider than Student's t, which is right for
    many queries only; useful for few, or as the last look of `confidence_sequence`.

    Reference: as in `log_e_value`.

    >>> low, high = mean_interval([0.2, 0.1, 0.3] * 20)
    >>> round(low, 3), round(high, 3)
    (0.076, 0.285)
    """
    check_alpha(alpha)
    row = _within(differences, bounds)
    limit = math.log(2 / alpha)
    return _end(row, "above", limit, bounds), _end(row, "below", limit, bounds)


def confidence_sequence(
    differences: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    bounds: Bounds = (-1.0, 1.0),
    looks: Sequence[int] | None = None,
) -> list[tuple[int, float, float]]:
    """Return (queries so far, low, high) while differences arrive one by one.

    The true mean is within *all* of these intervals with probability 1 − alpha, so that one may
    look after every query (or judgment) and stop when the answer is clear. ``looks``: after how
    many queries; all of them, or 200 in even ratios if there are more. Intervals never widen.

    Here the order of the differences matters: it must be the order of arrival, or a random one.

    Reference: as in `log_e_value`; Ville, Étude critique de la notion de collectif, 1939.

    >>> confidence_sequence([0.5, 0.4, 0.6] * 10, looks=[15, 30])[-1][0]
    30
    """
    check_alpha(alpha)
    row = _within(differences, bounds)
    count = len(row)
    if looks is None:
        even = np.geomspace(1, count, LOOKS).round().astype(int) if count > LOOKS else None
        looks = range(1, count + 1) if even is None else np.unique(even).tolist()
    elif any(not 1 <= look <= count for look in looks):
        raise InputError(f"looks must be from 1 to {count:,}, the number of differences")
    limit = math.log(2 / alpha)
    low, high = bounds
    sequence = []
    for look in sorted(looks):
        seen = row[:look]
        low = max(low, _end(seen, "above", limit, bounds))
        high = min(high, _end(seen, "below", limit, bounds))
        sequence.append((int(look), low, high))
    return sequence


def spending(commit: int, horizon: int | None = None) -> float:
    """Return which share of alpha commit number ``commit`` (from 1) may spend.

    1/(i·(i+1)), which adds up to 1 over all commits; with a ``horizon`` (commits until the anchor
    is renewed) 1/horizon, and 0 after it. A test or interval of commit i at level alpha·share keeps
    the chance of any false alarm at alpha, whatever the commits have in common.

    >>> [round(spending(commit), 3) for commit in (1, 2, 10)], spending(7, horizon=50)
    ([0.5, 0.167, 0.009], 0.02)
    """
    if commit < 1:
        raise InputError(f"commits are counted from 1, got {commit}")
    if horizon is None:
        return 1 / (commit * (commit + 1))
    return 1 / horizon if commit <= horizon else 0.0


class EProcess(Part):
    """Evidence that a system fell below its anchor, added up over commits; frozen, kept as JSON.

    Each `update` takes the per-query differences (candidate − anchor) of one commit and returns the
    state after it. Two ways to add up:

    - ``fresh = False``: the same queries are asked again for every commit. Commits are then far
      from independent, so their e-values are added, each with its share of the stake
      (`spending`): the sum never falls, and its expected value is at most 1.
    - ``fresh = True``: every commit is asked new queries (sampled traffic). E-values multiply,
      which gathers evidence much faster, and is only right for new queries.

    While no commit is worse than the anchor, P(an alarm, ever) ≤ alpha.

    Reference: Vovk and Wang, E-values: calibration, combination and applications, Ann. Statist.
    2021 (means of e-values); Ramdas et al., Game-theoretic statistics and safe anytime-valid
    inference, Statist. Sci. 2023.

    >>> process = EProcess()
    >>> for commit in range(3):
    ...     process = process.update([-0.3, -0.2, -0.25, -0.4] * 20)
    >>> process.alarm, process.commits
    (True, 3)
    >>> EProcess.model_validate(process.to_dict()) == process
    True
    """

    alpha: float = 0.05
    """The chance of any false alarm, over all commits."""
    low: float = -1.0
    """The lowest difference possible."""
    high: float = 1.0
    """The highest difference possible."""
    fresh: bool = False
    """Whether every commit is asked new queries."""
    horizon: int | None = None
    """After how many commits the anchor is renewed; None if not known."""
    commits: int = 0
    """How many commits have been compared."""
    evidence: Low = -math.inf
    """Logarithm of the evidence so far; an alarm is raised at log(1/alpha)."""
    estimate: float | None = None
    """Mean difference of the last commit."""

    def update(self, differences: npt.ArrayLike) -> Self:
        """Return the state after one more commit; nothing is changed in place."""
        check_alpha(self.alpha)
        bounds = (self.low, self.high)
        row = _within(differences, bounds)
        grown = log_e_value(row, bounds=bounds)
        commits = self.commits + 1
        if self.fresh:
            evidence = grown + (self.evidence if self.commits else 0.0)
        else:
            share = spending(commits, self.horizon)
            stake = grown + math.log(share) if share else -math.inf
            evidence = float(np.logaddexp(self.evidence, stake))
        return self.model_copy(
            update={
                "commits": commits,
                "evidence": evidence,
                "estimate": float(row_means(row[np.newaxis])[0]),
            }
        )

    @property
    def alarm(self) -> bool:
        """Whether a drop below the anchor is shown."""
        return self.evidence >= -math.log(self.alpha)

    @property
    def p(self) -> float:
        """The smallest alpha at which there would be an alarm; valid at any time."""
        return min(1.0, math.exp(-self.evidence)) if math.isfinite(self.evidence) else 1.0

    def interval(self, differences: npt.ArrayLike) -> tuple[float, float]:
        """Return the interval of the last commit's mean difference.

        The intervals of all commits hold at once with probability 1 − alpha: each has the level
        that `spending` leaves it. Past the horizon it is as wide as the bounds.
        """
        if not self.commits:
            raise InputError("no commit has been compared yet; call update first")
        share = spending(self.commits, self.horizon)
        if not share:
            return self.low, self.high
        return mean_interval(differences, alpha=self.alpha * share, bounds=(self.low, self.high))


def _within(differences: npt.ArrayLike, bounds: Bounds) -> FloatArray:
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"bounds must be the lowest and the highest difference, got {bounds}")
    row: FloatArray = as_rows(differences, "differences")[0]
    if row.min() < low or row.max() > high:
        raise InputError(
            f"differences must be between {low:g} and {high:g}, got {row.min():g} to {row.max():g}"
        )
    return row


def _log_e_values(
    row: FloatArray, means: FloatArray, side: Literal["below", "above"], bounds: Bounds
) -> FloatArray:
    """Return the log e-value against each of some means.

    Differences are moved to gains: how far each is on the side that is bet on, in units of the most
    that can be lost, so that the stake times 1 + g·gain never falls below 0.
    """
    low, high = bounds
    room = high - means if side == "below" else means - low
    away = means[:, np.newaxis] - row if side == "below" else row - means[:, np.newaxis]
    logs = np.zeros(len(means))
    open_means = room > 0
    gains = np.sort(away[open_means] / room[open_means, np.newaxis], axis=1)
    grown = np.stack([np.log1p(stake * gains).sum(axis=1) for stake in STAKES])
    logs[open_means] = np.logaddexp.reduce(grown, axis=0) - math.log(len(STAKES))
    return logs


def _end(row: FloatArray, side: Literal["below", "above"], limit: float, bounds: Bounds) -> float:
    """Return the end of the interval: the outermost mean that is not refuted on this side.

    The e-value falls steadily from the bound to the sample mean and beyond, so halving finds it.
    """
    outer, inner = bounds[0 if side == "above" else 1], float(row.mean())
    for _ in range(STEPS):
        middle = (outer + inner) / 2
        refuted = _log_e_values(row, np.array([middle]), side, bounds)[0] >= limit
        outer, inner = (middle, inner) if refuted else (outer, middle)
    return outer
