"""``rankscope benchmark compare``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.options import MAX_SIZE, SEED, SYSTEMS, TARGET, format_option, measures_option
from rankscope.cli.output import emit


@click.command()
@click.argument("before", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("after", type=click.Path(path_type=Path), metavar="DIR")
@SYSTEMS
@measures_option("Only this measure (repeatable).")
@SEED
@format_option()
@TARGET
@MAX_SIZE
def compare(
    *,
    before: Path,
    after: Path,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    seed: int,
    format: str,
    target: str | None,
) -> None:
    """Compare two experiments: what changed, system by system.

    Both must have the same judgments, queries and rules; else exit 2, "not comparable".
    """
    from rankscope.benchmark.changes import compare_experiments

    result = compare_experiments(before, after, systems=systems, measures=measures, seed=seed)
    emit(result, format=format, target=target)
