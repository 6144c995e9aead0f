"""``rankscope gate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from rankscope.cli.console import make_console, print_json, visible
from rankscope.cli.evaluate import PROFILES

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.statistics.gate import GateResult

__all__ = ["gate"]

TESTS = ("permutation", "bootstrap", "t", "wilcoxon", "sign")


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Repeatable; p-values are corrected over them. [default: nDCG@10]",
)
@click.option("--qrels", metavar="FILE", help="Judgments, where a side is a run and no score file.")
@click.option(
    "--max-drop",
    type=float,
    default=0.01,
    show_default=True,
    help="The margin: a drop up to this is tolerable.",
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="A p-value up to this counts."
)
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Warn unless a drop as large as the margin is seen with this probability.",
)
@click.option("--require-power", is_flag=True, help="Fail where there would be a warning.")
@click.option("--test", type=click.Choice(TESTS), default="permutation", show_default=True)
@click.option("--resamples", type=int, default=10_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Whose rules. [default: the score file's, or rankscope]",
)
@click.option("--run", metavar="NAME", help="The run to take from score files that hold several.")
@click.option("--baseline-run", metavar="NAME", help="Likewise, from BASELINE.")
@click.option("--candidate-run", metavar="NAME", help="Likewise, from CANDIDATE.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML: a test case for each measure.")
@click.option("--markdown", metavar="FILE", help="Write Markdown for a pull request's comment.")
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def gate(
    *,
    baseline: str,
    candidate: str,
    measures: tuple[str, ...],
    run: str | None,
    baseline_run: str | None,
    candidate_run: str | None,
    junit: str | None,
    markdown: str | None,
    output: str,
    **options: Any,
) -> int:
    """Fail if CANDIDATE is worse than BASELINE, by more than the margin and than chance.

    Each is a score file (rankscope evaluate QRELS RUN --per-query --format json -o FILE) or, with
    --qrels, a run. The test is two-sided, as in a comparison.

    Exit 0 if it passes, 1 if a drop is both significant and larger than the margin, 2 if the two
    cannot be compared: other judgments, queries or rules, or values missing.
    """
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.errors import RankscopeError
    from rankscope.reports import gating as reports
    from rankscope.statistics.gate import gate as decide

    if [baseline, candidate, options["qrels"]].count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only; name files for the rest")
    if "-" in (junit, markdown):
        raise click.UsageError("standard output is for the table; name a file for the report")
    try:
        result = decide(
            baseline,
            candidate,
            measures or "nDCG@10",
            baseline_run=baseline_run or run,
            candidate_run=candidate_run or run,
            **options,
        )
    except RankscopeError as error:  # a report of an earlier day must not stay and be believed
        _write(junit, reports.error_as_junit(str(error)))
        _write(markdown, reports.error_as_markdown(str(error)))
        raise
    _write(junit, reports.gate_as_junit(result))
    _write(markdown, reports.gate_as_markdown(result))
    if output == "json":
        print_json(result.to_dict())
    else:
        _show(result, make_console())
    return 0 if result.passed else ANSWER_IS_NO


def _write(path: str | None, text: str) -> None:
    from rankscope.files import replacing

    if path is not None:
        with replacing(path) as sink:
            sink.write(text.encode("utf-8", "replace"))


def _show(result: GateResult, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from rankscope.reports import gating as reports

    names = visible(f"{result.candidate} against {result.baseline}")
    console.print(Text(f"{names}, {result.queries:,} queries", style="bold"), overflow="fold")
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    head = reports.gate_head(result)
    for title in head:
        justify: Literal["left", "right"] = "left" if title in ("measure", "verdict") else "right"
        table.add_column(Text(title), justify=justify, overflow="fold", no_wrap=title != "measure")
    for check in result.checks:
        colour = "bold red" if check.verdict == "fail" else "green"
        *cells, verdict = reports.gate_cells(check)
        table.add_row(*map(Text, cells), Text(verdict, style=colour))
    console.print(table)
    console.print()
    colour = "bold green" if result.passed else "bold red"
    console.print(Text(reports.verdict_sentence(result), style=colour))
    for line in reports.remarks(result):
        console.print(Text(line, style="yellow" if line.startswith("warning") else "dim"))
    console.print(Text(reports.how_tested(result), style="dim"))
