"""A diagnosis as a document: what would gain most, findings, then a section for each analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.summary import summary_section
from rankscope.document.blocks import Block, Document, Findings, Section, sentences
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.reports.definitions import definitions_section
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
    asked = diagnosis.answers()
    if len(sections) <= FEW or len(asked) < len(all_analyses()):
        sections = [replace(each, blocks=each.all_blocks, details=()) for each in sections]
    findings, kpis = diagnosis.findings, diagnosis.figure_kpis
    several = len(sections) > 1
    if several:
        sections = [replace(each, part="diagnosis") for each in sections]
    first: Block = sentences(["nothing to remark"])
    if findings:
        first = Findings(
            tuple(findings),
            short=any(each.details for each in sections),
            where="with --format html",
        )
    sizes = [counted(len(diagnosis.runs), "system"), counted(diagnosis.queries, "query")]
    if diagnosis.no_answer:
        sizes[1] += f" and {diagnosis.no_answer:,} without an answer, which are in no mean"
    return Document(
        "Diagnosis",
        (
            *(
                [Section("Verdict", (sentences(diagnosis.verdict, listed=True),))]
                if several and diagnosis.verdict
                else []
            ),
            *([summary_section(diagnosis.summary, "the same command with")] if several else []),
            *([Section("Targets", (figure_table(kpis),))] if kpis else []),
            *([Section("Findings", (first,))] if sections else []),
            *(section for section in sections if section.all_blocks),
            *_only_on_pages(sections),
            *_not_applicable(diagnosis),
        ),
        subtitle=f"{', '.join(sizes)}; {', '.join(diagnosis.measures)}",
        names=frozenset([*diagnosis.runs, *diagnosis.measures]),
        appendix=(definitions_section(diagnosis.measures, asked={}, profile=diagnosis.profile),),
    )


def _only_on_pages(sections: Sequence[Section]) -> Iterator[Section]:
    """Name the sections that a terminal leaves out; a page shows them."""
    names = [section.title for section in sections if section.details and not section.blocks]
    if names:
        text = f"{', '.join(names)}: all of it with --only NAME, or with --format html"
        yield Section("Also looked at", (sentences([text], "quiet"),), part="diagnosis")


def _not_applicable(diagnosis: Diagnosis) -> Iterator[Section]:
    """Say which analyses could not look, and why; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for analysis, answer in diagnosis.answers():
        if isinstance(answer, NotApplicable):
            reasons.setdefault(answer.reason, []).append(analysis.name)
    if reasons:
        lines = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
        yield Section("Not applicable", (sentences(lines, listed=True),), part="diagnosis")
