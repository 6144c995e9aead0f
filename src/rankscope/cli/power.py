"""``rankscope power``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option
from rankscope.cli.output import Output


@command(
    "rankscope power demo/qrels.tsv demo/lexical.run demo/hybrid.run --difference 0.03",
    "rankscope power --sd 0.2 --difference 0.03",
)
@click.argument("files", nargs=-1, metavar="[QRELS RUN RUN]")
@option("--difference VALUE", "Plan for a true difference of VALUE")
@option("--sd VALUE", "Standard deviation of differences, in place of files")
@option(
    "--queries N",
    "Show what N questions can tell (repeatable)  [default: 9, 50, 200, 500]",
    multiple=True,
)
@option("--power wanted P", "Probability of seeing a true difference", default=0.8)
@shared.measures_option("[default: nDCG@10]")
@shared.ALPHA
@shared.ORDER
@shared.JUDGMENTS
@shared.output_options()
def power(
    *,
    files: tuple[str, ...],
    difference: float | None,
    sd: float | None,
    queries: tuple[int, ...],
    wanted: float,
    measures: tuple[str, ...],
    alpha: float,
    scoring: dict[str, Any],
    output: Output,
) -> None:
    """Find out how many questions you need to see a difference.

    Give judgments and two runs, or assume a standard deviation with --sd. The answer is for a
    two-sided paired t test.
    """
    if sd is None:
        if len(files) != 3:
            raise click.UsageError("give QRELS and two RUNs, or --sd to reckon from assumptions")
        from rankscope.statistics.power import power as find

        settings: Any = {"target": difference, "alpha": alpha, "power": wanted, **scoring}
        if queries:
            settings["sizes"] = queries
        output.write(find(*files, measures or "nDCG@10", **settings))
        return
    if files or measures:
        raise click.UsageError("--sd replaces files and measures; give one or the other")
    from rankscope.statistics.power import SIZES, plan_power

    sizes = queries or SIZES
    plan = plan_power(sd=sd, difference=difference, queries=sizes, alpha=alpha, power=wanted)
    output.write(plan)
