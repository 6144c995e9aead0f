"""Measures as documents: the list of all, everything about one, and what those of a report mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Document,
    Section,
    Table,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import RankscopeError
from rankscope.measures.definition import NEARNESS, written
from rankscope.measures.language import Measure
from rankscope.ontology.nearness import all_similarities
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition


def measures_document(definitions: Sequence[Definition]) -> Document:
    """List measures, by family."""
    rows = [
        (measure.name, measure.family.replace("_", " "), measure.example, measure.summary)
        for measure in definitions
    ]
    columns = text_columns("measure", "family", "example", "what it means")
    return Document("Measures", (Section("", (Table(columns, plain_rows(rows)),)),))


def meanings(measures: Iterable[str], profile: str) -> Iterator[str]:
    """Say what measures mean, by the rules of a profile: notes below a table of their means."""
    rules = PROFILES.get(profile)
    for name in measures:
        try:
            measure = Measure.parse(name)
        except RankscopeError:  # of another package, which is not installed here
            continue
        yield f"{name}: {measure.definition.summary}"
        if doubt := "" if rules is None else rules.doubt(measure):
            yield f"{name} may differ from that of {profile}: {doubt}"
    if profile != "rankscope":
        yield f"rules of {profile}" + ("" if rules is None else f": {rules.summary}")


@view
def definition_document(definition: Definition, *, asked: str = "") -> Document:
    """Show everything about one measure."""
    better = "higher" if definition.higher_is_better else "lower"
    low, high = definition.range
    between = f"from {low:g} up" if high == math.inf else f"{low:g} to {high:g}"
    facts = {
        "asked": asked,
        "formula": definition.formula,
        "cutoff": definition.cutoff,
        "range": f"{'any number' if low == -math.inf else between}, {better} is better",
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
        if definition.needs == "terms" or parameter not in NEARNESS[1:]
    ]
    table = Table(text_columns("", ""), plain_rows(rows))
    opening = sentences([f"{definition.name}: {definition.summary}"], "strong")
    sections = [Section("", (opening, table))]
    if definition.needs == "terms":
        sections.append(_similarities())
    return Document(definition.name, tuple(sections))


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
