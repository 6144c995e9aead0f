"""Power: could this many queries have shown a difference of this size at all?

A system that differs by δ on average, with standard deviation σ of the difference from query to
query, is seen with n queries in the share P(|T'| > t) of cases: T' noncentral t with n − 1 degrees
of freedom and noncentrality δ√n/σ, t the critical value at α.

Most changes leave most queries as they were, so what queries can show depends on how many of them
differ: *queries like these* are a share that differs, with its own spread, and ties that stay ties.
`power` asks that of two runs; `plan_power` of assumptions, before there are scores.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError
from rankscope.findings import Finding
from rankscope.measures.language import parse_measures
from rankscope.part import High, Part, Record
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.statistics.arrays import check_alpha, special
from rankscope.statistics.paired_differences import LEAST, Differences
from rankscope.statistics.pairing import paired_runs
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from rankscope.measures.language import Measure
    from rankscope.statistics.arrays import FloatArray

__all__ = ["PowerReport", "power"]

POWER = 0.8
"""With this power comparisons name the smallest detectable difference."""

SIZES = (9, 50, 200, 500)
"""Sizes that people plan with: a quick check, development, a standard and a large evaluation."""

MOST_QUERIES = 10_000_000
"""No answer names more queries than this."""


class PowerSize(Part):
    """What so many queries can show."""

    queries: int
    """How many queries."""
    detectable: High
    """The smallest true difference shown with the power asked for; null if there is none."""
    power: float | None
    """How often the difference asked about would be shown; null if none was named."""


class Power(Part):
    """What n queries can and cannot show about two systems, by one measure."""

    n: int
    """How many queries there are."""
    differing: int
    """On how many of them the systems differ."""
    observed: float
    """The mean difference of the data."""
    sd: float
    """Standard deviation of the per-query differences."""
    detectable: High
    """About the smallest true difference that queries like these show with this power; null where
    none within the measure's range is."""
    power: float | None
    """How often these queries show the target; null if none was named."""
    needed: int | None
    """How many queries like these show the target; null if none was named, or no number does."""
    sizes: tuple[PowerSize, ...]
    """What other numbers of queries like these can show."""


class PowerReport(Record, Shown):
    """What the queries of two runs can and cannot show, measure by measure."""

    kind: ClassVar[str] = "power"

    runs: tuple[str, str]
    """The two runs; differences are the second minus the first."""
    queries: int
    """Queries compared."""
    alpha: float
    """A p-value up to this counts as a difference."""
    power: float
    """The probability with which a true difference should be seen."""
    target: float | None
    """A true difference that should be seen; null if none was named."""
    measures: dict[str, Power]
    """The answers, by measure."""
    findings: tuple[Finding, ...] = ()
    """What makes the scores of the runs mean less than they seem."""


class PowerPlan(Record, Shown):
    """What queries could show, reckoned from assumptions before there are scores."""

    kind: ClassVar[str] = "power"

    sd: float
    """The standard deviation of per-query differences that is assumed."""
    alpha: float
    """A p-value up to this counts as a difference."""
    power: float
    """The probability with which a true difference should be seen."""
    difference: float | None
    """A true difference that should be seen; null if none was named."""
    needed: int | None
    """How many queries show it; null if none was named."""
    sizes: tuple[PowerSize, ...]
    """What some numbers of queries can show."""


# --- by the formula ------------------------------------------------------------------------------


def power_for(difference: float, *, n: int, sd: float, alpha: float = 0.05) -> float:
    """Return how often n queries show a true difference, by the paired t formula.

    Edges: with one query, or with sd = 0 (a spread nobody has seen), 0.

    >>> round(power_for(0.05, n=50, sd=0.2), 3)
    0.41
    """
    _check(sd, alpha)
    if n < 2 or sd == 0:
        return 0.0
    critical = float(special().stdtrit(n - 1, 1 - alpha / 2))
    shift = abs(difference) * math.sqrt(n) / sd
    ends = np.array([critical, -critical])
    shares = special().nctdtr(n - 1, shift, ends)
    # SciPy gives NaN far out in a tail, where all shares are within 1e-12 of 0 or 1
    above, below = np.where(np.isnan(shares), ends > shift, shares)
    return float(min(max(1 - above + below, 0.0), 1.0))


