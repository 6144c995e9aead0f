"""``rankscope trec-eval``: a drop-in for trec_eval."""

from __future__ import annotations

from typing import Any

import click

from rankscope import __version__
from rankscope.cli.help import command, option
from rankscope.printing import put


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"trec_eval version 10.0 as printed by rankscope {__version__}", err=True)
        context.exit()


@command(
    "rankscope convert demo/qrels.tsv qrels.trec",
    "rankscope trec-eval qrels.trec demo/lexical.run -m map -m ndcg_cut.10",
    name="trec-eval",
)
@click.argument("qrels")
@click.argument("results")
@option("-q --query_eval_wanted per_query", "Print every query's values too")
@option("-c --complete_rel_info_wanted complete", "Average over all judged queries")
@option("-n --nosummary no_summary", "Print no summary")
@option("-M --Max_retrieved_per_topic depth N", "Use the first N documents", type=click.IntRange(0))
@option("-l --level_for_rel level GRADE", "Lowest relevant grade", type=int, default=1)
@option("-J --Judged_docs_only judged_only", "Remove unjudged documents first")
@option("-m --measure measures NAME", "Measure (repeatable)", multiple=True)
@option("-Z --Zscore zscores FILE", "Standardise by these means and deviations")
@option(
    "-N --Number_docs_in_coll collection N",
    "Documents in the collection, for the fourth weight of utility",
    type=click.IntRange(0),
    default=0,
)
@option(
    "-R --Rel_info_format relevance FORMAT",
    "What QRELS hold",
    one_of=["qrels", "prefs", "qrels_prefs", "qrels_jg"],
    default="qrels",
)
@option("--9 version_9", "Compute as version 9: single precision")
@option(
    "-v --version",
    "Show which trec_eval this is",
    is_eager=True,
    expose_value=False,
    callback=_print_version,
)
def trec_eval(
    *,
    qrels: str,
    results: str,
    measures: tuple[str, ...],
    no_summary: bool,
    version_9: bool,
    **options: Any,
) -> None:
    """Print exactly what trec_eval prints for QRELS and RESULTS.

    That is version 10, or 9 with --9, which compares scores in single precision and leaves out
    judged queries that the results lack. The versions also round iprec_at_recall and 11pt_avg
    differently. NIST's version 10 never sets the gains of rbp; here the lowest one counts as 0.
    """
    from rankscope.scoring.trec_eval import Options, trec_eval_lines

    asked = Options(
        measures=measures or ("official",),
        summary=not no_summary,
        version=9 if version_9 else 10,
        **options,
    )
    for line in trec_eval_lines(qrels, results, asked):
        put(f"{line}\n")
