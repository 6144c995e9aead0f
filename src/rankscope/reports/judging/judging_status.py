"""What is judged so far, by whom, how far raters agree and what to judge again, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Table,
    cells,
    sentences,
    text_columns,
)
from rankscope.errors import counted
from rankscope.reports.judging.judging_agreement import JudgingAgreement, judging_agreement

if TYPE_CHECKING:
    from rankscope.reports.judging.judgment_log import JudgmentLog

MOST_AGAIN = 20
"""How many pairs to judge again are listed."""


def status_document(log: JudgmentLog) -> Document:
    """Return what a log holds."""
    judgments = log.judgments
    agreed = judging_agreement(judgments)
    rows = []
    for rater in judgments.raters:
        given = judgments.of(rater).values()
        cannot = sum(judgment.cannot for judgment in given)
        rows.append(cells(rater, len(given) - cannot, cannot))
    total = sum(1 for _ in judgments.all())
    lines = [
        f"{log.path}: {counted(total, 'judgment')} by {counted(len(rows), 'rater')}"
        if total
        else f"{log.path}: nothing is judged yet"
    ]
    if log.cut_short:
        lines.append(f"{counted(log.cut_short, 'line')} of a killed process passed over")
    sections = [Section("", (sentences(lines),))]
    if rows:
        columns = (*text_columns("rater"), Column("graded"), Column("cannot judge"))
        sections.append(Section("Raters", (Table(columns, tuple(rows)),)))
    if len(rows) > 1:
        sections.append(_agreement(agreed))
    if agreed.again:
        sections.append(_again(agreed))
    return Document("Judgments", tuple(sections))


def _agreement(agreed: JudgingAgreement) -> Section:
    alpha = agreed.alpha
    value = alpha.reason if alpha.value is None else f"{alpha.value:.3f}"
    line = f"Krippendorff's alpha (ordinal) on {counted(agreed.shared, 'shared pair')}: {value}"
    columns = (
        *text_columns("rater", "other"),
        Column("pairs"),
        Column("same grade", digits=3),
        Column("kappa", digits=3),
        Column("weighted kappa", digits=3),
    )
    rows = tuple(
        cells(two.first, two.second, two.shared, two.equal, two.kappa.value, two.quadratic.value)
        for two in agreed.pairs
    )
    notes = ("kappa: Cohen's; weighted: by the square of the distance of two grades",)
    table = Table(columns, rows, notes=notes, name_columns=2)
    return Section("Agreement", (sentences([line]), *([table] if rows else [])))


def _again(agreed: JudgingAgreement) -> Section:
    """List where raters differ most."""
    rows = tuple(
        (
            *cells(each.pair.query_id, each.pair.doc_id),
            Cell(", ".join(f"{rater} {grade}" for rater, grade in each.grades.items())),
        )
        for each in agreed.again[:MOST_AGAIN]
    )
    more = len(agreed.again) - len(rows)
    notes = (f"and {counted(more, 'pair')} more",) if more > 0 else ()
    table = Table(text_columns("query", "document", "grades"), rows, notes=notes, name_columns=2)
    return Section("What to judge again, the largest differences first", (table,))
