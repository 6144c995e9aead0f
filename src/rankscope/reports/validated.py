"""A validation as a document: whether a run is valid, and every finding with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
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
    from rankscope.runs.validation import Validation


@view
def validation_document(validation: Validation) -> Document:
    """Show the answer first, then the findings, worst first."""
    fewest, most = validation.documents_per_query.min, validation.documents_per_query.max
    per_query = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    severities = [finding.severity for finding in validation.findings]
    tally = ", ".join(
        counted(severities.count(severity), severity) for severity in dict.fromkeys(severities)
    )
    answer = "✓ valid" if validation.ok else "✗ not valid"
    size = (
        f"{counted(validation.queries, 'query')}, {counted(validation.rows, 'line')}, {per_query} "
        "documents a query"
    )
    verdict = sentences(
        [f"{answer}: {validation.run}, {size}; {tally or 'no findings'}"], good_if(validation.ok)
    )
    findings = [Findings(validation.findings)] if validation.findings else []
    reasons = dict.fromkeys(check.reason for check in validation.not_applicable)
    unable = [
        f"not checked, as {reason}: "
        + ", ".join(check.name for check in validation.not_applicable if check.reason == reason)
        for reason in reasons
    ]
    if validation.metadata_problem:
        unable.append(f"not read: {validation.metadata_problem}")
    notes = [Notes(tuple(unable))] if unable else []
    metadata = [_metadata_table(validation.metadata)] if validation.metadata else []
    return Document(
        f"Validation of {validation.run}",
        (
            Section("", (verdict,)),
            Section("", tuple(findings), tuple(notes)),
            *(Section("", (table,)) for table in metadata),
        ),
        names=frozenset([validation.run]),
        data=lambda: _data(validation),
    )


def _metadata_table(metadata: dict[str, Any]) -> Table:
    """Show what a run says of itself, a line for each entry."""
    rows = plain_rows(_entries(metadata, ""))
    return Table(text_columns("entry", "value"), rows, title="what the run says of itself")


def _entries(value: Any, name: str) -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        entries = ((f"{name}.{key}" if name else key, inner) for key, inner in value.items())
        return [row for key, inner in entries for row in _entries(inner, key)]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return [(name, str(value))]


def _data(validation: Validation) -> Table:
    """Return a row for each finding."""
    titles = ("severity", "code", "name", "count", "unit", "message", "advice")
    return Table(
        text_columns("run", *titles),
        plain_rows(
            [validation.run, *(getattr(finding, title) for title in titles)]
            for finding in validation.findings
        ),
    )
