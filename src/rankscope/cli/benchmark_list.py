"""``rankscope benchmark list``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.options import MAX_SIZE, TARGET, format_option
from rankscope.cli.output import emit


@click.command(name="list")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR", default="benchmarks")
@format_option()
@TARGET
@MAX_SIZE
def list_(*, folder: Path, format: str, target: str | None) -> None:
    """Show the experiments of a folder, newest first, with main measure and verdict."""
    from rankscope.benchmark.listing import list_experiments
    from rankscope.reports.experiments import listing_document

    experiments = list_experiments(folder)
    emit(
        listing_document(str(folder), experiments),
        format=format,
        target=target,
        data=lambda: [experiment.to_dict() for experiment in experiments],
    )
