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
    from rankscope.scoring.explain import Explanation, IdealStep, Step

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
    return Table(
        (
            Column("rank"),
            Column("document", "text"),
            Column("score", digits=None),
            Column("grade", digits=None),
            *factors,
            Column("adds", signed=True),
            Column("so far"),
            Column("ideal", "text"),
            Column("grade", digits=None),
        ),
        tuple(
            (*_step(step, with_factors=with_factors), *_ideal(best))
            for step, best in zip_longest(explanation.steps, ideal)
        ),
        notes=(*notes, explanation.formula),
        name_columns=2,
    )


def _step(step: Step | None, *, with_factors: bool) -> list[Cell]:
    if step is None:
        return [Cell("")] * (8 if with_factors else 6)
    factors = [Cell(step.gain or 0.0), Cell(step.discount or 0.0)] if with_factors else []
    tone: Tone = "strong" if step.contribution else "plain" if step.grade is not None else "quiet"
    return [
        Cell(step.rank),
        Cell(step.doc_id, tone=tone),
        Cell(step.score),
        Cell("unjudged" if step.grade is None else step.grade, tone=tone),
        *factors,
        Cell(step.contribution or "0", tone=tone),
        Cell(step.value_so_far),
    ]


def _ideal(step: IdealStep | None) -> list[Cell]:
    values = ("", "") if step is None else (step.doc_id, step.grade)
    return [Cell(value, tone="quiet") for value in values]
