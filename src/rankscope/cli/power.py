"""``rankscope power``."""

from __future__ import annotations

import math
from typing import Any

import click

from rankscope.cli.options import (
    ALPHA,
    LANGUAGE,
    MAX_SIZE,
    NO_ANSWER,
    ORDER,
    RELEVANCE_LEVEL,
    TARGET,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    ontology_options,
    table_options,
)
from rankscope.cli.output import emit


@click.command()
@click.argument("files", nargs=-1, metavar="[QRELS RUN RUN]")
@measures_option("Repeatable. [default: nDCG@10]")
@click.option("--difference", type=float, help="A true difference that should be seen.")
@click.option("--sd", type=float, help="Standard deviation of the difference from query to query.")
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    multiple=True,
    help="What so many queries can show. Repeatable. [default: 9, 50, 200, 500]",
)
@ALPHA
@click.option(
    "--power",
    "wanted",
    type=float,
    default=0.8,
    show_default=True,
    help="The probability with which a true difference should be seen.",
)
@ORDER
@format_option()
@TARGET
@table_options
@NO_ANSWER
@RELEVANCE_LEVEL
@ontology_options
@LANGUAGE
@MAX_SIZE
def power(
    *,
    files: tuple[str, ...],
    measures: tuple[str, ...],
    difference: float | None,
    sd: float | None,
    queries: tuple[int, ...],
    alpha: float,
    wanted: float,
    order: str,
    format: str,
    target: str | None,
    ontology: Any,
) -> None:
    """Say which differences so many queries can show, and how many a difference needs.

    From the scores of two runs (QRELS RUN RUN), as many of whose queries stay without a difference
    as there are, or from assumptions alone: --sd. By the formula of the two-sided paired t test.
    """
    if difference is not None and not (math.isfinite(difference) and difference):
        raise click.UsageError("--difference must be a finite number other than 0")
    if sd is None:
        if len(files) != 3:
            raise click.UsageError("give QRELS and two RUNs, or --sd to reckon from assumptions")
        check_standard_input(*files)
        from rankscope.statistics.power import power as find

        options: Any = {"target": difference, "alpha": alpha, "power": wanted}
        if queries:
            options["sizes"] = queries
        options |= {"order": order, "ontology": ontology, **given_options()}
        report = find(*files, measures or "nDCG@10", **options)
        emit(report, format=format, target=target)
        return
    if files or measures:
        raise click.UsageError("--sd replaces files and measures; give one or the other")
    if not (math.isfinite(sd) and sd > 0):
        raise click.UsageError("--sd must be a finite number above 0, such as 0.2")
    from rankscope.statistics.power import SIZES, plan_power

    sizes = queries or SIZES
    plan = plan_power(sd=sd, difference=difference, queries=sizes, alpha=alpha, power=wanted)
    emit(plan, format=format, target=target)
