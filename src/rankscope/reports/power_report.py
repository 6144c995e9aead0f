"""Power as a document: what so many queries can show, and how many a difference needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
)
from rankscope.document.text import percent
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.statistics.power import Estimate, PowerReport

_HOW = (
    "two-sided paired t test; simulation: queries drawn from these, moved to the difference in "
    "question; the observed difference is not the true one, so its probability is a rough guide"
)


@view
def report_document(report: PowerReport) -> Document:
    """Show what the differences of one measure say."""
    return power_document({"the measure": report}, ("the first run", "the second"))


def power_document(reports: Mapping[str, PowerReport], runs: tuple[str, str]) -> Document:
    """Show what two runs' differences say, measure by measure."""
    blocks: list[Block] = []
    for name, report in reports.items():
        spread = f"standard deviation {report.sd:.4f} over {counted(report.n, 'query')}"
        head = f"{name}: {runs[1]} minus {runs[0]} is {report.observed:+.4f}, {spread}"
        blocks.append(sentences([head], "strong"))
        blocks.append(_answers(report) if report.sd else _no_answer(report))
    return Document(
        f"Power: {runs[1]} against {runs[0]}",
        (Section("", (*blocks, Notes((_HOW,)))),),
        names=frozenset([*reports, *runs]),
        data=lambda: _data(reports),
    )


def _data(reports: Mapping[str, PowerReport]) -> Table:
    """Return a row for each measure and question."""
    return Table(
        text_columns("measure", "question", "formula", "simulation"),
        plain_rows(
            [name, *(cell.value for cell in row)]
            for name, report in reports.items()
            for row in _answers(report).rows
        ),
    )


def _no_answer(report: PowerReport) -> Block:
    why = "one query has no spread" if report.n == 1 else "the difference never varies"
    return sentences([f"{why}, so nothing can be said about what could be seen"], "warning")


def _answers(report: PowerReport) -> Table:
    likely = percent(report.power)
    rows = [
        _row(f"smallest difference seen with {likely} probability", report.detectable),
        _row("probability to see the observed difference", report.power_observed),
    ]
    if report.needed is not None:
        question = f"queries that show a difference of {report.target:g} with {likely} probability"
        rows.append(_row(question, report.needed, whole=True))
    return Table(
        (Column("question", "text"), Column("formula"), Column("simulation")), plain_rows(rows)
    )


def _row(question: str, estimate: Estimate, *, whole: bool = False) -> list[str | float]:
    cells: list[str | float] = [question]
    for value in (estimate.formula, estimate.simulation):
        if value is None:
            cells.append("too many to simulate")
        elif math.isinf(value):
            cells.append("none")
        else:
            cells.append(int(value) if whole else value)
    return cells


def assumptions_document(answer: Mapping[str, Any]) -> Document:
    """Show what follows from a standard deviation alone; ``answer`` is the JSON's content."""
    difference, likely = answer["difference"], percent(answer["power"])
    columns = [Column("queries"), Column(f"smallest difference seen ({likely})")]
    if difference is not None:
        columns.append(Column(f"probability to see {difference:g}", digits=3))
    rows = []
    for size in answer["sizes"]:
        seen = "none" if size["detectable"] is None else size["detectable"]
        rows.append([size["queries"], seen, size["power"]][: len(columns)])
    blocks: list[Block] = []
    if answer["needed"] is not None:
        needed = counted(answer["needed"], "query")
        seen = f"A true difference of {difference:g} is seen with {likely} probability"
        blocks.append(sentences([f"{seen} from {needed} on."], "strong"))
    if rows:
        blocks.append(Table(tuple(columns), plain_rows(rows)))
    how = (
        f"two-sided paired t test at {answer['alpha']:g}, standard deviation of the differences "
        f"{answer['sd']:g}"
    )
    return Document("Power from assumptions", (Section("", (*blocks, Notes((how,)))),))
