"""``rankscope runs validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console, print_json, visible
from rankscope.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.findings import Finding
    from rankscope.runs.validation import Validation

__all__ = ["show", "validate"]

_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_SIGN = {"error": "✗", "warning": "!", "note": "·"}


@click.command()
@click.argument("run", nargs=-1, required=True)
@click.option("--qrels", metavar="FILE", help="Judgments the run will be scored against.")
@click.option("--queries", metavar="FILE", help="The queries the run should answer.")
@click.option("--corpus", metavar="FILE", help="The documents it may name; read as a stream.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Documents a query should have.",
)
@click.option("--input-format", metavar="NAME", help="The runs' format, if it cannot be found.")
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def validate(
    *,
    run: tuple[str, ...],
    qrels: str | None,
    queries: str | None,
    corpus: str | None,
    depth: int,
    input_format: str | None,
    output: str,
) -> int:
    """Every problem of a RUN, with a code, how bad it is, where it is, and what to do.

    Exit 0 without errors, 1 with errors, 2 if a file cannot be read at all; other runs are still
    checked. One of the files may be -, standard input.
    """
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER
    from rankscope.errors import RankscopeError
    from rankscope.runs.validation import Reference

    if [*run, qrels, queries, corpus].count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only; name files for the rest")
    reference = Reference.read(qrels=qrels, queries=queries, corpus=corpus)
    results = []
    for one in run:
        try:
            results.append(reference.validate(one, depth=depth, format=input_format))
        except RankscopeError as error:
            click.echo(visible(f"rankscope: {error}"), err=True)
    if output == "json":
        print_json([result.to_dict() for result in results])
    else:
        console = make_console()
        for number, result in enumerate(results):
            if number:
                console.print()
            show(result, console)
    if len(results) < len(run):
        return CANNOT_ANSWER
    return 0 if all(result.ok for result in results) else ANSWER_IS_NO


def show(result: Validation, console: Console) -> None:
    """Print one validation for a person."""
    from rich.text import Text

    fewest, most = result.documents_per_query.min, result.documents_per_query.max
    per_query = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    counts = {severity: sum(f.severity == severity for f in result.findings) for severity in _STYLE}
    tally = ", ".join(counted(count, severity) for severity, count in counts.items() if count)
    head = Text.assemble(
        ("✓ valid" if result.ok else "✗ not valid", "bold green" if result.ok else "bold red"),
        ("  ", ""),
        (visible(result.run), "bold"),
        f"  {counted(result.queries, 'query')}, {counted(result.rows, 'line')}, "
        f"{per_query} documents a query",
        (f"; {tally}" if tally else "; no findings", ""),
    )
    console.print(head, overflow="fold")
    for finding in result.findings:
        _show_finding(finding, console)


def _show_finding(finding: Finding, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    style = _STYLE[finding.severity]
    console.print()
    console.print(
        Text.assemble(
            (f"{_SIGN[finding.severity]} {finding.severity:<7} ", style),
            (f" {finding.code} {finding.name}", "bold"),
            (f"  {counted(finding.count, finding.unit)}", "dim"),
        )
    )
    lines = [
        Text(visible(finding.message)),
        Text.assemble(("do: ", "bold"), finding.advice),
        *(Text.assemble(("at: ", "dim"), (visible(str(place)), "dim")) for place in finding.places),
    ]
    if finding.count > len(finding.places) > 0:
        lines.append(Text(f"    and {finding.count - len(finding.places):,} more", style="dim"))
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 11), expand=False), overflow="fold")
