"""``rankscope runs fuse``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli.options import (
    MAX_SIZE,
    OutputName,
    check_standard_input,
    given_chunking,
    given_columns,
    given_options,
    named_runs,
    table_options,
)
from rankscope.errors import counted
from rankscope.printing import put, put_line


def _list_methods(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print every method with its options and leave."""
    if not wanted or context.resilient_parsing:
        return
    from rankscope.runs.fusion.methods import METHODS

    wide = max(map(len, METHODS))
    for method in METHODS.values():
        options = " ".join(f"--{option}" for option in method.options)
        put(f"{method.name:<{wide}}  {method.summary} [{options}]\n")
    context.exit()


def _weights(_: click.Context, __: click.Parameter, value: str | None) -> list[float] | None:
    """Read ``0.3,0.7``."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"expected numbers with commas between them, such as 0.3,0.7, got {value!r}"
        ) from None


@click.command()
@click.argument("run", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "target",
    type=OutputName(),
    metavar="OUT",
    required=True,
    help="File to write; - is standard output.",
)
@click.option(
    "--method",
    metavar="NAME",
    default="rrf",
    show_default=True,
    help="Method: rrf, minmax, zscore, combsum, combmnz, borda, … (--methods lists all).",
)
@click.option("--weights", metavar="0.3,0.7,…", callback=_weights, help="One for each run.")
@click.option(
    "--normalise",
    metavar="NAME",
    help="Of methods that use scores: minmax, minmaxinverted (distances), zscore, rank, sum, max, "
    "borda.  [default: scores as given]",
)
@click.option(
    "--qrels",
    metavar="FILE",
    help="Judgments that trained methods learn from. No query is fused by its own.",
)
@click.option("--k", type=float, help="Constant of rrf.  [default: 60]")
@click.option("--p", type=float, help="Persistence of rbc.  [default: 0.9]")
@click.option("--sigma", type=float, help="Constant of lognisr.  [default: 0.01]")
@click.option("--gamma", type=float, help="Exponent of gmnz.  [default: 1]")
@click.option("--segments", type=int, help="Parts of a list, for probfuse.  [default: 25]")
@click.option("--window", type=int, help="Ranks on either side, for slidefuse.  [default: 5]")
@click.option("--depth", type=int, help="Keep so many documents a query.  [default: all]")
@click.option("--name", metavar="TAG", help="The run's name, written as its tag.")
@click.option("--format", "output", metavar="FORMAT", help="The format of OUT.")
@click.option(
    "--methods",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_methods,
    help="List all methods and the options they take.",
)
@table_options
@MAX_SIZE
def fuse(
    *,
    run: tuple[str, ...],
    target: str,
    output: str | None,
    **options: Any,
) -> None:
    """Fuse each RUN's lists into one, written to OUT.

    The format of OUT is found from its name; standard output is in TREC's. One of the runs may be
    -, standard input.
    """
    from rankscope.runs.fusion.fuse import fuse as fuse_runs
    from rankscope.runs.table import as_run
    from rankscope.tables.columns import RUN
    from rankscope.tables.detection import format_for

    check_standard_input(*run, options["qrels"])
    chosen = "trec" if target == "-" and output is None else format_for(target, output, RUN)
    reading: Any = {"columns": given_columns(), "duplicates": given_options().get("duplicates")}
    runs = [as_run(each, chunking=given_chunking(), **reading) for each in named_runs(run)]
    fused = fuse_runs(runs, **options)
    fused.write(target, format=chosen)
    where = "standard output" if target == "-" else target
    size = f"{counted(len(fused), 'line')} for {counted(len(fused.query_ids), 'query')}"
    put_line(f"{fused.name}: {size}, fused from {counted(len(run), 'run')}, written to {where}")
