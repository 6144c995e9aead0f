"""``rankscope power``."""

from __future__ import annotations

import math
from typing import Any

import click

from rankscope.cli.options import (
    ALPHA,
    SEED,
    TARGET,
    check_standard_input,
    format_option,
    measures_option,
)
from rankscope.cli.output import emit

SCHEMA = "rankscope/power/1"
"""What ``--format json`` prints."""


@click.command()
@click.argument("files", nargs=-1, metavar="[QRELS RUN RUN]")
@measures_option("Repeatable. [default: nDCG@10]")
@click.option("--difference", type=float, help="A true difference that should be seen.")
@click.option("--sd", type=float, help="Standard deviation of the difference from query to query.")
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    multiple=True,
    help="With --sd: what so many queries can show. Repeatable.",
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
@SEED
@format_option()
@TARGET
def power(
    *,
    files: tuple[str, ...],
    measures: tuple[str, ...],
    difference: float | None,
    sd: float | None,
    queries: tuple[int, ...],
    alpha: float,
    wanted: float,
    seed: int,
    format: str,
    target: str | None,
) -> None:
    """Say which differences so many queries can show, and how many a difference needs.

    From the scores of two runs (QRELS RUN RUN), by the paired t formula and by simulation, or from
    assumptions alone: --sd with --difference, --queries or both. All for two-sided tests.

    For example: rankscope power qrels.txt a.run b.run --difference 0.03, or, without runs,
    rankscope power --sd 0.2 --difference 0.03 --queries 9 --queries 50.
    """
    if difference is not None and not (math.isfinite(difference) and difference):
        raise click.UsageError("--difference must be a finite number other than 0")
    output = {"format": format, "target": target}
    if sd is None:
        if len(files) != 3:
            raise click.UsageError("give QRELS and two RUNs, or --sd to reckon from assumptions")
        if queries:
            raise click.UsageError("--queries goes with --sd; with runs their queries are counted")
        options = {"target": difference, "alpha": alpha, "power": wanted, "seed": seed}
        _from_scores(files, measures or ("nDCG@10",), options, output)
        return
    if files or measures:
        raise click.UsageError("--sd replaces files and measures; give one or the other")
    if difference is None and not queries:
        raise click.UsageError("--sd needs --difference or --queries beside it")
    if not (math.isfinite(sd) and sd > 0):
        raise click.UsageError("--sd must be a finite number above 0, such as 0.2")
    _from_assumptions(queries, difference, {"sd": sd, "alpha": alpha}, wanted, output)


def _from_scores(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    options: dict[str, Any],
    output: dict[str, Any],
) -> None:
    from rankscope.measures.language import parse_measures
    from rankscope.reports.power_report import power_document
    from rankscope.statistics.comparable import Pairs, take_records
    from rankscope.statistics.power import power_report

    check_standard_input(*files)
    qrels, baseline, candidate = files
    asked = parse_measures(measures)
    pairs = Pairs.of(*take_records(baseline, candidate, asked, qrels=qrels), asked)
    reports = {
        str(measure): power_report(row, **options)
        for measure, row in zip(pairs.measures, pairs.differences, strict=True)
    }
    emit(
        power_document(reports, pairs.names),
        data=lambda: {
            "schema": SCHEMA,
            "runs": list(pairs.names),
            "queries": len(pairs.query_ids),
            "seed": options["seed"],
            "measures": {name: report.to_dict() for name, report in reports.items()},
        },
        **output,
    )


def _from_assumptions(
    queries: tuple[int, ...],
    difference: float | None,
    known: dict[str, Any],
    power: float,
    output: dict[str, Any],
) -> None:
    from rankscope.reports.power_report import assumptions_document
    from rankscope.statistics.power import detectable_difference, power_for, queries_needed

    sizes = []
    for n in dict.fromkeys(queries):
        smallest = detectable_difference(n=n, power=power, **known)
        sizes.append(
            {
                "queries": n,
                "detectable": smallest if math.isfinite(smallest) else None,
                "power": None if difference is None else power_for(difference, n=n, **known),
            }
        )
    answer = {
        "schema": SCHEMA,
        **known,
        "power": power,
        "difference": difference,
        "needed": None if difference is None else queries_needed(difference, power=power, **known),
        "sizes": sizes,
    }
    emit(assumptions_document(answer), data=lambda: answer, **output)
