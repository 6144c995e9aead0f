"""Pareto: which systems are worth what they cost, in latency, money or anything else.

A system is on the front if none is at least as good and at least as cheap, and better in one of the
two. That is about means; whether a dearer system is really better than a cheaper one is a question
for a test, and its answer is beside each place on the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.show import system_table
from rankscope.document.blocks import Block, Curve, Plot, Table
from rankscope.errors import UnknownNameError
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.arrays import SAME
from rankscope.statistics.comparison import compare_pairs
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.sentences import listed, measured, p_of
from rankscope.statistics.settings import Settings
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


class ParetoConfig(Config):
    """Which way costs are read."""

    higher: tuple[str, ...] = ()
    """Costs of which more is better, such as a throughput."""


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
    higher_is_better: bool
    """Whether more of the cost is better, as of a throughput."""
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
    written="pareto: {higher: [throughput_qps]}",
    place=38,
)
def pareto(config: ParetoConfig, inputs: Inputs) -> Pareto:
    """Which systems are worth what they cost: the Pareto front, and what is shown."""
    matrix, measure = inputs.main_matrix(), str(inputs.main)
    names = list(dict.fromkeys(name for costs in inputs.costs.values() for name in costs))
    for name in config.higher:
        if name not in names:
            raise UnknownNameError("cost (pareto)", name, names)
    tested = _Tested.of(matrix, inputs.settings)
    fronts: list[ParetoFront] = []
    findings: list[Finding] = []
    for cost in names:
        known = {
            system: inputs.costs[system][cost]
            for system in matrix.systems
            if cost in inputs.costs.get(system, {})
        }
        if len(known) >= 2:
            fronts.append(_front(tested, cost, known, higher=cost in config.higher))
            findings += _findings(fronts[-1], measure, tested, inputs.focus)
    inputs.require(fronts, "it needs the costs of two systems at least")
    return Pareto(
        measure=measure,
        fronts=tuple(fronts),
        findings=() if inputs.costs_are_times else tuple(findings),
    )


@pareto.show
def _show(result: Pareto) -> Iterator[Block | None]:
    for front in result.fronts:
        yield _table(front, result.measure)
        yield _plot(front, result.measure)


@dataclass(frozen=True, slots=True)
class _Tested:
    """The systems on one measure, and which are shown to differ."""

    means: Mapping[str, float]
    sign: int
    """1 if more of the measure is better, or -1."""
    pairs: Mapping[tuple[str, str], Pair]
    """By base and system."""

    @classmethod
    def of(cls, matrix: Matrix, settings: Settings) -> _Tested:
        means = {name: matrix.mean(0, place) for place, name in enumerate(matrix.systems)}
        chosen = list(combinations(range(len(matrix.systems)), 2))
        pairs = compare_pairs(matrix, chosen, settings) if chosen else []
        sign = 1 if matrix.scales[0].higher_is_better else -1
        return cls(means, sign, {(pair.base, pair.system): pair for pair in pairs})

    def gain(self, system: str, other: str) -> float:
        """Return by how much the mean of one is better; what differs by rounding only is 0."""
        mean, other_mean = self.means[system], self.means[other]
        if abs(mean - other_mean) <= SAME * max(abs(mean), abs(other_mean)):
            return 0.0
        return self.sign * (mean - other_mean)

    def is_better(self, system: str, other: str) -> bool:
        """Tell whether a system is shown to be better than another."""
        if (other, system) in self.pairs:
            return self.pairs[other, system].verdict == "better"
        return self.pairs[system, other].verdict == "worse"

    def words(self, system: str, other: str) -> str:
        """Return the difference of a system to another, with interval and p-value."""
        turned = (other, system) not in self.pairs
        pair = self.pairs[system, other] if turned else self.pairs[other, system]
        return measured(pair.difference, pair.interval, p_of(pair), turned=turned)


def _front(tested: _Tested, cost: str, costs: Mapping[str, float], *, higher: bool) -> ParetoFront:
    """Find the front of one cost."""
    price = {name: -value if higher else value for name, value in costs.items()}
    order = sorted(price, key=price.__getitem__)  # equal ones as they were
    systems = []
    for name in order:
        cheaper = [other for other in order if price[other] < price[name]]
        above = [
            other
            for other in order
            if price[other] <= price[name]
            and (
                tested.gain(other, name) > 0 or (tested.gain(other, name) == 0 and other in cheaper)
            )
        ]
        above.sort(key=lambda other: -tested.gain(other, name))
        systems.append(
            PricedSystem(
                system=name,
                cost=costs[name],
                quality=tested.means[name],
                dominated_by=tuple(above),
                beaten_by=tuple(other for other in above if tested.is_better(other, name)),
                not_better_than=tuple(
                    other for other in cheaper if not tested.is_better(name, other)
                ),
            )
        )
    return ParetoFront(
        cost=cost,
        higher_is_better=higher,
        systems=tuple(systems),
        left_out=tuple(name for name in tested.means if name not in costs),
    )


def _findings(front: ParetoFront, measure: str, tested: _Tested, focus: str) -> tuple[Finding, ...]:
    prices = {row.system: row.price for row in front.systems}
    has = "has" if front.higher_is_better else "costs"

    def sentence(row: PricedSystem) -> str:
        other = row.beaten_by[0] if row.beaten_by else row.not_better_than[0]
        verdict = "is worse" if row.beaten_by else "is not shown to be better"
        return (
            f"{row.system} {has} {row.price} {front.cost} against {prices[other]} of {other} and "
            f"{verdict}: {measure} {tested.words(row.system, other)}"
        )

    beaten = [row for row in front.systems if row.beaten_by]
    doubted = [row for row in front.systems if row.on_front and row.not_better_than]
    return (
        *found(DOMINATED, beaten, sentence, focus=focus),
        *found(NOT_SHOWN_WORTH, doubted, sentence, focus=focus),
    )


def _table(front: ParetoFront, measure: str) -> Table | None:
    unknown = f"{front.cost} is not known of {listed(front.left_out, 10)}"
    cost = f"{front.cost} (more is better)" if front.higher_is_better else front.cost
    table = system_table(
        front.systems,
        f"{measure} against {front.cost}",
        legend=["on_front"],
        notes=[unknown] if front.left_out else [],
        columns=f"price: {cost} | quality: {measure} | on_front: front | shown: what the tests say",
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
