"""A diagnosis as a document: what would gain most, findings, then a section for each analysis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.summary import summary_section
from rankscope.document.blocks import Document, Findings, Section, sentences
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.reports.figure_targets import figure_table

if TYPE_CHECKING:
    from rankscope.records.diagnosis import Diagnosis


@view
def diagnosis_document(diagnosis: Diagnosis) -> Document:
    """Show all that was asked for, on a terminal too."""
    findings = diagnosis.findings
    reasons, sections = [], []
    for analysis, answer in diagnosis.answers():
        if isinstance(answer, NotApplicable):
            reasons.append(f"{analysis.title} ({analysis.name}): {answer.reason}")
        else:
            section = analysis.section(answer)
            sections.append(replace(section, blocks=section.all_blocks, details=()))
    kpis = diagnosis.figure_kpis
    first = Findings(tuple(findings)) if findings else sentences(["nothing to remark"])
    sizes = [counted(len(diagnosis.runs), "system"), counted(diagnosis.queries, "query")]
    return Document(
        "Diagnosis",
        (
            *([summary_section(diagnosis.summary)] if len(sections) > 1 else []),
            *([Section("Findings", (first,))] if sections else []),
            *([Section("Targets", (figure_table(kpis),))] if kpis else []),
            *(section for section in sections if section.all_blocks),
            *([Section("Not applicable", (sentences(reasons, listed=True),))] if reasons else []),
        ),
        subtitle=f"{', '.join(sizes)}; {', '.join(diagnosis.measures)}",
        names=frozenset([*diagnosis.runs, *diagnosis.measures]),
    )
