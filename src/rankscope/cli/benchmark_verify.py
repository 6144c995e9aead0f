"""``rankscope benchmark verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankscope.cli.console import make_console, print_json, visible

__all__ = ["verify"]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def verify(*, folder: Path, format: str) -> None:
    """Compute the hashes and scores of an experiment again, and say whether they hold.

    DIR is the folder of one experiment. Exit 1 if something was changed.
    """
    from rankscope.benchmark.verify import verify as verified

    result = verified(folder)
    if format == "json":
        print_json(result.to_dict())
    else:
        console = make_console()
        wrong = [one for one in result.checks if one.problem]
        for one in wrong:
            console.print(f"✗ {visible(one.what)}: {visible(one.problem)}", style="red")
        if wrong:
            console.print(
                f"{len(wrong)} of {len(result.checks)} checks failed: this is not the experiment "
                "that was recorded"
            )
        else:
            console.print(
                f"{visible(result.experiment)} holds: {len(result.checks)} checks, every file and "
                "every score is as recorded",
                style="green",
            )
    if not result.ok:
        sys.exit(1)
