"""``rankscope explain``."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console, print_json, visible
from rankscope.cli.evaluate import PROFILES

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.scoring.explain import Explanation

__all__ = ["explain"]


@click.command()
@click.argument("qrels")
@click.argument("run")
@click.option("--query", "query_id", required=True, metavar="ID", help="The query to explain.")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="[default: nDCG@10]"
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="List all ranks down to here, and below it those that add something.",
)
@click.option("--profile", type=click.Choice(PROFILES), default="rankscope", show_default=True)
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def explain(
    *,
    qrels: str,
    run: str,
    query_id: str,
    measures: tuple[str, ...],
    depth: int,
    profile: str,
    output: str,
) -> None:
    """Explain one query's score: every rank, what stands there, and what it adds."""
    from rankscope.measures.language import parse_measures
    from rankscope.scoring.explain import explain as find
    from rankscope.scoring.inputs import as_judgments, as_runs

    judgments = as_judgments(qrels)
    runs, _ = as_runs([run])
    one = next(iter(runs.values()))
    told = [
        find(judgments, one, query_id, parsed.measure, profile=profile, depth=depth)
        for parsed in parse_measures(measures or ("nDCG@10",))
    ]
    if output == "json":
        print_json([each.to_dict() for each in told])
        return
    console = make_console()
    for number, each in enumerate(told):
        if number:
            console.print()
        _show(each, console)


def _show(told: Explanation, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(
        Text.assemble(
            (f"{told.measure} = {told.value:.4f}", "bold"),
            visible(f"  query {told.query_id} of {told.run}: "),
            f"{told.retrieved:,} retrieved, {told.relevant:,} relevant in the judgments",
        )
    )
    console.print(Text(told.formula, style="dim"))
    console.print()
    with_factors = any(step.gain is not None for step in told.steps)
    factors = ["gain", "discount"] if with_factors else []
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("rank", "document", "score", "grade", *factors, "adds", "so far"):
        table.add_column(title, justify="left" if title == "document" else "right",
                         overflow="fold", no_wrap=title != "document")  # fmt: skip
    ideal = list(told.ideal)
    for title in ("  ideal", "grade"):
        table.add_column(title, justify="left" if "ideal" in title else "right", overflow="fold",
                         style="dim")  # fmt: skip
    for step, best in zip_longest(told.steps, ideal[: max(len(told.steps), 10)]):
        cells = ["", "", "", ""] + ["", ""] * bool(factors) + ["", ""]
        style = ""
        if step is not None:
            style = "green" if step.contribution else "" if step.grade is not None else "dim"
            grade = "unjudged" if step.grade is None else f"{step.grade:g}"
            cells = [str(step.rank), visible(step.doc_id), f"{step.score:.6g}", grade]
            if with_factors:
                cells += [f"{step.gain or 0:g}", f"{step.discount or 0:.4f}"]
            cells += [f"{step.contribution:+.4f}" if step.contribution else "0",
                      f"{step.value_so_far:.4f}"]  # fmt: skip
        beside = ["", ""] if best is None else [visible(f"  {best.doc_id}"), f"{best.grade:g}"]
        table.add_row(*(Text(cell, style=style) for cell in cells), *map(Text, beside))
    console.print(table)
    if told.left_out > 0:
        console.print(Text(f"{told.left_out:,} further ranks add nothing", style="dim"))
    console.print()
    console.print(Text(told.calculation))
