"""Tables of adaptive depths: decided against fixed, and quality by decided depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankscope.document.blocks import Cell, Column, Section, Table, ends, good_if
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.adaptive_depths import AdaptiveDepths, DepthQuality, SystemDepths


def depths_section(result: AdaptiveDepths, title: str) -> Section:
    """Show each system at the decided and at fixed depths, then by decided depth."""
    details = [_groups_table(result, system) for system in result.systems]
    return Section(title, (_systems_table(result),), tuple(details))


def fixed_depths(depth: float) -> tuple[int, ...]:
    """Return the whole depth, or the two that are mixed.

    >>> fixed_depths(4.0), fixed_depths(4.71)
    ((4,), (4, 5))
    """
    low = math.floor(depth)
    return (low,) if low == depth else (low, low + 1)


def _systems_table(result: AdaptiveDepths) -> Table:
    rows = []
    for system in result.systems:
        rows.append((Cell(system.system), Cell("decided"), *_quality_cells(system.decided)))
        if system.fixed is not None:
            depths = fixed_depths(system.fixed_k or 0.0)
            title = f"fixed, k = {' and '.join(f'{depth:,}' for depth in depths)}"
            cells = _quality_cells(system.fixed)
            rows.append(
                (Cell(system.system), Cell(title), *cells[:-1], _difference(system, result))
            )
        if system.largest is not None:
            title = f"largest, k = {result.largest_k:,}"
            rows.append((Cell(system.system), Cell(title), *_quality_cells(system.largest)))
    notes = [
        (
            f"{counted(result.queries, 'question')}, each answer cut at its k "
            f"({result.smallest_k:,} to {result.largest_k:,}, on average {result.mean_k:.2f}); "
            "then at one k for all that shows as many documents (of two k: a mix of both), and at "
            "the largest k"
        ),
        (
            f"{result.measure}: what is cut off counts as not retrieved; Success: a relevant "
            "document is shown; P: relevant of those shown, 0 where none is"
        ),
        (
            "decided − fixed: with its interval by Student's t; ↑ and ↓: p ≤ "
            f"{result.alpha:g}, corrected over the systems"
        ),
    ]
    saved = [
        f"{system.system} {system.saved:.0%}"
        for system in result.systems
        if system.saved is not None
    ]
    if saved:
        notes.append(f"documents saved against the largest k: {', '.join(saved)}")
    cut = [system.system for system in result.systems if system.is_cut]
    if cut:
        notes.append(
            f"{', '.join(cut)}: the run ends at the decided k, so a fixed k cannot be seen; give "
            "deeper runs"
        )
    left_out = [
        f"{counted(count, 'question')} {why}"
        for count, why in (
            (result.undecided, "judged, and without a decided k"),
            (result.unjudged, "with a decided k, and not judged"),
        )
        if count
    ]
    if left_out:
        notes.append(f"left out: {'; '.join(left_out)}")
    return Table(
        (
            Column("system", "text"),
            Column("depth", "text"),
            Column("documents", digits=2),
            Column(result.measure, digits=3),
            Column("Success", digits=3),
            Column("P", digits=3),
            Column("decided − fixed", digits=3, signed=True),
        ),
        tuple(rows),
        notes=tuple(notes),
        name_columns=2,
    )


def _quality_cells(quality: DepthQuality) -> list[Cell]:
    return [
        Cell(quality.documents),
        Cell(quality.value),
        Cell(quality.success),
        Cell(quality.precision),
        Cell(),
    ]


def _difference(system: SystemDepths, result: AdaptiveDepths) -> Cell:
    if system.difference is None:
        return Cell()
    cell = Cell(system.difference, ends(system.interval))
    if system.p_corrected is None or system.p_corrected > result.alpha or not system.difference:
        return cell
    loses = any(finding.system == system.system for finding in result.findings)
    arrow = "↑" if system.difference > 0 else "↓"
    return Cell(cell.value, cell.interval, marker=arrow, tone=good_if(not loses))


def _groups_table(result: AdaptiveDepths, system: SystemDepths) -> Table:
    rows = [
        (
            Cell(f"{group.low:,}" if group.low == group.high else f"{group.low:,}–{group.high:,}"),
            Cell(group.n),
            Cell(group.relevant),
            Cell(group.decided.value, ends(group.interval)),
            Cell(group.fixed),
            Cell(group.decided.success),
            Cell(group.decided.precision),
        )
        for group in system.groups
    ]
    return Table(
        (
            Column("k", "text"),
            Column("questions"),
            Column("relevant", digits=1),
            Column(result.measure, digits=3),
            Column("at the fixed k", digits=3),
            Column("Success", digits=3),
            Column("P", digits=3),
        ),
        tuple(rows),
        title=f"{system.system} by decided k",
        notes=("relevant: documents that a question has on average; a good k rises with it",),
    )
