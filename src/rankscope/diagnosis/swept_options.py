"""Swept options: one system tried with several values of its options, side by side.

The values, the main measure, the time of a query and, where it is known, the recall against exact
search. What is on the front by means may not be shown to be better: the tests of the comparison say
that, and they are corrected over all systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.findings import NotApplicable
from rankscope.part import Part, left_out
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import mean_rows


@dataclass(frozen=True, slots=True)
class Swept:
    """A system that a sweep stands for."""

    of: str
    """The name of the sweep."""
    options: Mapping[str, Any]
    """The options that were varied, with its values."""


class SweptSystem(Part):
    """One system of a sweep."""

    system: str
    """The system."""
    options: dict[str, Any]
    """The options that were varied, with its values."""
    quality: float
    """The mean of the main measure."""
    interval: Interval | None
    """Of the mean; null where it is no mean over queries."""
    recall: float | None = left_out()
    """Its share of what an exact search finds, where it searches approximately."""
    p50: float | None
    """The median time of a query, in milliseconds; null if it is not known."""
    p95: float | None
    """The 95th percentile, in milliseconds."""
    on_front: bool
    """Whether no other system of the sweep is at least as good in at most its median time, and
    better in one of the two."""


class Sweep(Part):
    """One sweep."""

    name: str
    """What the config calls it."""
    systems: tuple[SweptSystem, ...]
    """In the order of the values."""


class Sweeps(Analysed):
    """Systems tried with several values."""

    measure: str
    """The main measure."""
    higher_is_better: bool
    """Whether more of it is better."""
    sweeps: tuple[Sweep, ...]
    """By name."""


class SweepsConfig(AnalysisConfig):
    """Nothing can be configured here; the key sweep of a system says what is varied."""


def _look(_: SweepsConfig, inputs: Inputs) -> Sweeps | NotApplicable:
    assert inputs.scores is not None
    assert inputs.sweeps is not None
    scores = inputs.scores
    swept = {name: point for name, point in inputs.sweeps.items() if name in scores.runs}
    if not swept:
        return SWEEPS.not_applicable("no system of a sweep could be scored")
    main = scores.measures[0]
    intervals = _intervals(inputs)
    higher = inputs.main.definition.higher_is_better
    groups: dict[str, list[SweptSystem]] = {}
    for name, point in swept.items():
        costs = (inputs.costs or {}).get(name, {})
        groups.setdefault(point.of, []).append(
            SweptSystem(
                system=name,
                options=dict(point.options),
                quality=scores.run(name).means[main],
                interval=intervals.get(name),
                recall=_recall(inputs, name),
                p50=costs.get("p50, ms"),
                p95=costs.get("p95, ms"),
                on_front=False,
            )
        )
    return Sweeps(
        measure=main,
        higher_is_better=higher,
        sweeps=tuple(
            Sweep(name=name, systems=tuple(_with_front(rows, higher=higher)))
            for name, rows in groups.items()
        ),
    )


def _recall(inputs: Inputs, name: str) -> float | None:
    measured = (inputs.exactness or {}).get(name)
    if measured is None or not measured.queries:
        return None
    return sum(row.hits / row.wanted for row in measured.queries) / len(measured.queries)


def _intervals(inputs: Inputs) -> dict[str, Interval]:
    assert inputs.scores is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    if not matrix.scales or matrix.scales[0].name != inputs.scores.measures[0]:
        return {}
    rows = mean_rows(matrix.only_measures(1), inputs.settings)
    return dict(zip(matrix.systems, rows, strict=True))


def _with_front(rows: Sequence[SweptSystem], *, higher: bool) -> list[SweptSystem]:
    sign = 1 if higher else -1

    def is_on_front(row: SweptSystem) -> bool:
        if row.p50 is None:
            return False
        return not any(
            other.p50 is not None
            and sign * other.quality >= sign * row.quality
            and other.p50 <= row.p50
            and (other.quality, other.p50) != (row.quality, row.p50)
            for other in rows
        )

    return [row.model_copy(update={"on_front": is_on_front(row)}) for row in rows]


# --- the section ---------------------------------------------------------------------------------


def _section(result: Sweeps) -> Section:
    return Section(SWEEPS.title, tuple(_table(sweep, result) for sweep in result.sweeps))


def _table(sweep: Sweep, result: Sweeps) -> Table:
    options = list(sweep.systems[0].options)
    has_recall = any(row.recall is not None for row in sweep.systems)
    choose = max if result.higher_is_better else min
    best = choose(row.quality for row in sweep.systems)
    rows = [
        (
            *(Cell(str(row.options[name])) for name in options),
            Cell(
                row.quality,
                interval=None if row.interval is None else (row.interval.low, row.interval.high),
                best=row.quality == best,
            ),
            *((Cell(row.recall),) if has_recall else ()),
            Cell(row.p50),
            Cell(row.p95),
            Cell("✓" if row.on_front else ""),
        )
        for row in sweep.systems
    ]
    recall = (Column("recall against exact", digits=3),) if has_recall else ()
    return Table(
        (
            *(Column(name, "text") for name in options),
            Column(result.measure, digits=3),
            *recall,
            Column("p50, ms", digits=2),
            Column("p95, ms", digits=2),
            Column("front", "text"),
        ),
        tuple(rows),
        title=f"{sweep.name}: {', '.join(options)}",
        notes=(
            (
                "✓ no other value is at least as good in at most this median time, and better in "
                "one of the two, by means; Differences says what is shown"
            ),
        ),
    )


SWEEPS = register(
    Analysis(
        name="sweeps",
        title="Sweeps",
        summary="Systems tried with several values of their options: quality, time, the front.",
        config=SweepsConfig,
        written="",
        result=Sweeps,
        needs=("scores", "sweeps"),
        uses=("costs", "exactness"),
        look=_look,
        section=_section,
        brief=True,
        place=39,
    )
)
