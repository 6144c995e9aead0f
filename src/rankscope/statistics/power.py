"""Power: could this many queries have shown a difference of this size at all?

`power` asks that of two runs, by formula and by simulation (`detectable`); `plan_power` of
assumptions, before there are scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.findings import Finding
from rankscope.part import Part, Record, Unbounded
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.statistics.arrays import as_rows, constant_rows, row_deviations, row_means
from rankscope.statistics.comparable import paired_runs
from rankscope.statistics.detectable import (
    detectable_difference,
    power_for,
    queries_needed,
    simulated_detectable_difference,
    simulated_queries_needed,
)
from rankscope.statistics.reach import detectable_rows, queries_like_these

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from rankscope.measures.language import Measure

__all__ = ["PowerReport", "power"]


class Estimate(Part):
    """One question, answered by the t formula and by simulation; null is infinite."""

    formula: Unbounded
    """By the formula, for differences that vary normally."""
    simulation: Unbounded
    """By drawing queries from the differences at hand."""


class QueryCount(Part):
    """How many queries are enough, by the t formula and by simulation; null is unknown."""

    formula: int | None
    """By the formula."""
    simulation: int | None
    """By simulation; null also where it would take too many queries to simulate."""


class Power(Part):
    """What n queries can and cannot show about two systems, by one measure."""

    n: int
    """How many queries there are."""
    sd: float
    """Standard deviation of the per-query differences."""
    alpha: float
    """A p-value up to this counts as a difference."""
    power: float
    """The probability with which a true difference should be seen."""
    observed: float
    """The mean difference of the data."""
    differing: int = 0
    """On how many of them the systems differ."""
    detectable: Estimate
    """About the smallest true difference that queries like these show with this power; null where
    none within the measure's range is."""
    target: float | None
    """A true difference that should be seen; null if none was named."""
    needed: QueryCount | None
    """How many queries show the target; null if none was named."""


class PowerReport(Record, Shown):
    """What the queries of two runs can and cannot show, measure by measure."""

    kind: ClassVar[str] = "power"

    runs: tuple[str, str]
    """The two runs; differences are the second minus the first."""
    queries: int
    """Queries compared."""
    seed: int
    """Of the simulation."""
    measures: dict[str, Power]
    """The answers, by measure."""
    findings: tuple[Finding, ...] = ()
    """What makes the scores of the runs mean less than they seem."""


class PowerSize(Part):
    """What so many queries can show."""

    queries: int
    """How many queries."""
    detectable: Unbounded
    """The smallest true difference shown with the power asked for; null if there is none."""
    power: float | None
    """How often the difference asked about would be shown; null if none was named."""


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


def power_of(
    differences: npt.ArrayLike,
    *,
    target: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    largest: float = math.inf,
    repetitions: int = 2_000,
    seed: int = 0,
) -> Power:
    """Return all answers about one row of per-query differences, both ways.

    ``largest`` is the most a query can differ by. Queries that do not differ are taken as they are.

    Edges: one query, or differences that do not vary (identical runs): the detectable difference
    is infinite, the power 0 and the number of queries unknown (None).
    """
    rows = as_rows(differences, "differences")
    row, n, observed = rows[0], rows.shape[1], float(row_means(rows)[0])
    sd = 0.0 if constant_rows(rows)[0] else float(row_deviations(rows)[0])
    options: Any = {"alpha": alpha, "repetitions": repetitions, "seed": seed}
    needed = None
    if target is not None:
        needed = QueryCount(
            formula=queries_like_these(row, target, alpha=alpha, power=power),
            simulation=simulated_queries_needed(row, target, power=power, **options)
            if sd
            else None,
        )
    return Power(
        n=n,
        sd=sd,
        alpha=alpha,
        power=power,
        observed=observed,
        differing=int(np.count_nonzero(row)),
        detectable=Estimate(
            formula=float(detectable_rows(rows, alpha=alpha, power=power, largest=largest)[0]),
            simulation=simulated_detectable_difference(
                row, power=power, largest=largest, **options
            ),
        ),
        target=target,
        needed=needed,
    )


def plan_power(
    *,
    sd: float,
    difference: float | None = None,
    queries: Iterable[int] = (),
    alpha: float = 0.05,
    power: float = 0.8,
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


def power(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    target: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = 2_000,
    seed: int = 0,
    **options: Unpack[ScoringOptions],
) -> PowerReport:
    """Say which differences the queries of two runs can show, and how many a difference needs.

    ``target`` is a true difference that should be seen, ``power`` the probability with which. Both
    sides may be what `gate` takes; ``options`` are those of `evaluate`. For two-sided tests.

    >>> qrels = {f"q{n}": {"d": 1} for n in range(20)}
    >>> one = {query_id: {"d": 2.0, "e": 1.0} for query_id in qrels}
    >>> other = {q: {"d": n % 3, "e": 1.5, "f": 0.5} for n, q in enumerate(qrels)}
    >>> report = power(qrels, one, other, "RR@10", target=0.05)
    >>> report.measures["RR@10"].needed.formula
    22
    """
    scoring = Scoring.of("power", options, without=("queries", "executor"))
    paired = paired_runs(
        baseline,
        candidate,
        measures,
        qrels=qrels,
        profile=scoring.profile if options.get("profile") else None,
        scoring=scoring,
    )
    matrix = paired.matrix
    chosen: Any = {"alpha": alpha, "power": power, "repetitions": repetitions, "seed": seed}
    rows = matrix.differences([(0, 1)])
    return PowerReport(
        runs=(matrix.systems[0], matrix.systems[1]),
        queries=len(matrix.query_ids),
        seed=seed,
        measures={
            scale.name: power_of(row, target=target, largest=scale.change[1], **chosen)
            for scale, row in zip(matrix.scales, rows, strict=True)
        },
        findings=paired.findings,
    )
