"""A validation as a document: whether a run is valid, and every finding with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Findings,
    Notes,
    Section,
    Table,
    good_if,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.benchmark.case_validation import CaseGroup, CasesValidation
    from rankscope.findings import Finding, NotApplicable
    from rankscope.runs.validation import Validation


@view
def validation_document(validation: Validation) -> Document:
    """Show the answer first, then the findings, worst first."""
    fewest, most = validation.fewest, validation.most
    per_query = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    answer = "✓ valid" if validation.ok else "✗ not valid"
    size = (
        f"{counted(validation.queries, 'query')}, {counted(validation.rows, 'line')}, {per_query} "
        "documents a query"
    )
    verdict = sentences(
        [f"{answer}: {validation.run}, {size}; {_tally(validation.findings)}"],
        good_if(validation.ok),
    )
    return Document(
        f"Validation of {validation.run}",
        (
            Section("", (verdict,)),
            _found(validation.findings, validation.not_applicable),
        ),
        names=frozenset([validation.run]),
        data=lambda: _data("run", validation.run, validation.findings),
    )


@view
def cases_document(validation: CasesValidation) -> Document:
    """Show the answer first, what the set can show, then the findings, worst first."""
    answer = "✓ valid" if validation.ok else "✗ not valid"
    are_cases = bool(validation.groups) or validation.ontology is not None
    size = (
        f"{counted(validation.questions, 'case' if are_cases else 'question')}"
        f"{f' ({validation.size})' if are_cases else ''}, "
        f"{counted(validation.expected, 'expected term' if are_cases else 'expected document')}"
    )
    lines = [f"{answer}: {validation.file}, {size}; {_tally(validation.findings)}"]
    if validation.ontology is not None:
        lines.append(f"expected ids were looked up in {validation.ontology}")
    languages = sum(group.field == "language" for group in validation.groups)
    if languages > 1:
        lines.append(f"they are in {languages} languages, each of which is reported by itself")
    if validation.visible is not None and validation.visible >= 1:
        lines.append("so few questions can show no difference between two systems")
    elif validation.visible is not None:
        lines.append(
            f"so many questions show a difference of about {validation.visible:.2f} between two "
            "systems with 80 % probability, if it varies from question to question as usual"
        )
    return Document(
        f"Validation of {validation.file}",
        (
            Section("", (sentences(lines, good_if(validation.ok)),)),
            *([_strata(validation.groups)] if validation.groups else []),
            _found(validation.findings, validation.not_applicable),
        ),
        names=frozenset([validation.file]),
        data=lambda: _data("file", validation.file, validation.findings),
    )


def _strata(groups: Sequence[CaseGroup]) -> Section:
    """Show how many cases each stratum has, and what so many can show."""
    rows = tuple(
        (
            Cell(group.field),
            Cell(group.value),
            Cell(group.cases),
            Cell(None if group.visible is None else min(group.visible, 1.0)),
        )
        for group in groups
    )
    columns = (
        *text_columns("field", "value"),
        Column("cases"),
        Column("shows from", digits=2),
    )
    note = "shows from: about the smallest difference that so many cases show"
    return Section("Strata", (Table(columns, rows, notes=(note,)),))


def _tally(findings: Sequence[Finding]) -> str:
    severities = [finding.severity for finding in findings]
    counts = [counted(severities.count(name), name) for name in dict.fromkeys(severities)]
    return ", ".join(counts) or "no findings"


def _found(findings: Sequence[Finding], unable: Sequence[NotApplicable]) -> Section:
    """Show findings, and what could not be checked."""
    reasons = dict.fromkeys(check.reason for check in unable)
    lines = [
        f"not checked, as {reason}: "
        + ", ".join(check.name for check in unable if check.reason == reason)
        for reason in reasons
    ]
    notes = [Notes(tuple(lines))] if lines else []
    return Section("", (Findings(tuple(findings)),) if findings else (), tuple(notes))


def _data(title: str, name: str, findings: Iterable[Finding]) -> Table:
    """Return a row for each finding."""
    titles = ("severity", "code", "name", "count", "unit", "message", "advice")
    return Table(
        text_columns(title, *titles),
        plain_rows([name, *(getattr(finding, title) for title in titles)] for finding in findings),
    )
