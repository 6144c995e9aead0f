"""The section of failing questions: how often each cause, what it means, and the worst of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.shares import share_of
from rankscope.document.blocks import Block, Cell, Column, Notes, Section, Table, text_columns
from rankscope.document.links import queries_link, query_link
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.failures import (
        Above,
        Cause,
        Expected,
        FailingQuery,
        Failures,
        SystemFailures,
    )

TITLE = "Failing questions"

_MEANINGS: dict[Cause, str] = {
    "no relevant document": "nothing is judged relevant, so no system can do well",
    "gold not in the corpus": "none of the documents that are missed is in the corpus",
    "query missing": "the run lacks the query",
    "empty answer": "the run has no document for the query",
    "same text under another id": "a document on top has exactly the text of one that is missed",
    "decided by a tie": "a better document below k has the score of the one at k",
    "top results unjudged": (
        "half of the first k or more are unjudged, though 5 documents or more were judged, at "
        "least half of them nonrelevant"
    ),
    "only lower grades on top": "relevant documents are on top, but not the best there are",
    "below the cutoff": "the best relevant document is retrieved below k",
    "not retrieved": "no relevant document is in the run",
}


def failure_section(result: Failures) -> Section:
    """Make the section."""
    causes = [cause for cause in _MEANINGS if _total(result, cause)]
    blocks: tuple[Block, ...] = (_counts(result, causes),)
    meanings = [f"{cause}: {_MEANINGS[cause]}" for cause in causes]
    if causes and not result.corpus:
        meanings.append("missing gold and copies under other ids are seen with a corpus only")
    tables = [_table(result, system) for system in result.systems if system.worst]
    explained = (Notes(tuple(meanings)),) if meanings else ()
    return Section(TITLE, blocks, (*explained, *tables))


def _total(result: Failures, cause: Cause) -> int:
    return sum(
        count.queries
        for system in result.systems
        for count in system.causes
        if count.cause == cause
    )


def _failing(cutoff: int) -> str:
    """Say when a question fails."""
    if cutoff == 1:
        return "the first document is not relevant, or not as good as the best there is"
    return (
        f"the first {cutoff} documents hold nothing relevant, or nothing as good as the best "
        "there is"
    )


def _counts(result: Failures, causes: list[Cause]) -> Table:
    """Count the causes of all systems."""
    rows = []
    for cause in causes:
        counts = [
            next((count for count in system.causes if count.cause == cause), None)
            for system in result.systems
        ]
        cells = [
            Cell(0)
            if count is None
            else Cell(
                count.queries,
                note=share_of(count.queries, result.queries),
                link=queries_link(a=system.system, cause=cause),
            )
            for count, system in zip(counts, result.systems, strict=True)
        ]
        rows.append((Cell(cause), *cells))
    failing = [
        Cell(
            system.failing,
            note=share_of(system.failing, result.queries),
            link=queries_link(a=system.system, show="failing"),
        )
        for system in result.systems
    ]
    rows.append((Cell("questions that fail", tone="strong"), *failing))
    return Table(
        (Column("cause", "text"), *(Column(system.system) for system in result.systems)),
        tuple(rows),
        notes=(
            f"of {counted(result.queries, 'query')}; a question fails if {_failing(result.cutoff)}",
            "each failing question has one cause: the first in this list that applies",
        ),
    )


def _table(result: Failures, system: SystemFailures) -> Table:
    """List the worst questions of one system."""
    rows = [
        (
            Cell(_cut(question.text or question.query_id, 60), link=query_link(question.query_id)),
            Cell(question.value),
            Cell(question.cause),
            Cell(_expected(question)),
            Cell(", ".join(_rank(rank) for rank in question.best_ranks.values())),
            Cell(_above(question.above[0]) if question.above else "nothing"),
        )
        for question in system.worst
    ]
    names = [other.system for other in result.systems]
    where = f"in {', '.join(names)}" if len(names) > 1 else "in this system"
    notes = [f"ranks: of the first relevant document, {where}; -: it retrieved none"]
    more = system.failing - len(system.worst)
    if more:
        notes.append(f"{more:,} more fail")
    return Table(
        (
            Column("question", "text"),
            Column(result.measure),
            *text_columns("cause", "expected", "ranks", "on top"),
        ),
        tuple(rows),
        title=f"The worst questions of {system.system}",
        notes=tuple(notes),
    )


def _expected(question: FailingQuery) -> str:
    """Name the best document, and count the others."""
    if not question.expected:
        return "nothing"
    more = f", {question.relevant - 1:,} more" if question.relevant > 1 else ""
    return _named(question.expected[0]) + more


def _rank(rank: int | None) -> str:
    return "-" if rank is None else f"{rank}"


def _above(document: Above) -> str:
    grade = "unjudged" if document.grade is None else f"grade {document.grade:g}"
    return f"{_named(document)} ({grade})"


def _named(document: Above | Expected) -> str:
    return _cut(f"{document.doc_id} {document.title or ''}".strip(), 45)


def _cut(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
