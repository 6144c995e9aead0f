"""``rankscope measures``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import make_console, print_json

if TYPE_CHECKING:
    from rankscope.measures.definition import Definition
    from rankscope.measures.language import Parsed

__all__ = ["measures"]


@click.command()
@click.argument("name", required=False)
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def measures(*, name: str | None, output: str) -> None:
    """List every measure, or explain NAME: its formula, parameters, range and edges.

    NAME may be written as any tool writes it: nDCG, ndcg_cut_10, MRR@10.
    """
    from rankscope.measures.registry import all_definitions

    if name is not None:
        _explain(name, output)
        return
    definitions = all_definitions()
    if output == "json":
        print_json([_as_dict(definition) for definition in definitions])
        return
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("measure", "example", "what it means"):
        table.add_column(title, overflow="fold", no_wrap=title != "what it means")
    family = ""
    for definition in definitions:
        if definition.family != family:
            family = definition.family
            table.add_row(Text(family.replace("_", " "), style="dim italic"), "", "")
        table.add_row(
            Text(definition.name, style="bold"), Text(definition.example), Text(definition.summary)
        )
    console.print(table)


def _as_dict(definition: Definition) -> dict[str, Any]:
    from rankscope.measures.definition import written

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
    }


def _parsed(name: str) -> Parsed:
    """Read a name; one that needs a cutoff may come without."""
    from rankscope.errors import RankscopeError
    from rankscope.measures.language import parse_measures

    try:
        return parse_measures(name)[0]
    except RankscopeError:
        try:
            return parse_measures(f"{name}@10")[0]
        except RankscopeError:
            pass
        raise


def _range(definition: Definition) -> str:
    low, high = definition.range
    if low == -math.inf:
        return "any number"
    return f"from {low:g} up" if high == math.inf else f"{low:g} to {high:g}"


def _explain(name: str, output: str) -> None:
    from rich.text import Text

    from rankscope.measures.definition import written
    from rankscope.measures.registry import definition_of, known_names

    asked = ""
    if name in known_names():
        definition = definition_of(name)
    else:
        parsed = _parsed(name)
        definition = parsed.measure.definition
        asked = str(parsed) if parsed.is_foreign else ""
    if output == "json":
        print_json(_as_dict(definition))
        return
    console = make_console()
    console.print(Text(definition.name, style="bold"), Text(definition.summary))
    better = "higher" if definition.higher_is_better else "lower"
    rows = [
        ("asked", asked),
        ("formula", definition.formula),
        ("cutoff", definition.cutoff),
        ("range", f"{_range(definition)}, {better} is better"),
        ("over queries", definition.aggregate),
        ("no relevant document", definition.no_relevant),
        ("short run", definition.short_run),
        ("reference", definition.reference),
        ("example", definition.example),
    ]
    for title, text in rows:
        if text:
            console.print(Text.assemble((f"  {title}: ", "bold cyan"), text), soft_wrap=True)
    for parameter in definition.parameters:
        console.print(
            Text.assemble(
                ("  parameter ", "bold cyan"),
                (f"{parameter.name}={written(parameter.default)}", "bold"),
                f"  {parameter.summary}",
            ),
            soft_wrap=True,
        )
