"""Orders: do the measures agree on which system is better, and would other topics?

An analysis of `rankscope.statistics.rank_correlation`: the systems' order by each measure beside
that of every other one, and how often two halves of the queries order two systems differently.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from pydantic import Field

from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part
from rankscope.statistics.arrays import FloatArray, row_means
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.rank_correlation import SwapRate, kendall, rbo, swap_rate, tau_ap

FEWEST_SYSTEMS = 5
"""With fewer there is hardly an order: four systems have six pairs."""

FEWEST_QUERIES = 10
"""Halves of fewer than five queries say nothing."""

OTHER_BEST = declare(
    "RS621",
    "another-best-by-measure",
    "note",
    unit="measure",
    advice="settle which measure decides before looking, and see whether the two systems are "
    "separated at all",
    meaning="The best system by one measure is not the best by another.",
)


class MeasureOrder(Part):
    """The systems in the order of one measure."""

    measure: str
    """The measure."""
    order: tuple[str, ...]
    """The systems, best first; systems with equal means by name."""
    swaps: SwapRate
    """How often two halves of the queries disagree."""


class OrderPair(Part):
    """How alike two measures order the systems."""

    first: str
    """A measure."""
    second: str
    """Another one."""
    tau: float | None
    """Kendall's τ_b: 1 the same order, −1 the opposite; null if a measure ties all systems."""
    tau_ap: float
    """τ_AP, the mean of both directions: mistakes near the top count more."""
    rbo: float
    """Rank-biased overlap at p = 0.9, from 0 to 1."""


class Orders(Analysed):
    """How alike measures order the systems, and how stable each order is."""

    measure: str
    """The main measure, which the table compares the others with."""
    systems: int
    """How many there are."""
    queries: int
    """Queries that all systems have."""
    orders: tuple[MeasureOrder, ...]
    """By measure."""
    pairs: tuple[OrderPair, ...]
    """By pair of measures."""


class OrdersConfig(AnalysisConfig):
    """How orders are compared."""

    splits: int = Field(default=200, ge=1)
    """How many random halvings of the queries are tried."""


def _look(config: OrdersConfig, inputs: Inputs) -> Orders | NotApplicable:
    assert inputs.scores is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    measures, systems, queries = matrix.shape
    if systems < FEWEST_SYSTEMS or queries < FEWEST_QUERIES or not measures:
        return ORDERS.not_applicable(
            f"it needs {FEWEST_SYSTEMS} systems and {FEWEST_QUERIES} queries with averaged "
            f"measures; given: {counted(systems, 'system')}, {counted(queries, 'query')}, "
            f"{counted(measures, 'measure')}"
        )
    means = [row_means(matrix.oriented(measure)).round(12) for measure in range(measures)]
    orders = [
        MeasureOrder(
            measure=scale.name,
            order=tuple(name for tie in _ties(matrix.systems, row) for name in tie),
            swaps=swap_rate(
                matrix.oriented(measure), splits=config.splits, seed=inputs.settings.seed
            ),
        )
        for measure, (scale, row) in enumerate(zip(matrix.scales, means, strict=True))
    ]
    pairs = [
        OrderPair(
            first=matrix.scales[a].name,
            second=matrix.scales[b].name,
            tau=kendall(means[a], means[b]),
            tau_ap=tau_ap(means[a], means[b], symmetric=True),
            rbo=rbo(_ties(matrix.systems, means[a]), _ties(matrix.systems, means[b])),
        )
        for a, b in combinations(range(measures), 2)
    ]
    return Orders(
        measure=matrix.scales[0].name,
        systems=systems,
        queries=queries,
        orders=tuple(orders),
        pairs=tuple(pairs),
        findings=tuple(_findings(matrix, means)),
    )


def _ties(systems: tuple[str, ...], means: FloatArray) -> list[list[str]]:
    """Return the systems best first, those with equal means together and by name."""
    return [
        sorted(systems[place] for place in np.flatnonzero(means == mean))
        for mean in np.unique(means)[::-1]
    ]


def _findings(matrix: Matrix, means: list[FloatArray]) -> list[Finding]:
    """Name the measures whose best systems are all others than the main measure's."""
    best = [_ties(matrix.systems, row)[0] for row in means]
    others = {
        scale.name: names
        for scale, names in zip(matrix.scales, best, strict=True)
        if not set(names) & set(best[0])
    }
    if not others:
        return []
    named = "; ".join(f"{measure}: {', '.join(names)}" for measure, names in others.items())
    main = matrix.scales[0].name
    return [
        OTHER_BEST.finding(
            f"the best by {main} is {', '.join(best[0])}, and another by other measures ({named})",
            count=len(others),
            evidence={"best": {main: best[0]} | others},
        )
    ]


def _section(result: Orders) -> Section:
    """Show each measure beside the main one, with how stable its own order is."""
    with_main = {pair.second: pair for pair in result.pairs if pair.first == result.measure}
    rows = []
    for order in result.orders:
        pair = with_main.get(order.measure)
        alike = [None] * 3 if pair is None else [pair.tau, pair.tau_ap, pair.rbo]
        rows.append(
            (
                Cell(order.measure),
                Cell(order.order[0]),
                *map(Cell, alike),
                Cell(order.swaps.swapped),
                Cell(order.swaps.tau),
            )
        )
    table = Table(
        (
            Column("measure", "text"),
            Column("best", "text"),
            *(Column(title, digits=3) for title in ("τ", "τ_AP", "RBO", "swapped", "τ of halves")),
        ),
        tuple(rows),
        notes=(
            (
                f"τ, τ_AP (the top counts more), RBO: how alike {result.measure} and the measure "
                f"order {counted(result.systems, 'system')}; the JSON holds all pairs of measures"
            ),
            (
                "swapped: how often two random halves of the queries order two systems "
                "differently; all queries together are more stable than a half"
            ),
        ),
    )
    return Section(ORDERS.title, details=(table,))


ORDERS = register(
    Analysis(
        name="orders",
        title="Orders of the systems",
        summary="Whether the measures order the systems alike, and how stable each order is.",
        config=OrdersConfig,
        written="orders: {splits: 1000}",
        result=Orders,
        needs=("scores",),
        look=_look,
        section=_section,
        codes=(OTHER_BEST,),
        place=40,
    )
)
