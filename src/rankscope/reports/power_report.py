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

if TYPE_CHECKING:
    from rankscope.statistics.power import Estimate, Power, PowerPlan, PowerReport, QueryCount

_HOW = (
    "two-sided paired t test; simulation: queries drawn from these, moved to the difference in "
    "question; both keep as many queries without a difference as there are, and are rough guides"
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
        blocks.append(_answers(power) if power.sd else _no_answer(power))
    return Document(
        f"Power: {second} against {first}",
        (Section("", (*blocks, *warning_lines(report.findings), Notes((_HOW,)))),),
        names=frozenset([*report.measures, *report.runs]),
        data=lambda: _data(report),
    )


def _data(report: PowerReport) -> Table:
    """Return a row for each measure and question."""
    return Table(
        text_columns("measure", "question", "formula", "simulation"),
        plain_rows(
            [measure, *(cell.value for cell in row)]
            for measure, power in report.measures.items()
            for row in _answers(power).rows
        ),
    )


def _no_answer(power: Power) -> Block:
    why = "one query has no spread" if power.n == 1 else "the difference never varies"
    return sentences([f"{why}, so nothing can be said about what could be seen"], "warning")


def _answers(power: Power) -> Table:
    likely = percent(power.power)
    rows = [
        _row(f"about the smallest difference seen with {likely} probability", power.detectable),
    ]
    if power.needed is not None:
        question = f"queries that show a difference of {power.target:g} with {likely} probability"
        rows.append(_row(question, power.needed, whole=True))
    return Table(
        (Column("question", "text"), Column("formula"), Column("simulation")), plain_rows(rows)
    )


def _row(
    question: str, estimate: Estimate | QueryCount, *, whole: bool = False
) -> list[str | float]:
    cells: list[str | float] = [question]
    for value in (estimate.formula, estimate.simulation):
        if value is None:
            cells.append("too many to simulate")
        elif math.isinf(value):
            cells.append("none")
        else:
            cells.append(int(value) if whole else value)
    return cells


@view
def plan_document(plan: PowerPlan) -> Document:
    """Show what follows from a standard deviation alone."""
    likely = percent(plan.power)
    columns = [Column("queries"), Column(f"smallest difference seen ({likely})")]
    if plan.difference is not None:
        columns.append(Column(f"probability to see {plan.difference:g}", digits=3))
    rows = []
    for size in plan.sizes:
        smallest = "none" if math.isinf(size.detectable) else size.detectable
        rows.append([size.queries, smallest, size.power][: len(columns)])
    blocks: list[Block] = []
    if plan.needed is not None:
        needed = counted(plan.needed, "query")
        head = f"A true difference of {plan.difference:g} is seen with {likely} probability"
        blocks.append(sentences([f"{head} from {needed} on."], "strong"))
    if rows:
        blocks.append(Table(tuple(columns), plain_rows(rows)))
    how = (
        f"two-sided paired t test at {plan.alpha:g}, standard deviation of the differences "
        f"{plan.sd:g}"
    )
    return Document("Power from assumptions", (Section("", (*blocks, Notes((how,)))),))
