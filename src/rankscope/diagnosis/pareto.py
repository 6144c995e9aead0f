"""Pareto: which systems are worth what they cost, in latency, money or anything else.

A system is on the front if none is at least as good and at least as cheap, and better in one of the
two. That is about means; whether a dearer system is really better than a cheaper one is a question
for a test, and its answer is beside each place on the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Block, Cell, Column, Curve, Plot, Section, Table, text_columns
from rankscope.errors import UnknownNameError
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part
from rankscope.statistics.arrays import SAME
from rankscope.statistics.compared import compare_pairs
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.sentences import listed, measured, p_of

if TYPE_CHECKING:
    from rankscope.statistics.matrix import Scale
    from rankscope.statistics.pair import Pair
    from rankscope.statistics.settings import Settings

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
WIDE = 10
"""Costs that differ by a larger factor are drawn by their ratios."""


class PricedSystem(Part):
    """What one system costs, and what it gives for that."""

    system: str
    """The system."""
    cost: float
    """What it costs."""
    quality: float
    """Its mean of the measure, over the queries that all systems have."""
    on_front: bool
    """Whether no system is at least as good and as cheap, and better in one of the two."""
    dominated_by: tuple[str, ...]
    """The systems that are, the best first."""
    beaten_by: tuple[str, ...]
    """Those of them that are shown to be better."""
    shown: bool
    """Whether the tests say so too: that a system on the front is better than every cheaper one,
    and another worse than one that costs no more."""
    not_better_than: tuple[str, ...]
    """Cheaper systems than which it is not shown to be better, the cheapest first."""


class ParetoFront(Part):
    """One measure against one cost."""

    measure: str
    """The measure."""
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

    alpha: float
    """A corrected p-value up to this counts as a difference."""
    fronts: tuple[ParetoFront, ...]
    """By measure and cost."""


class ParetoConfig(AnalysisConfig):
    """What is put against what."""

    measures: tuple[str, ...] = ()
    """The measures; none: the main one."""
    costs: tuple[str, ...] = ()
    """The costs, by name; none: all."""
    higher: tuple[str, ...] = ()
    """Costs of which more is better, such as a throughput."""


def _look(config: ParetoConfig, inputs: Inputs) -> Pareto | NotApplicable:
    assert inputs.scores is not None
    assert inputs.costs is not None
    scores = inputs.scores
    wanted = [scores.name_of(measure) for measure in config.measures]
    matrix = Matrix.of_scores(scores, only_means=True)
    means = [scale.name for scale in matrix.scales]
    if not means:
        return PARETO.not_applicable("no measure is a mean over queries")
    for name in wanted:
        if name not in means:
            return PARETO.not_applicable(f"{name} is no mean over queries")
    names = list(dict.fromkeys(name for costs in inputs.costs.values() for name in costs))
    for name in (*config.costs, *config.higher):
        if name not in names:
            raise UnknownNameError("cost (pareto)", name, names)
    priced = {name: _known(inputs.costs, name, matrix.systems) for name in config.costs or names}
    if all(len(costs) < 2 for costs in priced.values()):
        return PARETO.not_applicable("it needs the costs of two systems at least")
    fronts: list[ParetoFront] = []
    findings: list[Finding] = []
    for measure in wanted or means[:1]:
        tested = _Tested(matrix, means.index(measure), inputs.settings)
        for cost, costs in priced.items():
            if len(costs) < 2:
                continue
            front = _front(tested, cost, costs, higher=cost in config.higher)
            fronts.append(front)
            findings += _findings(front, tested)
    kept = () if inputs.costs_are_times else tuple(findings)
    return Pareto(alpha=inputs.settings.alpha, fronts=tuple(fronts), findings=kept)


def _known(
    costs: Mapping[str, Mapping[str, float]], name: str, systems: Sequence[str]
) -> dict[str, float]:
    """Return one cost by system, where it is known."""
    return {system: costs[system][name] for system in systems if name in costs.get(system, {})}


class _Tested:
    """The systems on one measure, and which are shown to differ."""

    def __init__(self, matrix: Matrix, measure: int, settings: Settings) -> None:
        self.scale: Scale = matrix.scales[measure]
        self.systems = matrix.systems
        part = matrix.only_measure(measure)
        self.means = {name: part.mean(0, place) for place, name in enumerate(self.systems)}
        pairs = list(combinations(range(len(self.systems)), 2))
        compared = compare_pairs(part, pairs, settings) if pairs else []
        self._pairs = {(pair.base, pair.system): pair for pair in compared}

    def gain(self, system: str, other: str) -> float:
        """Return by how much the mean of one is better; what differs by rounding only is 0."""
        mean, other_mean = self.means[system], self.means[other]
        if abs(mean - other_mean) <= SAME * max(abs(mean), abs(other_mean)):
            return 0.0
        return mean - other_mean if self.scale.higher_is_better else other_mean - mean

    def is_better(self, system: str, other: str) -> bool:
        """Tell whether a system is shown to be better than another."""
        if (other, system) in self._pairs:
            return self._pairs[other, system].verdict == "better"
        return self._pairs[system, other].verdict == "worse"

    def p(self, system: str, other: str) -> float:
        """Return the p-value of a pair, corrected over all pairs."""
        return self._pair(system, other)[0].p_corrected

    def words(self, system: str, other: str) -> str:
        """Return the difference of a system to another, with interval and p-value."""
        pair, is_turned = self._pair(system, other)
        return measured(pair.difference, pair.shown, p_of(pair), turned=is_turned)

    def _pair(self, system: str, other: str) -> tuple[Pair, bool]:
        if (other, system) in self._pairs:
            return self._pairs[other, system], False
        return self._pairs[system, other], True


def _front(tested: _Tested, cost: str, costs: Mapping[str, float], *, higher: bool) -> ParetoFront:
    """Find the front of one measure and one cost."""
    price = {name: -value if higher else value for name, value in costs.items()}
    order = sorted(price, key=lambda name: price[name])  # equal ones as they were
    systems = []
    for name in order:
        cheaper = [other for other in order if price[other] < price[name]]
        rivals = [other for other in order if other != name and price[other] <= price[name]]
        above = [
            other
            for other in rivals
            if tested.gain(other, name) > 0
            or (tested.gain(other, name) == 0 and price[other] < price[name])
        ]
        above.sort(key=lambda other: -tested.gain(other, name))
        not_better = tuple(other for other in cheaper if not tested.is_better(name, other))
        beaten_by = tuple(other for other in above if tested.is_better(other, name))
        systems.append(
            PricedSystem(
                system=name,
                cost=costs[name],
                quality=tested.means[name],
                on_front=not above,
                dominated_by=tuple(above),
                beaten_by=beaten_by,
                shown=bool(beaten_by) if above else not not_better,
                not_better_than=not_better,
            )
        )
    return ParetoFront(
        measure=tested.scale.name,
        cost=cost,
        higher_is_better=higher,
        systems=tuple(systems),
        left_out=tuple(name for name in tested.systems if name not in costs),
    )


# --- what is worth saying ------------------------------------------------------------------------


def _amount(cost: float) -> str:
    """Return a cost with as many digits as are read.

    >>> _amount(12.0), _amount(1234567.0), _amount(0.00123456)
    ('12', '1,234,567', '0.001235')
    """
    return f"{cost:,.0f}" if cost >= 1000 else f"{cost:.4g}"


def _findings(front: ParetoFront, tested: _Tested) -> Iterator[Finding]:
    by_name = {system.system: system for system in front.systems}
    for system in front.systems:
        if system.beaten_by:
            code, verdict, other = DOMINATED, "is worse", system.beaten_by[0]
        elif system.on_front and system.not_better_than:
            code, verdict = NOT_SHOWN_WORTH, "is not shown to be better"
            other = system.not_better_than[0]
        else:
            continue
        has = "has" if front.higher_is_better else "costs"
        yield code.finding(
            f"{system.system} {has} {_amount(system.cost)} {front.cost} against "
            f"{_amount(by_name[other].cost)} of {other} and {verdict}: {front.measure} "
            f"{tested.words(system.system, other)}",
            evidence={
                "measure": front.measure,
                "cost": front.cost,
                "systems": [system.system, other],
                "costs": [system.cost, by_name[other].cost],
                "gain": tested.gain(system.system, other),
                "p_corrected": tested.p(system.system, other),
            },
        )


# --- the section ---------------------------------------------------------------------------------


def _section(result: Pareto) -> Section:
    tables = [_table(front) for front in result.fronts]
    details: list[Block] = []
    for place, front in enumerate(result.fronts):
        details += [] if place == 0 else [tables[place]]
        details.append(_plot(front))
    return Section(PARETO.title, tuple(tables[:1]), tuple(details))


def _table(front: ParetoFront) -> Table:
    rows = [
        (
            Cell(system.system),
            Cell(_amount(system.cost)),
            Cell(system.quality, tone="strong" if system.on_front else "plain"),
            Cell("✓" if system.on_front else ""),
            Cell(_remark(system, is_cheapest=system.cost == front.systems[0].cost)),
        )
        for system in front.systems
    ]
    notes = [
        (
            "✓ no system is at least as good and at least as cheap, and better in one of the two, "
            "by their means; tests: of all pairs of systems, corrected"
        )
    ]
    if front.left_out:
        notes.append(f"{front.cost} is not known of {listed(front.left_out, 10)}")
    return Table(
        (
            Column("system", "text"),
            Column(front.cost, note="more is better" if front.higher_is_better else ""),
            Column(front.measure, digits=3),
            *text_columns("front", "what the tests say"),
        ),
        tuple(rows),
        title=f"{front.measure} against {front.cost}",
        notes=tuple(notes),
    )


def _remark(system: PricedSystem, *, is_cheapest: bool) -> str:
    """Say what the tests show of a system."""
    if system.beaten_by:
        return f"worse than {listed(system.beaten_by, 2)}, and no cheaper"
    if system.dominated_by:
        return f"not shown to differ from {listed(system.dominated_by, 2)}, and no cheaper"
    if is_cheapest:
        return "the cheapest"
    if system.not_better_than:
        return f"not shown to be better than {listed(system.not_better_than, 2)}"
    return "better than all cheaper ones"


def _plot(front: ParetoFront) -> Plot:
    best = [system for system in front.systems if system.on_front]
    others = [system for system in front.systems if not system.on_front]
    curves = [
        Curve(
            "front",
            tuple((system.cost, system.quality) for system in best),
            tuple(system.system for system in best),
            tone="good",
        )
    ]
    if others:
        curves.append(
            Curve(
                "dominated",
                tuple((system.cost, system.quality) for system in others),
                tuple(system.system for system in others),
                joined=False,
                tone="quiet",
            )
        )
    costs = [system.cost for system in front.systems]
    return Plot(
        title=f"{front.measure} against {front.cost}",
        x=front.cost,
        y=front.measure,
        curves=tuple(curves),
        log_x=min(costs) > 0 and max(costs) > WIDE * min(costs),
    )


PARETO = register(
    Analysis(
        name="pareto",
        title="Quality against cost",
        summary="Which systems are worth what they cost: the Pareto front, and what is shown.",
        config=ParetoConfig,
        written="pareto: {higher: [throughput_qps]}",
        result=Pareto,
        needs=("scores", "costs"),
        look=_look,
        section=_section,
        codes=(DOMINATED, NOT_SHOWN_WORTH),
        place=38,
    )
)
