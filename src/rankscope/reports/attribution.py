"""Why tools differ, as a document: each profile's value, and the rules that make the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
)
from rankscope.document.text import number
from rankscope.document.views import view

if TYPE_CHECKING:
    from rankscope.scoring.why import Outcome, Reproduction


@view
def outcome_document(outcome: Outcome) -> Document:
    """Show one profile's value."""
    return why_document([outcome], {})


def why_document(
    outcomes: Sequence[Outcome], reproduced: Mapping[str, Sequence[Reproduction]]
) -> Document:
    """Show every profile's value; given numbers, and the rules that give them, come first."""
    lines = [line for value, found in reproduced.items() for line in _reproduced(value, found)]
    table = Table(
        (
            *text_columns("rules of", "measure"),
            Column("value"),
            Column("difference", signed=True),
            Column("because of", "text"),
        ),
        tuple(map(_row, outcomes)),
        name_columns=2,
    )
    return Document(
        f"Values of {outcomes[0].measure} under the rules of several tools",
        (*([Section("", (Sentences(tuple(lines)),))] if lines else []), Section("", (table,))),
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
