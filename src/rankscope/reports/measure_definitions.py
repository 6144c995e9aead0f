"""What the measures of a report mean: formula, parameters, range, edges, and whose rules count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from rankscope.document.blocks import Entries, Entry, Section, sentences
from rankscope.errors import RankscopeError
from rankscope.measures.definition import (
    BY_DEPTH,
    BY_INFORMATION,
    JUDGED_ONLY,
    LEAST,
    NEARNESS,
    Parameter,
    written,
)
from rankscope.measures.language import Measure
from rankscope.reports.definitions import facts_of
from rankscope.scoring.rules import PROFILES, Profile

TITLE = "Definitions"

_MISSING = {
    "all": "counts as 0",
    "both": "is left out of the mean",
    "strict": "is an error",
}
_GAINS = {"linear": "the grade itself", "exp": "2^grade − 1", "binary": "1 from grade rel on"}
_UNKNOWN = "a measure of another package, which is not installed here"


def definitions_section(
    measures: Sequence[str],
    *,
    asked: Mapping[str, str],
    profile: str,
    rules: Mapping[str, str] | None = None,
) -> Section:
    """Explain measures, given by their canonical names; ``asked`` are the names they had.

    ``profile`` names the rules that counted; single ``rules`` (queries, no_relevant) may have been
    others.
    """
    known = PROFILES.get(profile)
    if known is not None and rules is not None:
        changed = {key: rules[key] for key in ("queries", "no_relevant") if key in rules}
        known = replace(known, **cast("dict[str, Any]", changed))
    entries = tuple(_entry(name, asked.get(name, name), profile, known) for name in measures)
    if not entries:
        return Section(TITLE)
    whose = f"Rules of {profile}" + ("." if known is None else f": {known.summary}.")
    blocks = (Entries(entries, "measure"), sentences([whose]))
    return Section(TITLE, details=blocks, part="method")


def _entry(name: str, asked: str, profile: str, rules: Profile | None) -> Entry:
    note = "" if asked == name else f"asked for as {asked}"
    try:
        measure = Measure.parse(name)
    except RankscopeError:
        return Entry(name, _UNKNOWN, note=note)
    definition = measure.definition
    facts = {
        "parameters": "; ".join(parameters_of(measure)),
        **facts_of(definition),
        **_edges(measure, rules),
    }
    reference = facts.pop("reference")
    doubt = "" if rules is None else rules.doubt(measure)
    facts["doubt"] = f"may differ from that of {profile}: {doubt}" if doubt else ""
    facts["reference"] = reference
    return Entry(
        name,
        definition.summary,
        definition.formula,
        note,
        tuple((title, text) for title, text in facts.items() if text),
    )


def parameters_of(measure: Measure) -> Iterator[str]:
    """Say which values the parameters of a measure have, those with their default included.

    >>> list(parameters_of(Measure.parse("R@5")))
    ['k = 5: only the first 5 documents count', 'rel = 1: lowest grade that counts as relevant']
    """
    if measure.cutoff is not None:
        yield f"k = {measure.cutoff}: only the first {measure.cutoff} documents count"
    elif measure.definition.cutoff != "none":
        yield "no cutoff: all retrieved documents count"
    options = measure.options
    for parameter in measure.definition.parameters:
        value = options[parameter.name]
        if not _counts(parameter, measure):
            continue
        if value is None:
            yield f"{parameter.name} not set: {parameter.summary}"
        elif parameter.kind == "gain":
            yield f"gain = {written(value)}: {_GAINS.get(str(value), 'the gain of each grade')}"
        else:
            yield f"{parameter.name} = {written(value)}: {parameter.summary}"


def _counts(parameter: Parameter, measure: Measure) -> bool:
    """Tell whether a parameter plays a part: what is unset, or has no effect, does not."""
    options = measure.options
    if parameter in (JUDGED_ONLY, LEAST, NEARNESS[0]):
        return bool(options[parameter.name])
    if parameter in NEARNESS[1:]:
        users = BY_DEPTH if parameter.name == "depth" else BY_INFORMATION
        return options["sim"] in users
    has_gains = "gain" in options and options["gain"] != "binary"
    return not (parameter.name == "rel" and has_gains)


def _edges(measure: Measure, rules: Profile | None) -> dict[str, str]:
    """Say what the rules do with queries that have no relevant document, or no answer."""
    if rules is None:
        return {}
    counted = rules.rules_for(measure)
    edges = {"query missing from a run": _MISSING[counted.queries]}
    if rules.no_relevant == "out":
        edges["no relevant document"] = "the query is left out of the mean"
    return edges
