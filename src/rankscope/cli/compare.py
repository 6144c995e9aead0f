"""``rankscope compare``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli import shared
from rankscope.cli.help import Pairs, command, merged, option, rare, under
from rankscope.cli.output import METRICS, Output, page_contents
from rankscope.statistics.choices import CORRECTIONS, FAMILIES, METHODS


@command(
    "rankscope compare demo/qrels.tsv demo/lexical.run demo/hybrid.run --baseline lexical",
    "rankscope compare demo/qrels.tsv demo/lexical.run demo/hybrid.run --html page.html",
)
@click.argument("qrels")
@click.argument("run", nargs=-1, required=True)
@shared.measures_option()
@shared.PROFILE
@under(
    "Statistics",
    option("--baseline NAME", "Compare with this run only  [default: all pairs]"),
    option("--margin VALUE", "Treat differences up to VALUE as equivalent"),
    shared.TEST,
    rare(
        "--correction NAME", "Correct p-values for their number", one_of=CORRECTIONS, default="holm"
    ),
    rare(
        "--family NAME",
        "Correct together the p-values of a measure, or all",
        one_of=FAMILIES,
        default="measure",
    ),
    rare("--alpha P", "Chance of a false alarm; intervals of differences have 1 - P", default=0.05),
    rare("--interval NAME", "Intervals of means", one_of=METHODS, default="auto"),
    rare("--level SHARE", "Confidence of the intervals of means", default=0.95),
    shared.RESAMPLES,
    shared.SEED,
    rare(
        "--seeds NAME=RUN,RUN",
        "Treat these runs as one system with several seeds or folds (repeatable)",
        multiple=True,
        type=Pairs("NAME=RUN,RUN such as dense=dense-1,dense-2", lambda runs: runs.split(",")),
        callback=merged,
    ),
    shared.QUERY_FIELDS,
)
@rare("--intersect", "Compare only on questions that all runs have", "Scoring")
@option("--corpus FILE", "Show document titles and texts on the page", "Output")
@shared.PIECES
@shared.output_options(METRICS)
@shared.PAGE
def compare(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: str | None,
    intersect: bool,
    seeds: dict[str, list[str]],
    queries_file: str | None,
    cluster: str | None,
    weights: str | None,
    corpus: str | None,
    scoring: dict[str, Any],
    output: Output,
    **options: Any,
) -> None:
    """Test whether one RUN is really better than another.

    Each difference has an interval and a p-value corrected for the number of comparisons. Where the
    data can't tell, you see how large a difference it could have shown. Name a run with NAME=RUN.
    """
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.scoring_options import Scoring
    from rankscope.statistics.comparison import compare_scores
    from rankscope.statistics.settings import Settings

    fields = shared.query_fields(queries_file, cluster=cluster, weights=weights)
    settings = Settings.of(**options)
    scored = score(
        qrels,
        shared.named_runs(run),
        list(measures) or None,
        Scoring.of("compare", {**scoring, "queries": "both" if intersect else None}),
    )
    comparison = compare_scores(
        scored.scores,
        baseline=baseline,
        settings=settings,
        clusters=fields["cluster"],
        weights=fields["weights"],
        seeds=seeds,
    )
    output.write(
        comparison,
        contents=lambda: page_contents(
            scored,
            output,
            golden=qrels,
            queries=queries_file,
            corpus=corpus,
            baseline=comparison.baseline,
        ),
    )
