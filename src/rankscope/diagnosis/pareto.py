"""Pareto: which systems are worth what they cost, in latency, money or anything else.

A system is on the front if none is at least as good and at least as cheap, and better in one of the
two. That is about means; whether a dearer system is really better than a cheaper one is a question
for a test, and its answer is beside each place on the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.show import system_table, titled
from rankscope.document.blocks import Block, Curve, Plot, Table
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.comparison import compare_pairs
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.sentences import listed, measured, p_of
from rankscope.statistics.system_pairs import Pair

WIDE = 10
"""Costs that differ by a larger factor are drawn by their ratios."""

DOMINATED = declare(
    "RS671",
    "dominated-system",
    "note",
    unit="system",
    advice="use the better and cheaper one, unless another cost decides",
    meaning="""A system is shown to be worse than one that costs no more; corrected over the pairs
    of systems.""",
)
NOT_SHOWN_WORTH = declare(
    "RS672",
    "not-shown-worth-its-cost",
    "note",
    unit="system",
    advice="take the cheaper one, or ask more queries to see the difference",
    meaning="""A system has the best mean at its cost, and is not shown to be better than one that
    costs less; corrected over the pairs of systems.""",
)


class PricedSystem(Row):
    """What one system costs, and what it gives for that."""

    cost: float
    """What it costs."""
    quality: float
    """Its mean of the measure, over the queries that all systems have."""
    dominated_by: tuple[str, ...]
    """Systems that are at least as good and as cheap, and better in one of the two, the best
    first."""
    beaten_by: tuple[str, ...]
    """Those of them that are shown to be better."""
    not_better_than: tuple[str, ...]
    """Cheaper systems than which it is not shown to be better, the cheapest first."""

    @property
    def on_front(self) -> bool:
        """Whether no system is at least as good and as cheap, and better in one of the two."""
        return not self.dominated_by

    @property
    def price(self) -> str:
        """What it costs, with as many digits as are read."""
        return f"{self.cost:,.0f}" if self.cost >= 1000 else f"{self.cost:.4g}"

    @property
    def shown(self) -> str:
        """What the tests say."""
        if self.beaten_by:
            return f"worse than {listed(self.beaten_by, 2)}, and no cheaper"
        if self.dominated_by:
            return f"not shown to differ from {listed(self.dominated_by, 2)}, and no cheaper"
        if self.not_better_than:
            return f"not shown to be better than {listed(self.not_better_than, 2)}"
        return "no cheaper one is as good"


class ParetoFront(Part):
    """The main measure against one cost."""

    cost: str
    """The cost."""
    systems: tuple[PricedSystem, ...]
    """The systems whose cost is known, the cheapest first."""
    left_out: tuple[str, ...]
    """Those whose cost is not known."""


class Pareto(Analysed):
    """Which systems are worth what they cost."""

    measure: str
    """The main measure."""
    fronts: tuple[ParetoFront, ...]
    """By cost."""


@analysis(
    title="Quality against cost",
    needs=("scores", "costs"),
    place=38,
)
def pareto(_: Config, inputs: Inputs) -> Pareto:
    """Which systems are worth what they cost: the Pareto front, and what is shown."""
    matrix = inputs.main_matrix()
    names = list(dict.fromkeys(name for costs in inputs.costs.values() for name in costs))
    chosen = list(combinations(range(len(matrix.systems)), 2))
    pairs = list(compare_pairs(matrix, chosen, inputs.settings)) if chosen else []
    fronts = []
    for cost in names:
        known = {
            system: inputs.costs[system][cost]
            for system in matrix.systems
            if cost in inputs.costs.get(system, {})
        }
        if len(known) >= 2:
            fronts.append(_front(matrix, pairs, cost, known))
    inputs.require(fronts, "it needs the costs of two systems at least")
    findings = [] if inputs.costs_are_times else [_findings(each, pairs, inputs) for each in fronts]
    return Pareto(
        measure=str(inputs.main),
        fronts=tuple(fronts),
        findings=tuple(chain.from_iterable(findings)),
    )


@pareto.show
def _show(result: Pareto) -> Iterator[Block | None]:
    for front in result.fronts:
        yield _table(front, result.measure)
        yield _plot(front, result.measure)


def _front(
    matrix: Matrix, pairs: Sequence[Pair], cost: str, price: Mapping[str, float]
) -> ParetoFront:
    """Find the front of one cost."""
    means = {name: matrix.mean(0, place) for place, name in enumerate(matrix.systems)}
    sign = 1 if matrix.scales[0].higher_is_better else -1
    worth = {name: sign * round(mean, 12) for name, mean in means.items()}
    order = sorted(price, key=price.__getitem__)  # equal ones as they were
    sides = [(each.system, each.base) for each in pairs]
    better = {pair for pair, each in zip(sides, pairs, strict=True) if each.verdict == "better"}
    better |= {
        pair[::-1] for pair, each in zip(sides, pairs, strict=True) if each.verdict == "worse"
    }
    systems = []
    for name in order:
        cheaper = [other for other in order if price[other] < price[name]]
        above = [
            other
            for other in order
            if price[other] <= price[name]
            and worth[other] >= worth[name]
            and (worth[other] > worth[name] or other in cheaper)
        ]
        above.sort(key=lambda other: -worth[other])
        systems.append(
            PricedSystem(
                system=name,
                cost=price[name],
                quality=means[name],
                dominated_by=tuple(above),
                beaten_by=tuple(other for other in above if (other, name) in better),
                not_better_than=tuple(each for each in cheaper if (name, each) not in better),
            )
        )
    return ParetoFront(
        cost=cost,
        systems=tuple(systems),
        left_out=tuple(name for name in means if name not in price),
    )


def _findings(front: ParetoFront, pairs: Sequence[Pair], inputs: Inputs) -> Iterator[Finding]:
    prices = {row.system: row.price for row in front.systems}

    def sentence(row: PricedSystem) -> str:
        other = row.beaten_by[0] if row.beaten_by else row.not_better_than[0]
        verdict = "is worse" if row.beaten_by else "is not shown to be better"
        pair = next(each for each in pairs if {each.system, each.base} == {row.system, other})
        turned = pair.base == row.system
        words = measured(pair.difference, pair.interval, p_of(pair), turned=turned)
        return (
            f"{row.system} costs {row.price} {front.cost} against {prices[other]} of {other} and "
            f"{verdict}: {inputs.main} {words}"
        )

    beaten = [row for row in front.systems if row.beaten_by]
    doubted = [row for row in front.systems if row.on_front and row.not_better_than]
    yield from found(DOMINATED, beaten, sentence, focus=inputs.focus)
    yield from found(NOT_SHOWN_WORTH, doubted, sentence, focus=inputs.focus)


def _table(front: ParetoFront, measure: str) -> Table | None:
    unknown = f"{front.cost} is not known of {listed(front.left_out, 10)}"
    table = system_table(
        front.systems,
        f"{measure} against {front.cost}",
        legend=["on_front"],
        notes=[unknown] if front.left_out else [],
        columns=(
            f"price: {titled(front.cost)} | quality: {measure} | on_front: front | "
            "shown: what the tests say"
        ),
    )
    if table is None:
        return None
    system, price, *others = table.columns
    return replace(table, columns=(system, replace(price, kind="number"), *others))


def _plot(front: ParetoFront, measure: str) -> Plot:
    best = [row for row in front.systems if row.on_front]
    others = [row for row in front.systems if not row.on_front]
    curves = [
        Curve(
            label,
            tuple((row.cost, row.quality) for row in rows),
            tuple(row.system for row in rows),
            joined=rows is best,
            tone="good" if rows is best else "quiet",
        )
        for label, rows in (("front", best), ("dominated", others))
        if rows
    ]
    costs = [row.cost for row in front.systems]
    return Plot(
        title=f"{measure} against {front.cost}",
        x=front.cost,
        y=measure,
        curves=tuple(curves),
        log_x=min(costs) > 0 and max(costs) > WIDE * min(costs),
    )
