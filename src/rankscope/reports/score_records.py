"""A score file as a document: means as they were recorded, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Section,
    Table,
    sentences,
    warning_lines,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.reports.scores import accounting_sentences

if TYPE_CHECKING:
    from rankscope.scoring.score_files import ScoreRecord


@view
def score_record_document(record: ScoreRecord) -> Document:
    """Show the means of each run."""
    table = Table(
        (Column("run", "text"), *map(Column, record.measures)),
        tuple(
            (
                Cell(name),
                *(
                    Cell(run.means.get(measure), link=queries_link(measure=measure, a=name))
                    for measure in record.measures
                ),
            )
            for name, run in record.runs.items()
        ),
        notes=(f"rules of {record.profile}",),
        columns_are="measure",
    )
    blocks: list[Block] = [table]
    for name, run in record.runs.items():
        parts = ", ".join(accounting_sentences(run.accounting))
        blocks.append(sentences([f"{name}: {parts}"]))
    findings = [
        finding.model_copy(update={"system": name})
        for name, run in record.runs.items()
        for finding in run.findings
    ]
    blocks += warning_lines(findings, several=len(record.runs) > 1)
    return Document(
        f"Scores of {', '.join(record.runs)}",
        (Section("", tuple(blocks)),),
        names=frozenset([*record.runs, *record.measures]),
    )
