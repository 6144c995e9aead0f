"""Segments as tables: what costs most, and the systems in each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    ends,
    marked,
    marker_note,
    sentences,
)
from rankscope.errors import counted
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.matrix import Scale
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_means import Segment, SegmentMean
    from rankscope.diagnosis.segments import Segments

MOST_ROWS = 8
"""So many groups are shown: who reads more acts on none."""

_TITLES = {
    "words": "number of words",
    "characters": "number of characters",
    "complexity": "complexity (number of constraints)",
    "rarity": "rarity of words (mean IDF)",
    "relevant documents": "number of relevant documents",
    "overlap": "share of the query's words in the best relevant document",
}


def segment_section(title: str, result: Segments) -> Section:
    """Show what costs the best system most, and behind it the systems in each group."""
    blocks: list[Block] = []
    details: list[Block] = []
    costs = [cost for cost in result.costs if cost.system == result.system]
    if costs:
        table = _cost_table(result)
        if any(cost.is_weak(result.alpha) for cost in costs):
            blocks.append(table)
        else:
            nothing = (
                f"{result.system}: none of {counted(len(costs), 'group')} of queries scores below "
                "the rest by more than chance"
            )
            blocks.append(sentences([f"{'; '.join([nothing, *_strong(result)])}."]))
            if table.rows:
                details.append(table)
    shown = [segment for segment in result.segments if any(group.means for group in segment.groups)]
    details += [_table(result, segment) for segment in shown]
    return Section(title, tuple(blocks), tuple(details))


def _cost_table(result: Segments) -> Table:
    """Show the groups that cost the best system most, the costliest first."""
    costs = [cost for cost in result.costs if cost.system == result.system]
    rows = []
    for cost in [cost for cost in costs if cost.cost > 0][:MOST_ROWS]:
        is_weak = cost.is_weak(result.alpha)
        rows.append(
            (
                Cell(f"{cost.field} = {cost.label}"),
                Cell(cost.n),
                Cell(cost.mean),
                Cell(cost.rest),
                Cell(
                    cost.difference,
                    ends(cost.difference_interval),
                    marker="↓" if is_weak else "",
                    tone="bad" if is_weak else "plain",
                ),
                Cell(cost.p_corrected),
                Cell(cost.cost, tone="plain" if is_weak else "quiet"),
            )
        )
    notes = [
        (
            f"{result.measure} of {result.system} over {counted(result.queries, 'query')}; rest: "
            "all queries outside the group; cost: what the overall mean would gain if the group "
            "did as well as the rest"
        ),
        (
            "↓ below the rest by more than chance: a permutation of labels, p corrected by Holm "
            f"over {counted(len(costs), 'group')}; intervals hold for all of them at once"
        ),
    ]
    notes += _strong(result) + _caveats(result)
    return Table(
        (
            Column("group", "text"),
            Column("queries"),
            Column("mean", digits=3),
            Column("rest", digits=3),
            Column("difference", digits=3, signed=True),
            Column("p", "p"),
            Column("cost", digits=3),
        ),
        tuple(rows),
        title="What costs most",
        notes=tuple(notes),
    )


def _strong(result: Segments) -> list[str]:
    """Name the groups that are above the rest: where two are weak, this may be all that shows.

    Not those of a field with a weak group: the rest of theirs holds it, so they are above the rest
    because it is below.
    """
    costs = [cost for cost in result.costs if cost.system == result.system]
    explained = {cost.field for cost in costs if cost.is_weak(result.alpha)}
    names = [
        f"{cost.field} = {cost.label} ({cost.mean:.3f} against {cost.rest:.3f})"
        for cost in sorted(costs, key=lambda cost: cost.p_corrected)
        if cost.is_strong(result.alpha) and cost.field not in explained
    ]
    return [f"above the rest by more than chance: {listed(names, 3)}"] if names else []


def _caveats(result: Segments) -> list[str]:
    notes = []
    fields = {cost.field for cost in result.costs}
    if "relevant documents" in fields:
        notes.append(
            "how many relevant documents there are also decides how high a measure can get, so no "
            "advice is drawn from it"
        )
    if result.small:
        notes.append(
            f"not tested: {counted(result.small, 'group')} with fewer than {FEWEST} queries in or "
            "outside of them"
        )
    if result.skipped:
        by_reason: dict[str, list[str]] = {}
        for field, reason in result.skipped.items():
            by_reason.setdefault(reason, []).append(field)
        skipped = (f"{', '.join(fields)} ({reason})" for reason, fields in by_reason.items())
        notes.append(f"not looked at: {'; '.join(skipped)}")
    return notes


def _table(result: Segments, segment: Segment) -> Table:
    main = segment.groups[0].means[0].measure
    systems = list(dict.fromkeys(mean.system for group in segment.groups for mean in group.means))
    rows = []
    for group in segment.groups:
        means = {mean.system: mean for mean in group.means if mean.measure == main}
        cells = (_cell(result, means.get(system)) for system in systems)
        rows.append((Cell(group.label), Cell(group.n), *cells))
    notes = [f"{main} with its interval; the JSON holds the other measures"]
    if result.automatic:
        notes = [f"{main} with its interval, by Student's t; p is corrected over all groups"]
    if result.baseline is not None:
        notes.append(
            f"in parentheses: the difference to {result.baseline}; "
            f"{marker_note(result.baseline, alpha=result.alpha)}, corrected over the groups"
        )
    if segment.unlabelled:
        notes.append(f"not known for {counted(segment.unlabelled, 'query')}")
    title = _TITLES.get(segment.field, segment.field)
    return Table(
        (
            Column("group", "text"),
            Column("queries"),
            *(Column(system, digits=3) for system in systems),
        ),
        tuple(rows),
        title=f"By {title}",
        notes=tuple(notes),
    )


def _cell(result: Segments, mean: SegmentMean | None) -> Cell:
    if mean is None:
        return Cell()
    cell = Cell(mean.mean, ends(mean.interval), change=mean.difference)
    is_better = Scale.of(mean.measure).is_better(mean.difference or 0.0)
    return marked(cell, mean.p_corrected, alpha=result.alpha, is_better=is_better)
