"""The conformance suite as a document: what tools answered, and the cases themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Document,
    Notes,
    Section,
    Table,
    Value,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view

if TYPE_CHECKING:
    from rankscope.conformance.cases import CaseList
    from rankscope.conformance.suite import CaseOutcome, Conformance, ToolReport

_COLUMNS = ("case", "question", "answer", "by", "which is")
_FAIR = (
    "A definition is not a fault: where tools define a measure differently, each answer is right "
    "by its definition. A letter names an answer of the case; - is none that is known."
)
_COUNTED = {
    "definition": "by a definition",
    "fault": "by a fault",
    "other": "by neither",
    "not asked": "not asked",
}


@view
def conformance_document(result: Conformance, *, whole: bool = False) -> Document:
    """Show the answers of each tool: those no definition explains, or with ``whole`` all."""
    blocks: list[Block] = []
    for report in result.tools:
        blocks.append(sentences([_summary(report)]))
        rows = [
            _row(outcome)
            for outcome in report.outcomes
            if whole or outcome.kind in ("fault", "other")
        ]
        if rows:
            blocks.append(Table(text_columns(*_COLUMNS), plain_rows(rows)))
    return Document(
        "Conformance of tools",
        (Section("", (*blocks, Notes((_FAIR,)))),),
        names=frozenset(report.tool for report in result.tools),
        data=lambda: Table(
            text_columns("tool", "version", "kind", *_COLUMNS), plain_rows(_data(result))
        ),
    )


def _summary(report: ToolReport) -> str:
    if report.version is None:
        return f"{report.tool}: not installed (package {report.package})"
    counts = ", ".join(f"{report.of_kind(kind)} {words}" for kind, words in _COUNTED.items())  # type: ignore[arg-type]
    return f"{report.tool} {report.version}: {counts}"


def _row(outcome: CaseOutcome) -> list[Value]:
    text = outcome.means or outcome.note
    return [outcome.case, outcome.asked, shown_answer(outcome.value), outcome.answer or "-", text]


def _data(result: Conformance) -> Iterator[list[Value]]:
    for report in result.tools:
        for outcome in report.outcomes:
            yield [report.tool, report.version or "", outcome.kind, *_row(outcome)]


@view
def cases_document(listed: CaseList) -> Document:
    """Show the cases and the answers known for each."""
    table = Table(
        text_columns("case", "question", "by", "answer", "kind", "which is"),
        plain_rows(
            [case.id, case.asked, answer.name, shown_answer(answer.value), answer.kind, answer.text]
            for case in listed.cases
            for answer in case.answers
        ),
    )
    return Document("Cases of the conformance suite", (Section("", (table, Notes((_FAIR,)))),))


def shown_answer(value: float | str | None) -> str:
    """Return an answer as text: a number in four decimals, or a word such as error."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4f}"
