"""Explanations as documents: a query's value rank by rank, and why other tools' numbers differ."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    Tone,
    cells,
    plain_rows,
    sentences,
    text_columns,
    warning_lines,
)
from rankscope.document.text import number
from rankscope.document.views import view
from rankscope.reports.system_tables import FIRST

if TYPE_CHECKING:
    from rankscope.scoring.explain import Explanation
    from rankscope.scoring.why import Outcome, Why


@view
def explanation_document(explanation: Explanation) -> Document:
    """Show what each rank adds, and the calculation, beside the ideal order."""
    value = f"{explanation.measure} = {explanation.value:.4f}"
    where = (
        f"for query {explanation.query_id} of {explanation.run}: {explanation.retrieved:,} "
        f"retrieved, {explanation.relevant:,} relevant in the judgments"
    )
    first = sentences([f"{value} {where}"], "strong")
    blocks = (first, sentences([explanation.calculation]), _table(explanation))
    return Document(
        value,
        (Section("", blocks),),
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
    factors = (Column("gain", digits=None), Column("discount")) if with_factors else ()
    left_out = explanation.left_out
    notes = (f"{left_out:,} further ranks are not listed",) if left_out > 0 else ()
    rows = []
    ideal = explanation.ideal[: max(len(explanation.steps), FIRST)]
    for step, best in zip_longest(explanation.steps, ideal):
        row = cells(*[""] * (6 + len(factors)))
        if step is not None:
            tone: Tone = "strong" if step.contribution else "plain"
            tone = "quiet" if step.grade is None and not step.contribution else tone
            row = (
                Cell(step.rank),
                Cell(step.doc_id, tone=tone),
                Cell(step.score),
                Cell("unjudged" if step.grade is None else step.grade, tone=tone),
                *(cells(step.gain or 0.0, step.discount or 0.0) if with_factors else ()),
                Cell(step.contribution or "0", tone=tone),
                Cell(step.value_so_far),
            )
        last = ("", "") if best is None else (best.doc_id, best.grade)
        rows.append((*row, *(Cell(value, tone="quiet") for value in last)))
    columns = (
        Column("rank"),
        Column("document", "text"),
        *(Column(title, digits=None) for title in ("score", "grade")),
        *factors,
        Column("adds", signed=True),
        Column("so far"),
        Column("ideal", "text"),
        Column("grade", digits=None),
    )
    return Table(columns, tuple(rows), notes=(*notes, explanation.formula), name_columns=2)


@view
def why_document(result: Why) -> Document:
    """Show every profile's value; given numbers, and the rules that give them, come first."""
    lines = []
    for value, reproductions in result.reproduced.items():
        if not reproductions:
            lines.append(Sentence(f"{value}: no set of rules tried gives this number", "bad"))
        for each in reproductions:
            rules = "; ".join(each.changes) or "our own rules"
            text = f"{value}: {each.measure} is {each.value:.6f} under {rules}"
            lines.append(Sentence(text, "good"))
    columns = (
        *text_columns("rules of", "measure"),
        Column("value"),
        Column("difference", signed=True),
        Column("because of", "text"),
    )
    table = Table(columns, tuple(map(_outcome, result.outcomes)), name_columns=2)
    return Document(
        f"Values of {result.outcomes[0].measure} under the rules of several tools",
        (
            *([Section("", (Sentences(tuple(lines)),))] if lines else []),
            Section("", (table, *warning_lines(result.findings, several=False))),
        ),
    )


def _outcome(outcome: Outcome) -> tuple[Cell, ...]:
    parts = [
        f"{effect.rule}: {effect.theirs} ({number(effect.change, signed=True)})"
        for effect in outcome.effects
        if effect.change
    ]
    if abs(outcome.together) >= 0.00005:
        parts.append(f"these together ({number(outcome.together, signed=True)})")
    reason = outcome.stops or "; ".join(parts)
    if not reason and outcome.effects:
        reason = "its other rules change nothing here"
    value = Cell("stops", tone="bad") if outcome.value is None else Cell(outcome.value)
    about = cells(outcome.profile, outcome.measure)
    return (*about, value, *cells(outcome.difference or "", reason))
