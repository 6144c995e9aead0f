"""Sweeps: one system tried with several values of its options, side by side.

The values, the main measure, the time of a query and, where it is known, the recall against exact
search. Which are worth their time is in `rankscope.diagnosis.pareto`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block
from rankscope.part import left_out


@dataclass(frozen=True, slots=True)
class Swept:
    """A system that a sweep stands for."""

    of: str
    """The name of the sweep."""
    options: Mapping[str, Any]
    """The options that were varied, with its values."""


class SweptSystem(Row):
    """One system of a sweep."""

    sweep: str
    """What the config calls the sweep."""
    options: dict[str, Any]
    """The options that were varied, with its values."""
    quality: Estimate
    """The mean of the main measure."""
    recall: float | None = left_out()
    """Its share of what an exact search finds, where it searches approximately."""
    p50: float | None
    """The median time of a query, in milliseconds; null if it is not known."""
    p95: float | None
    """The 95th percentile, in milliseconds."""


class Sweeps(Analysed):
    """Systems tried with several values."""

    measure: str
    """The main measure."""
    systems: tuple[SweptSystem, ...]
    """By sweep, in the order of the values."""


@analysis(
    title="Sweeps",
    needs=("scores", "sweeps"),
    place=39,
)
def sweeps(_: Config, inputs: Inputs) -> Sweeps:
    """Systems tried with several values of their options: quality and time, side by side."""
    matrix = inputs.main_matrix()
    intervals = dict(zip(matrix.systems, matrix.mean_intervals(inputs.settings), strict=True))
    rows = []
    for name, point in inputs.sweeps.items():
        if name not in intervals:
            continue
        costs = inputs.costs.get(name, {}) if inputs.has("costs") else {}
        rows.append(
            SweptSystem(
                system=name,
                sweep=point.of,
                options=dict(point.options),
                quality=Estimate.between(inputs.means[name], intervals[name]),
                recall=_recall(inputs, name),
                p50=costs.get("p50, ms"),
                p95=costs.get("p95, ms"),
            )
        )
    inputs.require(rows, "no system of a sweep could be scored")
    return Sweeps(
        measure=str(inputs.main),
        systems=tuple(rows),
    )


@sweeps.show
def _show(result: Sweeps) -> Iterator[Block | None]:
    for name in dict.fromkeys(row.sweep for row in result.systems):
        rows = [row for row in result.systems if row.sweep == name]
        yield part_table(
            rows,
            f"{name}: {', '.join(rows[0].options)}",
            names=len(rows[0].options),
            columns=(
                f"options: {{}} | quality: {result.measure} | recall: recall against exact | "
                "p50: p50, ms | p95: p95, ms"
            ),
        )


def _recall(inputs: Inputs, name: str) -> float | None:
    measured = inputs.exactness.get(name) if inputs.has("exactness") else None
    if measured is None or not measured.queries:
        return None
    return sum(row.recall for row in measured.queries) / len(measured.queries)
