"""A retriever's result as a document: its scores, and the questions that fail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
    Document,
    Point,
    Points,
    Table,
    plain_rows,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.scores import scores_document

if TYPE_CHECKING:
    from rankscope.retrieval.golden import RetrieverScores

LISTED = 10
"""How many failing questions are listed."""


@view
def retriever_document(result: RetrieverScores, **options: Any) -> Document:
    """Show means with intervals, and what was expected and found where nothing was right."""
    shown = scores_document(result, **options)
    assert shown.answer is not None
    *tables, last = shown.answer.blocks
    if result.failing:
        tables.append(_failing_table(result))
    notes = (Points((Point("Careful", result.notes, "warning"),)),) if result.notes else ()
    answer = replace(shown.answer, blocks=(*tables, *notes, last))
    return replace(shown, title="Scores of a retriever", answer=answer)


def _failing_table(result: RetrieverScores) -> Table:
    count = len(result.failing)
    of_all = counted(len(result.texts), "question")
    notes = [f"{count - LISTED:,} more in scores.failing"] if count > LISTED else []
    return Table(
        text_columns("question", "expected", "retrieved"),
        plain_rows(
            (
                question.text,
                ", ".join(question.expected),
                question.error or ", ".join(question.retrieved[:3]) or "nothing",
            )
            for question in result.failing[:LISTED]
        ),
        title=f"Nothing relevant in the first {result.k}: {count:,} of {of_all}",
        notes=tuple(notes),
    )
