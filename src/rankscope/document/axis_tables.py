"""Tables in which every row draws on one axis: a dot and its whisker, beside the numbers.

The axis stands in the head, once, and its lines run through all rows; it says where it begins and
on which side of the baseline better is. Everything is placed in percent of the column's width, so
that it fits a page of any width without a script and without inline styles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from rankscope.document.blocks import Axis, Cell, Column
from rankscope.document.scales import Scale, round_ends, tick_texts
from rankscope.document.text import interval, number, readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Table

_NEAR_EDGE = 15
"""Percent from an edge within which what is written at the baseline leaves that side out."""


def with_axis(table: Table) -> Table:
    """Give a table with the intervals of one column a column that draws them."""
    held = [
        at
        for at, column in enumerate(table.columns)
        if column.kind == "number" and any(row[at].interval for row in table.rows)
    ]
    if table.axis is not None or len(held) != 1 or len(table.rows) < 2:
        return table
    at, column = held[0], table.columns[held[0]]
    low = min(min(row[at].interval or (0.0,)) for row in table.rows)
    cells = (Cell(row[at].value, row[at].interval, tone=row[at].tone) for row in table.rows)
    return replace(
        table,
        columns=(*table.columns[:at], Column("", "whisker"), *table.columns[at:]),
        rows=tuple(
            (*row[:at], cell, *row[at:]) for row, cell in zip(table.rows, cells, strict=True)
        ),
        axis=Axis(0.0 if column.signed or low < 0 else None),
    )


@dataclass(frozen=True, slots=True)
class DrawnAxis:
    """An axis with its scale, on which values have a place in percent."""

    axis: Axis
    scale: Scale

    def at(self, value: float) -> str:
        """Return where a value is."""
        return f"{self.scale.at(value):.1f}%"


def drawn_axis(table: Table) -> DrawnAxis | None:
    """Return the axis that holds all whiskers of a table; None if there is nothing to draw."""
    place = next((at for at, column in enumerate(table.columns) if column.kind == "whisker"), None)
    if table.axis is None or place is None:
        return None
    values = [table.axis.base]
    for row in table.rows:
        if isinstance(row[place].value, float):
            values += [row[place].value, *(row[place].interval or ())]  # type: ignore[list-item]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return DrawnAxis(table.axis, Scale(*round_ends(known))) if known else None


def axis_head(drawn: DrawnAxis) -> str:
    """Return what stands above an axis: its baseline with both sides, and its ticks."""
    axis, ticks = drawn.axis, drawn.scale.ticks()
    written = "".join(
        f'<text x="{drawn.at(tick)}" y="32" text-anchor="middle">{text.replace("-", "−")}</text>'
        for tick, text in zip(ticks, tick_texts(ticks), strict=True)
    )
    sides = ""
    if axis.base is not None and axis.base_title:
        worse, better = (
            ("← worse", "better →") if axis.higher_is_better else ("← better", "worse →")
        )
        place = drawn.scale.at(axis.base)
        is_left, is_right = place < _NEAR_EDGE, place > 100 - _NEAR_EDGE
        anchor = "start" if is_left else "end" if is_right else "middle"
        left = "" if is_left else f"{worse}\u2002"
        right = "" if is_right else f"\u2002{better}"
        sides = (
            f'<text x="{place:.1f}%" y="13" text-anchor="{anchor}">{left}'
            f'<tspan class="base">{escape(readable(axis.base_title))}</tspan>{right}</text>'
        )
    return f'<svg class="axis-head" aria-hidden="true">{sides}{written}</svg>'


def axis_cell(drawn: DrawnAxis, cell: Cell) -> str:
    """Return what a row draws: the lines of the axis, the whisker, and the value as a dot."""
    grid = "".join(
        f'<rect class="grid" x="{drawn.at(tick)}" width="1" height="100%"/>'
        for tick in drawn.scale.ticks()
    )
    if drawn.axis.base is not None:
        place = drawn.at(drawn.axis.base)
        grid += f'<rect class="base" x="{place}" width="1.5" height="100%"/>'
    if not isinstance(cell.value, float) or not math.isfinite(cell.value):
        return f'<svg class="axis" aria-hidden="true">{grid}</svg>'
    about, whisker = number(cell.value), ""
    if cell.interval is not None:
        low, high = map(drawn.scale.at, cell.interval)
        whisker = f'<rect class="whisker" x="{low:.1f}%" width="{high - low:.1f}%"/>'
        about += f", {interval(cell.interval)}"
    return (
        f'<svg class="axis {cell.tone}" role="img" aria-label="{about}">{grid}{whisker}'
        f'<circle cx="{drawn.at(cell.value)}" r="5"/></svg>'
    )
