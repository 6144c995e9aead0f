"""``rankscope why``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope.cli.options import (
    MAX_SIZE,
    NO_ANSWER,
    ORDER,
    TARGET,
    check_standard_input,
    format_option,
    given_options,
    named_run,
    table_options,
)
from rankscope.cli.output import emit
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.runs.order import Order


@click.command()
@click.argument("qrels")
@click.argument("run")
@click.option("-m", "--measure", default="nDCG@10", show_default=True, metavar="MEASURE")
@click.option(
    "--profiles",
    metavar="NAME,NAME",
    help=f"Whose rules to compare with ours. [default: all of {', '.join(PROFILES)}]",
)
@click.option(
    "--mine", metavar="NUMBER", help="A number you got; the rules that give it are named."
)
@click.option("--theirs", metavar="NUMBER", help="A number somebody else got, likewise.")
@ORDER
@format_option()
@TARGET
@table_options
@NO_ANSWER
@MAX_SIZE
def why(
    *,
    qrels: str,
    run: str,
    measure: str,
    profiles: str | None,
    mine: str | None,
    theirs: str | None,
    order: Order,
    format: str,
    target: str | None,
) -> None:
    """Say why two tools give one RUN different numbers.

    Scores it under several tools' rules and changes one rule at a time. With --mine and --theirs,
    finds the rules that reproduce these numbers.
    """
    from rankscope.scoring.why import why as explain_difference

    check_standard_input(qrels, run)
    names = [name.strip() for name in profiles.split(",")] if profiles else list(PROFILES)
    numbers = [number for number in (mine, theirs) if number is not None]
    result = explain_difference(
        qrels,
        [named_run(run)],
        measure,
        profiles=names,
        numbers=numbers,
        order=order,
        **given_options(),
    )
    emit(result, format=format, target=target)
