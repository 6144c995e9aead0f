"""``rankscope trec-eval``: a drop-in for trec_eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rankscope.scoring.trec_eval import Relevance


@click.command("trec-eval")
@click.argument("qrels")
@click.argument("results")
@click.option("-q", "per_query", is_flag=True, help="Print the values of each query too.")
@click.option("-c", "complete", is_flag=True, help="Average over all judged queries.")
@click.option("-n", "no_summary", is_flag=True, help="Print no summary.")
@click.option("-M", "depth", type=click.IntRange(min=1), help="Look at the first M documents.")
@click.option("-l", "level", type=int, default=1, show_default=True, help="Relevant from here up.")
@click.option("-J", "judged_only", is_flag=True, help="Remove unjudged documents first.")
@click.option("-m", "measures", multiple=True, metavar="MEASURE", help="Repeatable.")
@click.option("-Z", "zscores", metavar="FILE", help="Standardise by the means and deviations.")
@click.option(
    "-R",
    "relevance",
    type=click.Choice(["qrels", "prefs", "qrels_prefs", "qrels_jg"]),
    default="qrels",
    help="What QRELS holds: grades, preferences, or grades by judgment group.",
)
@click.option("-T", "results_format", default="trec_results", metavar="FORMAT", hidden=True)
@click.option("--9", "version_9", is_flag=True, help="Compute as version 9: single precision.")
def trec_eval(
    *,
    qrels: str,
    results: str,
    per_query: bool,
    complete: bool,
    no_summary: bool,
    depth: int | None,
    level: int,
    judged_only: bool,
    measures: tuple[str, ...],
    zscores: str | None,
    relevance: Relevance,
    results_format: str,
    version_9: bool,
) -> None:
    """Print, byte for byte, what trec_eval 10 prints for QRELS and RESULTS."""
    from rankscope.errors import InputError
    from rankscope.scoring.trec_eval import Options, trec_eval_lines

    if results_format != "trec_results":
        raise InputError(
            f"trec-eval: the format {results_format} is not supported; only trec_results is"
        )
    options = Options(
        measures=measures or ("official",),
        per_query=per_query,
        complete=complete,
        depth=depth,
        level=level,
        judged_only=judged_only,
        summary=not no_summary,
        zscores=zscores,
        relevance=relevance,
        version=9 if version_9 else 10,
    )
    printed: list[str] = []
    try:
        for line in trec_eval_lines(qrels, results, options):
            printed.append(line + "\n")  # noqa: PERF401  (what came before an error is printed)
    finally:
        click.echo("".join(printed), nl=False)
