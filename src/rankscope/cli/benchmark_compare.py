"""``rankscope benchmark compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console, print_json, visible

if TYPE_CHECKING:
    from rankscope.benchmark.changes import ExperimentComparison

__all__ = ["compare"]

_STYLES = {"better": "green", "worse": "red"}


@click.command()
@click.argument("before", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("after", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="Only this system (repeatable)."
)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="Only this measure."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resampling.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def compare(
    *,
    before: Path,
    after: Path,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    seed: int,
    format: str,
) -> None:
    """Compare two experiments: what changed, system by system.

    Both must have the same judgments, queries and rules; else exit 2, "not comparable".
    """
    from rankscope.benchmark.changes import compare_experiments

    result = compare_experiments(before, after, systems=systems, measures=measures, seed=seed)
    if format == "json":
        print_json(result.to_dict())
    else:
        _show(result)


def _show(result: ExperimentComparison) -> None:
    from rankscope.cli.tables import Column, print_columns

    console = make_console()
    console.print(
        visible(f"{result.before} → {result.after}, {result.queries:,} queries"), style="bold"
    )
    same = "nothing: config, corpus and versions are the same"
    console.print(visible(f"different: {', '.join(result.differs) or same}"))
    console.print()
    changes = result.changes
    styles = [_STYLES.get(one.verdict, "") for one in changes]

    def column(title: str, cells: list[str], *, right: bool = True) -> Column:
        return Column(title, list(zip(cells, styles, strict=True)), right=right)

    intervals = [one.interval for one in changes]
    print_columns(
        console,
        column("system", [one.system for one in changes], right=False),
        [
            column("measure", [one.measure for one in changes], right=False),
            column("before", [f"{one.before:.4f}" for one in changes]),
            column("after", [f"{one.after:.4f}" for one in changes]),
            column(
                "difference",
                [f"{one.difference:+.4f}{_mark(one.p_corrected)}" for one in changes],
            ),
            column("95 % interval", [f"[{one.low:+.4f}, {one.high:+.4f}]" for one in intervals]),
            column("p", [f"{one.p_corrected:.4f}" for one in changes]),
        ],
    )
    console.print()
    console.print("† p ≤ 0.05, ‡ p ≤ 0.01 (permutation test, corrected by Holm over all rows)")
    for names, where in ((result.only_before, "the first"), (result.only_after, "the second")):
        if names:
            console.print(visible(f"only in {where}: {', '.join(names)}"))


def _mark(p: float) -> str:
    return "‡" if p <= 0.01 else "†" if p <= 0.05 else " "
