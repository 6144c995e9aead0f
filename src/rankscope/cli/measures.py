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

    known = {text.casefold(): text for text in SETS}.get((name or "").casefold())
    if name is None or known is not None:
        chosen = all_definitions()
        if known is not None:
            names = {parsed.measure.name for parsed in parse_measures(known)}
            chosen = [each for each in chosen if each.name in names]
        output.write(measures_document(chosen), data=lambda: list(map(_plain, chosen)))
        return
    asked = ""
    if name in known_names():
        definition = definition_of(name)
    else:
        parsed = parse_measures(name)[0]
        definition = parsed.measure.definition
        asked = str(parsed) if parsed.is_foreign else ""
    output.write(definition_document(definition, asked=asked), data=lambda: _plain(definition))


def _plain(definition: Definition) -> dict[str, Any]:
    """Return what is known of a measure, without the functions that compute it."""
    names = (
        *("name", "family", "summary", "formula", "cutoff", "range", "higher_is_better"),
        *("aggregate", "no_relevant", "short_run", "reference", "example"),
    )
    plain = {name: getattr(definition, name) for name in names}
    plain["range"] = [end if math.isfinite(end) else None for end in definition.range]
    plain["parameters"] = {each.name: each.summary for each in definition.parameters}
    return plain
