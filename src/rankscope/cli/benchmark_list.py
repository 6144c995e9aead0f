"""``rankscope benchmark list``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.console import make_console, print_json, visible

__all__ = ["list_"]


@click.command(name="list")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR", default="benchmarks")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def list_(*, folder: Path, format: str) -> None:
    """Show the experiments of a folder, newest first, with main measure and verdict."""
    from rankscope.benchmark.listing import list_experiments

    found = list_experiments(folder)
    if format == "json":
        print_json([one.to_dict() for one in found])
        return
    console = make_console()
    if not found:
        console.print(f"{visible(str(folder))} holds no experiment")
    for number, one in enumerate(found):
        if number:
            console.print()
        if one.problem:
            console.print(f"{visible(one.folder)}: cannot be read", style="bold red")
            console.print(f"  {visible(one.problem)}")
            continue
        console.print(visible(one.experiment), style="bold", end="  ")
        console.print(f"{one.finished.replace('T', ' ').removesuffix('Z')}  {visible(one.folder)}")
        value = "" if one.value is None else f" {one.value:.4f}"
        console.print(
            f"  {visible(one.collection)}, {one.queries:,} queries; {one.measure}{value} "
            f"({visible(one.best)}); systems: {visible(', '.join(one.systems))}"
        )
        if one.verdict:
            console.print(f"  {visible(one.verdict)}")
