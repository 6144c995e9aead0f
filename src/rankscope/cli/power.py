"""``rankscope power``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import make_console, print_json, visible
from rankscope.errors import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rankscope.statistics.power import Power, PowerPlan, PowerReport

__all__ = ["power"]


@click.command()
@click.argument("files", nargs=-1, metavar="[QRELS RUN RUN]")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Repeatable. [default: nDCG@10]",
)
@click.option("--difference", type=float, help="A true difference that should be seen.")
@click.option("--sd", type=float, help="Standard deviation of the difference from query to query.")
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    multiple=True,
    help="With --sd: what so many queries can show. Repeatable.",
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="A p-value up to this counts."
)
@click.option(
    "--power",
    "wanted",
    type=float,
    default=0.8,
    show_default=True,
    help="The probability with which a true difference should be seen.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the simulation.")
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
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
    output: str,
) -> None:
    r"""Say which differences so many queries can show, and how many a difference needs.

    From the scores of two runs (QRELS RUN RUN), by the paired t formula and by simulation, or from
    assumptions alone: --sd with --difference, --queries or both. All for two-sided tests.

    \b
    rankscope power qrels.txt a.run b.run --difference 0.03
    rankscope power --sd 0.2 --difference 0.03 --queries 9 --queries 50
    """
    if difference is not None and not (math.isfinite(difference) and difference):
        raise click.UsageError("--difference must be a finite number other than 0")
    if sd is None:
        if len(files) != 3:
            raise click.UsageError("give QRELS and two RUNs, or --sd to reckon from assumptions")
        if queries:
            raise click.UsageError("--queries goes with --sd; with runs their queries are counted")
        _from_scores(
            files, measures or ("nDCG@10",), output,
            target=difference, alpha=alpha, power=wanted, seed=seed,
        )  # fmt: skip
        return
    if files or measures:
        raise click.UsageError("--sd replaces files and measures; give one or the other")
    if difference is None and not queries:
        raise click.UsageError("--sd needs --difference or --queries beside it")
    if not (math.isfinite(sd) and sd > 0):
        raise click.UsageError("--sd must be a finite number above 0, such as 0.2")
    _from_assumptions(
        output, sd=sd, difference=difference, queries=queries, alpha=alpha, power=wanted
    )


# --- from scores ---------------------------------------------------------------------------------


def _from_scores(
    files: tuple[str, ...], measures: tuple[str, ...], output: str, **options: Any
) -> None:
    from rankscope.statistics.power import power as find

    if files.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only; name files for the rest")
    qrels, baseline, candidate = files
    report = find(qrels, baseline, candidate, measures, **options)
    if output == "json":
        print_json(report.to_dict())
        return
    _show_reports(report, make_console())


def _show_reports(whole: PowerReport, console: Console) -> None:
    from rich.text import Text

    for name, report in whole.measures.items():
        head = f"{name}: {whole.runs[1]} minus {whole.runs[0]} is {report.observed:+.4f}"
        spread = f", standard deviation {report.sd:.4f} over {counted(report.n, 'query')}"
        console.print(Text(visible(head + spread), style="bold"), overflow="fold")
        if report.sd:
            console.print(_answers(report))
        else:
            why = "one query has no spread" if report.n == 1 else "the difference never varies"
            said = f"{why}, so nothing can be said about what could be seen"
            console.print(Text(said, style="yellow"))
        console.print()
    said = (
        "two-sided paired t test; simulation: queries drawn from these, moved to the difference in "
        "question; the observed difference is not the true one, so its probability is a rough guide"
    )
    console.print(Text(said, style="dim"))


def _answers(report: Power) -> Table:
    from rich.table import Table

    from rankscope.statistics.sentences import percent

    likely = percent(report.power)
    rows: list[tuple[str, Any, str]] = [
        (f"smallest difference seen with {likely} probability", report.detectable, ".4f"),
        ("probability to see the observed difference", report.power_observed, ".3f"),
    ]
    if report.needed is not None:
        target = f"queries that show a difference of {report.target:g}"
        rows.append((f"{target} with {likely} probability", report.needed, ",.0f"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("")
    for title in ("formula", "simulation"):
        table.add_column(title, justify="right", no_wrap=True)
    for title, estimate, how in rows:
        table.add_row(title, _number(estimate.formula, how), _number(estimate.simulation, how))
    return table


def _number(value: float | None, how: str) -> str:
    if value is None:
        return "too many to simulate"
    return format(value, how) if math.isfinite(value) else "none"


# --- from assumptions ----------------------------------------------------------------------------


def _from_assumptions(output: str, **options: Any) -> None:
    from rankscope.statistics.power import plan_power

    plan = plan_power(**options)
    if output == "json":
        print_json(plan.to_dict())
    else:
        _show_assumptions(plan, make_console())


def _show_assumptions(plan: PowerPlan, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from rankscope.statistics.sentences import percent

    difference, likely = plan.difference, percent(plan.power)
    if plan.sizes:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        titles = ["queries", f"smallest difference seen ({likely})"]
        titles += [] if difference is None else [f"probability to see {difference:g}"]
        for title in titles:
            table.add_column(title, justify="right", no_wrap=True)
        for size in plan.sizes:
            cells = [f"{size.queries:,}", _number(size.detectable, ".4f")]
            cells += [] if size.power is None else [f"{size.power:.3f}"]
            table.add_row(*cells)
        console.print(table)
        console.print()
    if plan.needed is not None:
        said = (
            f"A true difference of {difference:g} is seen with {likely} probability from "
            f"{counted(plan.needed, 'query')} on."
        )
        console.print(Text(said, style="bold"))
    how = (
        f"two-sided paired t test at {plan.alpha:g}, standard deviation of the differences "
        f"{plan.sd:g}"
    )
    console.print(Text(how, style="dim"))
