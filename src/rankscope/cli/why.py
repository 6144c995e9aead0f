"""``rankscope why``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console, print_json
from rankscope.cli.evaluate import PROFILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from rankscope.scoring.why import Reproduction, Why

__all__ = ["why"]


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
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def why(
    *,
    qrels: str,
    run: str,
    measure: str,
    profiles: str | None,
    mine: str | None,
    theirs: str | None,
    output: str,
) -> None:
    """Say why two tools give one RUN different numbers.

    Scores it under several tools' rules and changes one rule at a time. With --mine and --theirs,
    finds the rules that reproduce these numbers.
    """
    from rankscope.scoring.inputs import as_judgments, as_runs
    from rankscope.scoring.why import why as find

    judgments = as_judgments(qrels)
    named, _ = as_runs([run])
    names = [name.strip() for name in profiles.split(",")] if profiles else list(PROFILES)
    numbers = [number for number in (mine, theirs) if number is not None]
    answer = find(judgments, named, measure, profiles=names, numbers=numbers)
    if output == "json":
        print_json(answer.to_dict())
        return
    console = make_console()
    _show(answer, console)
    for number, reproductions in answer.reproduced.items():
        _show_number(number, reproductions, console)


def _show(outcomes: Why, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("rules of", "measure", "value", "difference", "because of"):
        right = title in ("value", "difference")
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for outcome in outcomes:
        value = "stops" if outcome.value is None else f"{outcome.value:.4f}"
        parts = [
            f"{effect.rule}: {effect.theirs} ({effect.change:+.4f})"
            for effect in outcome.effects
            if effect.change
        ]
        if outcome.together and abs(outcome.together) >= 0.00005:
            parts.append(f"these together ({outcome.together:+.4f})")
        difference = "" if not outcome.difference else f"{outcome.difference:+.4f}"
        reason = outcome.stops or "; ".join(parts)
        if not reason and outcome.effects:
            reason = "its other rules change nothing here"
        table.add_row(
            Text(outcome.profile, style="bold"),
            Text(outcome.measure),
            Text(value, style="red" if outcome.value is None else ""),
            Text(difference, style="yellow"),
            Text(reason),
        )
    console.print(table)


def _show_number(number: str, found: Sequence[Reproduction], console: Console) -> None:
    from rich.text import Text

    console.print()
    if not found:
        console.print(Text(f"{number}: no set of rules tried gives this number", style="red"))
        return
    for one in found:
        rules = "; ".join(one.changes) or "our own rules"
        said = f"{number}: {one.measure} is {one.value:.6f} under {rules}"
        console.print(Text(said, style="green"))
