"""``rankscope benchmark sign``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.output import print_line


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Your SSH key, such as ~/.ssh/id_ed25519.",
)
def sign(*, folder: Path, key: Path) -> None:
    """Sign an experiment with an SSH key.

    DIR is the folder of one experiment. What is signed is its manifest, which holds the hashes of
    all its files; the signature is written beside it. Whoever has your public key checks it with
    'benchmark verify DIR --key KEY.pub'.
    """
    from rankscope.benchmark.signatures import sign as sign_experiment

    print_line(f"written to {sign_experiment(folder, key.expanduser())}")
