"""``rankscope measures``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command
from rankscope.cli.output import Output

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition
    from rankscope.measures.language import Parsed


@command("rankscope measures", "rankscope measures nDCG")
@click.argument("name", required=False)
@shared.output_options()
def measures(*, name: str | None, output: Output) -> None:
    """List all measures, or explain NAME: formula, parameters, range and edge cases.

    Names of other tools work too: ndcg_cut_10, MRR@10, hit@5.
    """
    from rankscope.measures.language import parse_measures
    from rankscope.measures.names import SETS
    from rankscope.measures.registry import all_definitions, definition_of, known_names
    from rankscope.reports.definitions import definition_document, measures_document

    sets = {text: list(parse_measures(text)) for text in SETS}
    if name is None or name.casefold() in sets:
        chosen = sets.get((name or "").casefold())
        known = all_definitions()
        names = {parsed.measure.name for parsed in chosen or ()}
        definitions = [each for each in known if chosen is None or each.name in names]
        output.write(
            measures_document(definitions),
            data=lambda: [_plain(definition) for definition in definitions],
        )
        return
    asked = ""
    if name in known_names():
        definition = definition_of(name)
    else:
        parsed = _parsed(name)
        definition = parsed.measure.definition
        asked = str(parsed) if parsed.is_foreign else ""
    output.write(
        definition_document(definition, asked=asked),
        data=lambda: _plain(definition),
    )


def _plain(definition: Definition) -> dict[str, Any]:
    from rankscope.measures.definition import written
    from rankscope.ontology.nearness import all_similarities

    similarities = {
        each.name: {"formula": each.formula, "summary": each.summary, "reference": each.reference}
        for each in all_similarities()
    }
    return {
        "name": definition.name,
        "family": definition.family,
        "summary": definition.summary,
        "formula": definition.formula,
        "cutoff": definition.cutoff,
        "parameters": {
            parameter.name: {
                "default": written(parameter.default),
                "expects": parameter.expected,
                "summary": parameter.summary,
            }
            for parameter in definition.parameters
        },
        "range": [end if math.isfinite(end) else None for end in definition.range],
        "higher_is_better": definition.higher_is_better,
        "over_queries": definition.aggregate,
        "no_relevant_document": definition.no_relevant,
        "short_run": definition.short_run,
        "reference": definition.reference,
        "example": definition.example,
        **({"similarities": similarities} if definition.needs == "terms" else {}),
    }


def _parsed(name: str) -> Parsed:
    """Read a name; a cutoff that it needs may be left out."""
    from rankscope.errors import RankscopeError
    from rankscope.measures.language import parse_measures

    try:
        return parse_measures(name)[0]
    except RankscopeError as error:
        try:
            return parse_measures(f"{name}@10")[0]
        except RankscopeError:
            raise error from None
