"""Measures as documents: the list of all, everything about one, and what those of a report mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Document,
    Section,
    Table,
    cells,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import RankscopeError, counted
from rankscope.measures.definition import NEARNESS, written
from rankscope.measures.language import Measure
from rankscope.ontology.nearness import all_similarities
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition


_UNKNOWN = "a measure of another package, which is not installed here"


def measures_document(definitions: Sequence[Definition]) -> Document:
    """List measures, by family."""
    rows = [
        (measure.name, measure.family.replace("_", " "), measure.example, measure.summary)
        for measure in definitions
    ]
    columns = text_columns("measure", "family", "example", "what it means")
    return Document("Measures", (Section("", (Table(columns, plain_rows(rows)),)),))


def definitions_section(
    measures: Sequence[str], *, asked: Mapping[str, str], profile: str
) -> Section:
    """Say what measures mean, given by their canonical names; ``asked`` are the names they had.

    ``profile`` names the rules that counted.
    """
    rules = PROFILES.get(profile)
    rows, notes = [], []
    for name in measures:
        note = "" if asked.get(name, name) == name else f"asked for as {asked[name]}"
        try:
            measure = Measure.parse(name)
        except RankscopeError:
            rows.append((Cell(name, note=note), *cells(_UNKNOWN, None)))
            continue
        definition = measure.definition
        rows.append((Cell(name, note=note), *cells(definition.summary, definition.formula or None)))
        if doubt := "" if rules is None else rules.doubt(measure):
            notes.append(f"{name} may differ from that of {profile}: {doubt}")
    notes.append(f"rules of {profile}" + ("" if rules is None else f": {rules.summary}"))
    notes.append("rankscope measures NAME shows parameters, edges and references")
    columns = text_columns("measure", "what it means", "formula")
    table = Table(columns, tuple(rows), notes=tuple(notes))
    finding = f"{counted(len(rows), 'measure')}, by the rules of {profile}."
    details = (table,) if rows else ()
    return Section("Definitions", details=details, part="method", finding=finding)


@view
def definition_document(definition: Definition, *, asked: str = "") -> Document:
    """Show everything about one measure."""
    facts = {
        "asked": asked,
        "formula": definition.formula,
        "cutoff": definition.cutoff,
        **facts_of(definition),
        "example": definition.example,
    }
    rows = [(f"{title}:", text) for title, text in facts.items() if text]
    rows += [
        (f"parameter {parameter.name}={written(parameter.default)}:", parameter.summary)
        for parameter in definition.parameters
        if definition.needs == "terms" or parameter not in NEARNESS[1:]
    ]
    table = Table(text_columns("", ""), plain_rows(rows))
    opening = sentences([f"{definition.name}: {definition.summary}"], "strong")
    sections = [Section("", (opening, table))]
    if definition.needs == "terms":
        sections.append(_similarities())
    return Document(definition.name, tuple(sections))


def facts_of(definition: Definition) -> dict[str, str]:
    """Return what is true of a measure whatever its parameters; '' for what it does not say."""
    better = "higher" if definition.higher_is_better else "lower"
    return {
        "range": f"{_range(definition)}, {better} is better",
        "over queries": definition.aggregate,
        "no relevant document": definition.no_relevant,
        "short run": definition.short_run,
        "reference": definition.reference,
    }


def _similarities() -> Section:
    """List how near two terms can be."""
    rows = [(each.name, each.formula, each.summary, each.reference) for each in all_similarities()]
    legend = (
        "d is the depth of a term, D the greatest, LCA the deepest shared ancestor, IC information "
        "content, MICA the shared ancestor with most of it"
    )
    rest = (
        "all are brought to [0, 1], 1 for a term and itself, 0 where no ancestor is shared or a "
        "term is unknown; a measure of documents takes nearness for a grade, as in "
        "nDCG(sim=hybrid)@10"
    )
    columns = text_columns("sim", "formula", "what it means", "reference")
    return Section("Similarities", (Table(columns, plain_rows(rows)), sentences([legend, rest])))


def _range(definition: Definition) -> str:
    low, high = definition.range
    if low == -math.inf:
        return "any number"
    return f"from {low:g} up" if high == math.inf else f"{low:g} to {high:g}"
