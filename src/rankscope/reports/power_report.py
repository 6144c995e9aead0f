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
        blocks += [sentences([head], "strong"), *_answers(report, power)]
    return Document(
        f"Power: {second} against {first}",
        (Section("", (*blocks, *warning_lines(report.findings), Notes((_HOW,)))),),
        names=frozenset([*report.measures, *report.runs]),
        data=lambda: Table(
            text_columns("measure", "queries", "detectable", "power"),
            plain_rows(
                [measure, size.queries, size.detectable, size.power]
                for measure, power in report.measures.items()
                for size in (_at_hand(power), *power.sizes)
            ),
        ),
    )


def _at_hand(power: Power) -> PowerSize:
    """Return what the queries at hand can show, as a size."""
    return PowerSize(queries=power.n, detectable=power.detectable, power=power.power)


def _answers(report: PowerReport, power: Power) -> list[Block]:
    if not power.sd:
        why = "one query has no spread" if power.n == 1 else "the difference never varies"
        return [sentences([f"{why}, so nothing can be said about what could be seen"], "warning")]
    sizes = sorted((_at_hand(power), *power.sizes), key=lambda size: size.queries)
    table = _sizes_table(sizes, report.power, report.target)
    if report.target is None:
        return [table]
    needed = "no number of queries like these shows"
    if power.needed is not None:
        needed = f"about {counted(power.needed, 'query')} like these show"
    likely = f"a difference of {report.target:g} with {percent(report.power)} probability"
    return [sentences([f"{needed} {likely}"]), table]


def _sizes_table(sizes: Sequence[PowerSize], power: float, difference: float | None) -> Table:
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
    blocks: list[Block] = [_sizes_table(plan.sizes, plan.power, plan.difference)]
    if plan.needed is not None:
        head = f"A true difference of {plan.difference:g} is seen with {percent(plan.power)}"
        needed = f"{head} probability from {counted(plan.needed, 'query')} on."
        blocks.insert(0, sentences([needed], "strong"))
    test = f"two-sided paired t test at {plan.alpha:g}"
    blocks.append(Notes((f"{test}, standard deviation of the differences {plan.sd:g}",)))
    return Document("Power from assumptions", (Section("", tuple(blocks)),))
