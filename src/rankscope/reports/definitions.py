"""Measures as documents, and what is said below their means: what they mean and cover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from rankscope.errors import RankscopeError, counted, shown
from rankscope.measures.definition import NEARNESS, written
from rankscope.measures.language import Measure
from rankscope.reports.system_tables import FIRST
from rankscope.scoring.rules import PROFILES
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition
    from rankscope.scoring.score_files import Accounting


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
    return Document(definition.name, (Section("", (opening, table)),))


# --- what means cover ----------------------------------------------------------------------------


_MISSING = {"all": "counted as 0", "both": "left out of the means", "strict": "an error"}
_WITHOUT = {"zero": "scored 0", "out": "left out"}


def coverage_section(
    accountings: Mapping[str, Accounting], more: Mapping[str, Sequence[str]] | None = None
) -> Section:
    """Say what the means of each system are made of; ``more`` are further sentences, by system."""
    by_system = {name: accounting_sentences(each) for name, each in accountings.items()}
    for name, sentences_of_it in (more or {}).items():
        by_system.setdefault(name, []).extend(sentences_of_it)
    lines = said_once(by_system)
    sizes = {accounting.queries for accounting in accountings.values()} or {0}
    queries = counted(max(sizes), "question")
    queries = queries if len(sizes) == 1 else f"{min(sizes):,} to {queries}"
    missing = max((accounting.missing for accounting in accountings.values()), default=0)
    lacking = f"up to {missing:,} are missing from a run" if missing else "none is missing"
    return Section(
        "What means cover",
        details=(sentences(lines, listed=True),) if accountings else (),
        part="method",
        finding=f"Each mean covers {queries}; {lacking}.",
    )


def said_once(by_run: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield each sentence once, with the runs that it is about unless these are all."""
    for sentence in dict.fromkeys(sentence for each in by_run.values() for sentence in each):
        names = [name for name, sentences in by_run.items() if sentence in sentences]
        yield sentence if len(names) == len(by_run) else f"{listed(names, FIRST)}: {sentence}"


def accounting_sentences(accounting: Accounting) -> list[str]:
    """Say what a mean is made of; the first sentence is always there."""
    questions = counted(accounting.queries, "question")
    if accounting.missing:
        fate = _MISSING[accounting.missing_policy]
        parts = [questions, f"{accounting.missing:,} missing from the run, {fate}"]
    else:
        parts = [f"{questions}, none missing"]
    if accounting.without_relevant:
        fate = _WITHOUT[accounting.without_relevant_policy]
        parts.append(f"{accounting.without_relevant:,} without a relevant document, {fate}")
    if accounting.unjudged:
        parts.append(f"{accounting.unjudged:,} of the run not judged, left out")
    return parts + data_sentences(accounting)


def data_sentences(accounting: Accounting) -> list[str]:
    """Say how the data became what is scored: questions left out, chunks collapsed, overlaps."""
    parts = []
    if accounting.no_answer:
        verb = "has" if accounting.no_answer == 1 else "have"
        parts.append(f"{counted(accounting.no_answer, 'question')} {verb} no answer, left out")
    if chunks := accounting.collapsed:
        parts.append(
            f"{counted(chunks.chunks, 'chunk')} collapsed to "
            f"{counted(chunks.documents, 'document')} by {shown(chunks.rule)}"
        )
        if chunks.unmatched:
            noun = "a whole document" if chunks.unmatched == 1 else "whole documents"
            parts.append(f"{counted(chunks.unmatched, 'id')} taken as {noun}")
    if spans := accounting.spans:
        parts.append(
            f"{counted(spans.gold, 'gold passage')}, matched as wholes"
            if spans.unit == "passages"
            else f"{counted(spans.gold, 'gold span')}, found where {spans.overlap:.0%} of the "
            f"{spans.unit} are retrieved; gains by the share"
        )
    if terms := accounting.ontology:
        version = f", {terms.version}" if terms.version else ""
        several = f", by {', '.join(terms.relations)}" if len(terms.relations) > 1 else ""
        parts.append(
            f"nearness in {shown(terms.source)[1:-1]}{version}: {counted(terms.terms, 'term')}, "
            f"{counted(terms.depth, 'step')} deep (longest path{several})"
        )
    if accounting.languages:
        names = ", ".join(accounting.languages)
        parts.append(f"{len(accounting.languages)} languages together ({names}), as asked for")
    return parts
