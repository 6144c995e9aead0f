"""Why tools differ, as a document: each profile's value, and the rules that make the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    text_columns,
    warning_lines,
)
from rankscope.document.text import number
from rankscope.document.views import view

if TYPE_CHECKING:
    from rankscope.scoring.why import Outcome, Reproduction, Why


@view
def why_document(result: Why) -> Document:
    """Show every profile's value; given numbers, and the rules that give them, come first."""
    lines = [
        line
        for value, reproductions in result.reproduced.items()
        for line in _reproduced(value, reproductions)
    ]
    table = Table(
        (
            *text_columns("rules of", "measure"),
            Column("value"),
            Column("difference", signed=True),
            Column("because of", "text"),
        ),
        tuple(map(_row, result.outcomes)),
        name_columns=2,
    )
    return Document(
        f"Values of {result.outcomes[0].measure} under the rules of several tools",
        (
            *([Section("", (Sentences(tuple(lines)),))] if lines else []),
            Section("", (table, *warning_lines(result.findings, several=False))),
        ),
    )


def _row(outcome: Outcome) -> tuple[Cell, ...]:
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
    return (
        Cell(outcome.profile),
        Cell(outcome.measure),
        value,
        Cell(outcome.difference or ""),
        Cell(reason),
    )


def _reproduced(value: str, reproductions: Sequence[Reproduction]) -> Iterator[Sentence]:
    if not reproductions:
        yield Sentence(f"{value}: no set of rules tried gives this number", "bad")
    for reproduction in reproductions:
        rules = "; ".join(reproduction.changes) or "our own rules"
        yield Sentence(
            f"{value}: {reproduction.measure} is {reproduction.value:.6f} under {rules}", "good"
        )
