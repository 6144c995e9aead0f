"""How attainable maxima are shown: the section of the analysis in `attainable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import Block, Cell, Column, Notes, Section, Table
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.attainable import Attainable

TITLE = "The attainable maximum"


def attainable_section(result: Attainable) -> Section:
    """Show each value beside the most it could be, and why that is not more."""
    table = _table(result)
    reasons = _why(result)
    details: list[Block] = [Notes(tuple(reasons))] if reasons else []
    if result.findings:
        return Section(TITLE, (table,), tuple(details))
    return Section(TITLE, details=(table, *details))


def _table(result: Attainable) -> Table:
    names = list(dict.fromkeys(each.system for row in result.measures for each in row.systems))
    has_text = any(row.by_text is not None for row in result.measures)
    rows = []
    for row in result.measures:
        by_name = {each.system: each for each in row.systems}
        cells = [Cell(row.measure), Cell(row.maximum)]
        if has_text:
            cells.append(Cell(row.by_text))
        for name in names:
            each = by_name.get(name)
            if each is None:
                cells.append(Cell())
            else:
                share = "" if each.share is None else f"{each.share:.0%}"
                cells.append(Cell(each.value, note=share))
        rows.append(tuple(cells))
    notes = [
        "at most: the best mean that any ranking of the judged documents has"
        + (f", with up to {counted(result.depth, 'document')} a query" if result.depth else ""),
        "in parentheses the mean as a share of the maximum",
    ]
    if has_text:
        notes.append(
            "by text: about the most that can be expected from texts alone: "
            f"the gold of {counted(result.ambiguous, 'query')} has copies under other ids, which "
            "only a guess tells apart"
        )
    notes += [
        f"{row.measure} has no maximum: {row.reason}" for row in result.measures if row.reason
    ]
    text_column = (Column("by text"),) if has_text else ()
    return Table(
        (
            Column("measure", "text"),
            Column("at most"),
            *text_column,
            *(Column(name) for name in names),
        ),
        tuple(rows),
        notes=tuple(notes),
    )


def _why(result: Attainable) -> list[str]:
    """Say why maxima are not higher; measures with the same reasons share a line."""
    lines: dict[str, list[str]] = {}
    for row in result.measures:
        if row.limits:
            listed = ", ".join(f"{reason} ({count:,})" for reason, count in row.limits.items())
            text = (
                f"cannot be {row.highest:g} for {counted(sum(row.limits.values()), 'query')} of "
                f"{result.queries:,}: {listed}"
            )
            lines.setdefault(text, []).append(row.measure)
    return [f"{', '.join(measures)} {text}" for text, measures in lines.items()]
