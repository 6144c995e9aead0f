"""A diagnosis as a document: what would gain most, findings, then a section for each analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.summary import summary_section
from rankscope.document.blocks import Block, Document, Findings, Section, sentences
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.reports.figure_targets import figure_table

if TYPE_CHECKING:
    from rankscope.records.diagnosis import Diagnosis


FEW = 3
"""Of so many analyses a terminal shows everything, of more the first tables of each."""


@view
def diagnosis_document(diagnosis: Diagnosis) -> Document:
    """Show what would gain most, what was found, and a section for each analysis."""
    answers = [pair for pair in diagnosis.answers() if not isinstance(pair[1], NotApplicable)]
    sections = [analysis.section(answer) for analysis, answer in answers]
    if len(sections) <= FEW:
        sections = [replace(each, blocks=each.all_blocks, details=()) for each in sections]
    findings, kpis = diagnosis.findings, diagnosis.figure_kpis
    several = len(sections) > 1
    first: Block = sentences(["nothing to remark"])
    if findings:
        first = Findings(tuple(findings), short=len(sections) > FEW, where="with --format html")
    sizes = [counted(len(diagnosis.runs), "system"), counted(diagnosis.queries, "query")]
    return Document(
        "Diagnosis",
        (
            *([summary_section(diagnosis.summary, "the same command with")] if several else []),
            *([Section("Targets", (figure_table(kpis),))] if kpis else []),
            *([Section("Findings", (first,))] if sections else []),
            *(section for section in sections if section.all_blocks),
            *_not_applicable(diagnosis),
        ),
        subtitle=f"{', '.join(sizes)}; {', '.join(diagnosis.measures)}",
        names=frozenset([*diagnosis.runs, *diagnosis.measures]),
    )


def _not_applicable(diagnosis: Diagnosis) -> Iterator[Section]:
    """Say which analyses could not look, and why; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for analysis, answer in diagnosis.answers():
        if isinstance(answer, NotApplicable):
            reasons.setdefault(answer.reason, []).append(analysis.name)
    if reasons:
        lines = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
        yield Section("Not applicable", (sentences(lines, listed=True),))