def detectable_difference(*, n: int, sd: float, alpha: float = 0.05, power: float = POWER) -> float:
    """Return the smallest true difference that n queries show with the given power.

    Edges: with one query, or with sd = 0 (a spread nobody has seen), infinite.

    >>> round(detectable_difference(n=50, sd=0.2), 4)
    0.0808
    """
    _check(sd, alpha, power)
    if n > MOST_QUERIES:
        raise InputError(f"at most {MOST_QUERIES:,} queries can be planned with; name fewer")
    if n < 2 or sd == 0:
        return math.inf
    return _detectable_effect(n, alpha, power) * sd


@lru_cache(maxsize=4096)
def _detectable_effect(n: int, alpha: float, power: float) -> float:
    """Return the smallest difference that is shown, in standard deviations.

    Kept, as a comparison asks for it with the same n and α for each of its pairs.
    """
    low, high = 0.0, 1.0
    while power_for(high, n=n, sd=1.0, alpha=alpha) < power:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = power_for(middle, n=n, sd=1.0, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def queries_needed(
    difference: float, *, sd: float, alpha: float = 0.05, power: float = POWER
) -> int:
    """Return how many queries show a true difference with the given power.

    Edges: a difference of 0 or a spread of 0 is an `InputError`: no number, or any, would do.

    >>> queries_needed(0.05, sd=0.2)
    128
    """
    _check(sd, alpha, power)
    if not difference or not math.isfinite(difference):
        raise InputError(f"the difference to be seen must not be 0 or infinite, not {difference}")
    if sd == 0:
        raise InputError("sd is 0: a spread is needed to say how many queries are enough")
    needed = _fewest(lambda n: power_for(difference, n=n, sd=sd, alpha=alpha) >= power, 2)
    if needed is None:
        raise InputError(f"more than {MOST_QUERIES:,} queries would be needed")
    return needed


def _fewest(is_enough: Callable[[int], bool], least: int) -> int | None:
    """Return the smallest number from ``least`` on that is enough; None beyond `MOST_QUERIES`."""
    low, high = least - 1, least
    while not is_enough(high):
        low, high = high, high * 2
        if low > MOST_QUERIES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _check(sd: float, alpha: float, power: float | None = None) -> None:
    check_alpha(alpha)
    if not (math.isfinite(sd) and sd >= 0):
        raise InputError(f"sd must be a finite number from 0 up, not {sd}")
    if power is not None:
        check_alpha(power, "power")
        if power <= alpha:
            raise InputError(f"power must be above alpha ({alpha}), not {power}")


# --- queries like these --------------------------------------------------------------------------


def must_differ(alpha: float = 0.05) -> int:
    """Return how few queries may differ for any outcome to be significant: 2 / 2^d ≤ α.

    >>> must_differ(), must_differ(0.001)
    (6, 11)
    """
    check_alpha(alpha)
    return max(LEAST, math.ceil(1 - math.log2(alpha)))


def detectable_like(
    n: int,
    share: npt.ArrayLike,
    spread: npt.ArrayLike,
    *,
    alpha: float,
    power: float = POWER,
    largest: npt.ArrayLike = math.inf,
) -> FloatArray:
    """Return about the smallest true difference that n queries like these show, for each row.

    A ``share`` u of the queries differs, by δ/u on average with the variance ``spread`` s² around
    it, and the rest does not. The variance is then u·s² + δ²·(1/u − 1), which grows with δ; with e
    the ratio of difference and deviation that the paired t test shows with this power,
    δ = e·√(u·s²) / √(1 − e²·(1/u − 1)). Infinite where no δ does, where δ/u would be more than
    ``largest``, the most a query can differ by, or where too few would differ for any test.

    Reference: Cohen, Statistical Power Analysis, 1988 (noncentral t); Lachenbruch, Comparisons of
    two-part models with competitors, Stat. Med. 2001 (a share of zeros).
    """
    parts, variance = np.asarray(share, np.float64), np.asarray(spread, np.float64)
    answers = np.full(parts.shape, math.inf)
    if n < 2:
        return answers
    effect = detectable_difference(n=n, sd=1.0, alpha=alpha, power=power)
    inverse = np.divide(1.0, parts, out=np.full(parts.shape, math.inf), where=parts > 0)
    left = 1 - effect**2 * (inverse - 1)
    within = (left > 0) & (variance > 0) & (parts * n >= must_differ(alpha) - 0.5)
    np.divide(effect * np.sqrt(parts * variance), np.sqrt(np.abs(left)), out=answers, where=within)
    by_query = np.divide(answers, parts, out=answers.copy(), where=within)
    return np.where(by_query > np.asarray(largest), math.inf, answers)


def power_like(difference: float, n: int, share: float, spread: float, alpha: float) -> float:
    """Return how often n queries like these show a true difference; see `detectable_like`."""
    if n * share < must_differ(alpha) - 0.5:
        return 0.0
    sd = math.sqrt(share * spread + difference**2 * (1 / share - 1))
    return power_for(difference, n=n, sd=sd, alpha=alpha)


def power(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    target: float | None = None,
    sizes: Iterable[int] = SIZES,
    alpha: float = 0.05,
    power: float = POWER,
    **options: Unpack[ScoringOptions],
) -> PowerReport:
    """Say which differences the queries of two runs can show, and how many a difference needs.

    ``target`` is a true difference that should be seen, ``power`` the probability with which;
    ``sizes`` are numbers of queries that you plan with. Both sides may be what `gate` takes;
    ``options`` are those of `evaluate`. For two-sided tests of one pair.

    >>> qrels = {f"q{n}": {"d": 1} for n in range(20)}
    >>> one = {query_id: {"d": 2.0, "e": 1.0} for query_id in qrels}
    >>> other = {q: {"d": n % 3, "e": 1.5, "f": 0.5} for n, q in enumerate(qrels)}
    >>> answer = power(qrels, one, other, "RR@10", target=0.05).measures["RR@10"]
    >>> answer.needed, [(size.queries, round(size.detectable, 3)) for size in answer.sizes]
    (22, [(9, 0.108), (50, 0.03), (200, 0.015), (500, 0.009)])
    """
    scoring = Scoring.of("power", options, without=("queries", "executor"))
    known = scoring.profile if options.get("profile") else None
    asked = parse_measures(measures)
    if not asked:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    paired = paired_runs(baseline, candidate, asked, qrels=qrels, profile=known, scoring=scoring)
    matrix = paired.matrix
    rows = Differences.of(matrix, [(0, 1)], Settings.of(alpha=alpha))
    _check(0.0, alpha, power)
    answers = {}
    for row, scale in enumerate(matrix.scales):
        share, spread = rows.differing[row] / rows.units, float(rows.spread[row])
        like: Any = {"alpha": alpha, "power": power, "largest": scale.change[1]}

        def shown(n: int, *, share: float = share, spread: float = spread) -> float | None:
            return None if target is None else power_like(target, n, share, spread, alpha)

        needed = None
        if target and spread:
            least = max(2, math.ceil(must_differ(alpha) / share))
            needed = _fewest(lambda n: (shown(n) or 0.0) >= power, least)
        answers[scale.name] = Power(
            n=rows.units,
            differing=int(rows.differing[row]),
            observed=float(rows.mean[row]),
            sd=float(rows.deviation[row]),
            detectable=float(detectable_like(rows.units, share, spread, **like)),
            power=shown(rows.units) if spread else None,
            needed=needed,
            sizes=tuple(
                PowerSize(
                    queries=n,
                    detectable=float(detectable_like(n, share, spread, **like)),
                    power=shown(n) if spread else None,
                )
                for n in dict.fromkeys(sizes)
            ),
        )
    return PowerReport(
        runs=(matrix.systems[0], matrix.systems[1]),
        queries=len(matrix.query_ids),
        alpha=alpha,
        power=power,
        target=target,
        measures=answers,
        findings=paired.findings,
    )


def plan_power(
    *,
    sd: float,
    difference: float | None = None,
    queries: Iterable[int] = SIZES,
    alpha: float = 0.05,
    power: float = POWER,
) -> PowerPlan:
    """Reckon from assumptions alone what numbers of queries show, by the paired t formula.

    >>> plan_power(sd=0.2, difference=0.05).needed
    128
    """
    known: Any = {"sd": sd, "alpha": alpha}
    return PowerPlan(
        **known,
        power=power,
        difference=difference,
        needed=None if difference is None else queries_needed(difference, power=power, **known),
        sizes=tuple(
            PowerSize(
                queries=n,
                detectable=detectable_difference(n=n, power=power, **known),
                power=None if difference is None else power_for(difference, n=n, **known),
            )
            for n in dict.fromkeys(queries)
        ),
    )
