"""Power as a document: what so many queries can show, and how many a difference needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Column,
    Document,
    Notes,
    Section,
    Table,
    plain_rows,
    sentences,
    text_columns,
    warning_lines,
)
from rankscope.document.text import percent
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.statistics.power import PowerSize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.statistics.power import Power, PowerPlan, PowerReport

_HOW = (
    "two-sided paired t test of one pair; as many queries stay without a difference as there are; "
    "rough guides"
)


@view
def power_document(report: PowerReport) -> Document:
    """Show what two runs' differences say, measure by measure."""
    first, second = report.runs
    blocks: list[Block] = []
    for measure, power in report.measures.items():
        queries = f"{counted(power.n, 'query')}, of which {power.differing:,} differ"
        spread = f"standard deviation {power.sd:.4f} over {queries}"
        head = f"{measure}: {second} minus {first} is {power.observed:+.4f}, {spread}"
        blocks.append(sentences([head], "strong"))
        blocks += _answers(report, power)
    return Document(
        f"Power: {second} against {first}",
        (Section("", (*blocks, *warning_lines(report.findings), Notes((_HOW,)))),),
        names=frozenset([*report.measures, *report.runs]),
        data=lambda: _data(report),
    )


def _data(report: PowerReport) -> Table:
    """Return a row for each measure and number of queries."""
    return Table(
        text_columns("measure", "queries", "detectable", "power"),
        plain_rows(
            [measure, size.queries, size.detectable, size.power]
            for measure, power in report.measures.items()
            for size in (_own(power), *power.sizes)
        ),
    )


def _own(power: Power) -> PowerSize:
    """Return what the queries at hand can show, as a size."""
    return PowerSize(queries=power.n, detectable=power.detectable, power=power.power)


def _answers(report: PowerReport, power: Power) -> list[Block]:
    if not power.sd:
        why = "one query has no spread" if power.n == 1 else "the difference never varies"
        return [sentences([f"{why}, so nothing can be said about what could be seen"], "warning")]
    blocks: list[Block] = []
    if report.target is not None:
        likely = percent(report.power)
        needed = "no number of queries like these shows"
        if power.needed is not None:
            needed = f"about {counted(power.needed, 'query')} like these show"
        blocks.append(
            sentences([f"{needed} a difference of {report.target:g} with {likely} probability"])
        )
    sizes = sorted((_own(power), *power.sizes), key=lambda size: size.queries)
    return [*blocks, _sizes(sizes, report.power, report.target)]


def _sizes(sizes: Sequence[PowerSize], power: float, difference: float | None) -> Table:
    """Return a row for each number of queries: what it can show."""
    columns = [Column("queries"), Column(f"smallest difference seen ({percent(power)})")]
    if difference is not None:
        columns.append(Column(f"probability to see {difference:g}", digits=3))
    rows = []
    for size in sizes:
        smallest = "none" if math.isinf(size.detectable) else size.detectable
        rows.append([size.queries, smallest, size.power][: len(columns)])
    return Table(tuple(columns), plain_rows(rows))


@view
def plan_document(plan: PowerPlan) -> Document:
    """Show what follows from a standard deviation alone."""
    likely = percent(plan.power)
    blocks: list[Block] = []
    if plan.needed is not None:
        needed = counted(plan.needed, "query")
        head = f"A true difference of {plan.difference:g} is seen with {likely} probability"
        blocks.append(sentences([f"{head} from {needed} on."], "strong"))
    blocks.append(_sizes(plan.sizes, plan.power, plan.difference))
    how = (
        f"two-sided paired t test at {plan.alpha:g}, standard deviation of the differences "
        f"{plan.sd:g}"
    )
    return Document("Power from assumptions", (Section("", (*blocks, Notes((how,)))),))
