"""Measures as documents: the list of all, and everything about one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import Document, Section, Table, plain_rows, sentences, text_columns
from rankscope.document.views import view
from rankscope.measures.definition import written

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition


def measures_document(definitions: Sequence[Definition]) -> Document:
    """List measures, by family."""
    rows = [
        (one.name, one.family.replace("_", " "), one.example, one.summary) for one in definitions
    ]
    columns = text_columns("measure", "family", "example", "what it means")
    return Document("Measures", (Section("", (Table(columns, plain_rows(rows)),)),))


@view
def definition_document(definition: Definition, *, asked: str = "") -> Document:
    """Show everything about one measure."""
    better = "higher" if definition.higher_is_better else "lower"
    facts = {
        "asked": asked,
        "formula": definition.formula,
        "cutoff": definition.cutoff,
        "range": f"{_range(definition)}, {better} is better",
        "over queries": definition.aggregate,
        "no relevant document": definition.no_relevant,
        "short run": definition.short_run,
        "reference": definition.reference,
        "example": definition.example,
    }
    rows = [(f"{title}:", text) for title, text in facts.items() if text]
    rows += [
        (f"parameter {parameter.name}={written(parameter.default)}:", parameter.summary)
        for parameter in definition.parameters
    ]
    table = Table(text_columns("", ""), plain_rows(rows))
    opening = sentences([f"{definition.name}: {definition.summary}"], "strong")
    return Document(definition.name, (Section("", (opening, table)),))


def _range(definition: Definition) -> str:
    low, high = definition.range
    if low == -math.inf:
        return "any number"
    return f"from {low:g} up" if high == math.inf else f"{low:g} to {high:g}"
