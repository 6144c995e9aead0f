"""``rankscope benchmark verify``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.options import MAX_SIZE, TARGET, format_option
from rankscope.cli.output import emit


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@format_option()
@TARGET
@MAX_SIZE
def verify(*, folder: Path, format: str, target: str | None) -> int:
    """Compute the hashes and scores of an experiment again, and say whether they hold.

    DIR is the folder of one experiment. Exit 1 if something was changed.
    """
    from rankscope.benchmark.verify import verify as verify_experiment
    from rankscope.cli import ANSWER_IS_NO

    verification = verify_experiment(folder)
    emit(verification, format=format, target=target)
    return 0 if verification.ok else ANSWER_IS_NO
