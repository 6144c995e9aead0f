"""An explanation as a document: one query's value, rank by rank, beside the ideal order."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Table,
    Tone,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view

if TYPE_CHECKING:
    from rankscope.scoring.explain import Explanation

_MOST_IDEAL = 10
"""How much of the ideal order is shown where the run is shorter."""


@view
def explanation_document(explanation: Explanation) -> Document:
    """Show what each rank adds, and the calculation."""
    value = f"{explanation.measure} = {explanation.value:.4f}"
    where = (
        f"for query {explanation.query_id} of {explanation.run}: {explanation.retrieved:,} "
        f"retrieved, {explanation.relevant:,} relevant in the judgments"
    )
    return Document(
        value,
        (
            Section(
                "",
                (
                    sentences([f"{value} {where}"], "strong"),
                    sentences([explanation.calculation]),
                    _table(explanation),
                ),
            ),
        ),
        names=frozenset([explanation.measure, explanation.query_id, explanation.run]),
        data=lambda: _data(explanation),
    )


def _data(explanation: Explanation) -> Table:
    """Return a row for each rank."""
    titles = ("rank", "doc_id", "score", "grade", "gain", "discount", "contribution",
              "value_so_far")  # fmt: skip
    about = (explanation.measure, explanation.query_id, explanation.run)
    return Table(
        text_columns("measure", "query_id", "run", *titles),
        plain_rows(
            [*about, *(getattr(step, title) for title in titles)] for step in explanation.steps
        ),
    )


def _table(explanation: Explanation) -> Table:
    with_factors = any(step.gain is not None for step in explanation.steps)
    factors = [Column("gain", digits=None), Column("discount")] if with_factors else []
    ideal = explanation.ideal[: max(len(explanation.steps), _MOST_IDEAL)]
    left_out = explanation.left_out
    notes = [f"{left_out:,} further ranks are not listed"] if left_out > 0 else []
    rows = []
    for step, best in zip_longest(explanation.steps, ideal):
        row = [Cell("")] * (6 + len(factors))
        if step is not None:
            tone: Tone = "strong" if step.contribution else "plain"
            tone = "quiet" if step.grade is None and not step.contribution else tone
            given = [Cell(step.gain or 0.0), Cell(step.discount or 0.0)] if with_factors else []
            row = [
                Cell(step.rank),
                Cell(step.doc_id, tone=tone),
                Cell(step.score),
                Cell("unjudged" if step.grade is None else step.grade, tone=tone),
                *given,
                Cell(step.contribution or "0", tone=tone),
                Cell(step.value_so_far),
            ]
        last = ("", "") if best is None else (best.doc_id, best.grade)
        rows.append((*row, *(Cell(value, tone="quiet") for value in last)))
    columns = (
        Column("rank"),
        Column("document", "text"),
        Column("score", digits=None),
        Column("grade", digits=None),
        *factors,
        Column("adds", signed=True),
        Column("so far"),
        Column("ideal", "text"),
        Column("grade", digits=None),
    )
    return Table(columns, tuple(rows), notes=(*notes, explanation.formula), name_columns=2)
