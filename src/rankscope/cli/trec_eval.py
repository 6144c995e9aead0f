"""``rankscope trec-eval``: a drop-in for trec_eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope import __version__
from rankscope.cli.options import MAX_SIZE
from rankscope.printing import put

if TYPE_CHECKING:
    from rankscope.scoring.trec_eval import Relevance


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"trec_eval version 10.0 as printed by rankscope {__version__}", err=True)
        context.exit()


@click.command("trec-eval")
@click.argument("qrels")
@click.argument("results")
@click.option(
    "-q",
    "--query_eval_wanted",
    "per_query",
    is_flag=True,
    help="Print the values of each query too.",
)
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries.",
)
@click.option("-n", "--nosummary", "no_summary", is_flag=True, help="Print no summary.")
@click.option(
    "-M",
    "--Max_retrieved_per_topic",
    "depth",
    type=click.IntRange(min=0),
    help="Look at the first M documents.",
)
@click.option(
    "-l",
    "--level_for_rel",
    "level",
    type=int,
    default=1,
    show_default=True,
    help="Relevant from here up.",
)
@click.option(
    "-J", "--Judged_docs_only", "judged_only", is_flag=True, help="Remove unjudged documents first."
)
@click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="Repeatable.")
@click.option(
    "-Z", "--Zscore", "zscores", metavar="FILE", help="Standardise by the means and deviations."
)
@click.option(
    "-N",
    "--Number_docs_in_coll",
    "collection",
    type=click.IntRange(min=0),
    default=0,
    help="How many documents there are, for the fourth weight of utility.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    "relevance",
    type=click.Choice(["qrels", "prefs", "qrels_prefs", "qrels_jg"]),
    default="qrels",
    help="What QRELS holds: grades, preferences, or grades by judgment group.",
)
@click.option(
    "-T",
    "--Results_format",
    "results_format",
    type=click.Choice(["trec_results"]),
    default="trec_results",
    hidden=True,
)
@click.option("-D", "--Debug_level", "debugging", default="0", metavar="LEVEL", hidden=True)
@click.option("-o", "old_format", is_flag=True, hidden=True, expose_value=False)
@click.option("--9", "version_9", is_flag=True, help="Compute as version 9: single precision.")
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show which trec_eval this is, and exit.",
)
@MAX_SIZE
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
    collection: int,
    relevance: Relevance,
    results_format: str,  # noqa: ARG001  (there is one)
    debugging: str,
    version_9: bool,
) -> None:
    """Print, byte for byte, what trec_eval 10 prints for QRELS and RESULTS.

    Version 9 (--9) compares scores in single precision and leaves out judged queries that the
    results lack. The versions also round differently: iprec_at_recall and 11pt_avg look at
    r * R relevant documents, to which version 9 adds 0.9 and drops the fraction; version 10 rounds.

    NIST's version 10 scales the gains of rbp by variables it never sets. What it prints for rbp,
    also in -m all_trec, therefore depends on its build; here the lowest gain counts as 0.
    """
    from rankscope.errors import InputError
    from rankscope.scoring.trec_eval import Options, trec_eval_lines

    if debugging != "0":
        raise InputError(
            f"trec-eval: -D {debugging} is not supported; `rankscope explain` shows how one query "
            "is scored"
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
        collection=collection,
        relevance=relevance,
        version=9 if version_9 else 10,
    )
    printed: list[str] = []
    try:
        for line in trec_eval_lines(qrels, results, options):
            printed.append(line + "\n")  # noqa: PERF401  (what came before an error is printed)
    finally:
        put("".join(printed))
