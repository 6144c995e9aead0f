"""``rankscope benchmark verify``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.options import MAX_SIZE, TARGET, format_option
from rankscope.cli.output import emit


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The documents that were searched: titles and the corpus's hash are checked, too.",
)
@click.option(
    "--digest",
    default="",
    metavar="HEX",
    help="The digest that 'benchmark run' printed, or its beginning: the manifest must have it.",
)
@format_option()
@TARGET
@MAX_SIZE
def verify(
    *,
    folder: Path,
    corpus: Path | None,
    digest: str,
    format: str,
    target: str | None,
) -> int:
    """Compute an experiment again from its runs, and say whether what is recorded holds.

    DIR is the folder of one experiment. Hashes, values, means, intervals, tests, verdict, analyses,
    findings and pages are looked at. Exit 1 if something was changed.
    """
    from rankscope.benchmark.verify import verify as verify_experiment
    from rankscope.cli import ANSWER_IS_NO

    verification = verify_experiment(folder, corpus=corpus, digest=digest)
    emit(verification, format=format, target=target)
    return 0 if verification.ok else ANSWER_IS_NO
