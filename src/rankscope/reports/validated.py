"""A validation as a document: whether a run is valid, and every finding with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Column,
    Document,
    Findings,
    Notes,
    Section,
    Table,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.benchmark.case_validation import CaseGroup, CasesValidation
    from rankscope.runs.validation import Validation


@view
def validation_document(validation: Validation) -> Document:
    """Show the answer first, then the findings, worst first."""
    fewest, most = validation.fewest, validation.most
    per_query = f"{fewest:,} to {most:,} documents" if fewest < most else counted(most, "document")
    lines, documents = counted(validation.rows, "line"), f"{per_query} a query"
    size = f"{counted(validation.queries, 'query')}, {lines}, {documents}"
    return _document(validation, "run", validation.run, [size])


@view
def cases_document(validation: CasesValidation) -> Document:
    """Show the answer first, what the set can show, then the findings, worst first."""
    are_cases = bool(validation.groups) or validation.ontology is not None
    questions = counted(validation.questions, "case" if are_cases else "question")
    expected = f"expected {'term' if are_cases else 'document'}"
    size = f" ({validation.size})" if are_cases else ""
    lines = [f"{questions}{size}, {counted(validation.expected, expected)}"]
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
    return _document(validation, "file", validation.file, lines, validation.groups)


def _document(
    validation: Validation | CasesValidation,
    kind: str,
    name: str,
    lines: Sequence[str],
    groups: Sequence[CaseGroup] = (),
) -> Document:
    """Show whether something is valid, and every finding; the first line says how large it is."""
    findings = tuple(validation.findings)
    severities = [finding.severity for finding in findings]
    counts = (counted(severities.count(each), each) for each in dict.fromkeys(severities))
    answer = "✓ valid" if validation.ok else "✗ not valid"
    first = f"{answer}: {name}, {lines[0]}; {', '.join(counts) or 'no findings'}"
    reasons: dict[str, list[str]] = {}
    for check in validation.not_applicable:
        reasons.setdefault(check.reason, []).append(check.name)
    unable = tuple(f"not checked, as {why}: {', '.join(names)}" for why, names in reasons.items())
    titles = ("severity", "code", "name", "count", "unit", "message", "advice")
    return Document(
        f"Validation of {name}",
        (
            Section("", (sentences([first, *lines[1:]], "good" if validation.ok else "bad"),)),
            *([Section("Strata", (_strata_table(groups),))] if groups else []),
            Section(
                "", (Findings(findings),) if findings else (), (Notes(unable),) if unable else ()
            ),
        ),
        names=frozenset([name]),
        data=lambda: Table(
            text_columns(kind, *titles),
            plain_rows([name, *(getattr(each, title) for title in titles)] for each in findings),
        ),
    )


def _strata_table(groups: Sequence[CaseGroup]) -> Table:
    """Show how many cases each stratum has, and what so many can show."""
    visible = (None if group.visible is None else min(group.visible, 1.0) for group in groups)
    rows = (
        (group.field, group.value, group.cases, shows)
        for group, shows in zip(groups, visible, strict=True)
    )
    columns = (*text_columns("field", "value"), Column("cases"), Column("shows from", digits=2))
    note = "shows from: about the smallest difference that so many cases show"
    return Table(columns, plain_rows(rows), notes=(note,))
