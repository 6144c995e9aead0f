"""``rankscope compare``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli.options import (
    DEFAULTS,
    LANGUAGE,
    MAX_SIZE,
    MAX_SYSTEMS,
    NO_ANSWER,
    ORDER,
    OVERLAP,
    PROFILE,
    RELEVANCE_LEVEL,
    RESAMPLES,
    SEED,
    TARGET,
    Names,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    named_runs,
    ontology_options,
    page_options,
    query_field_options,
    query_fields,
    table_options,
)
from rankscope.cli.output import METRICS, emit
from rankscope.cli.page_contents import page_contents
from rankscope.statistics.choices import CORRECTIONS, FAMILIES, METHODS, TESTS


@click.command()
@click.argument("qrels")
@click.argument("run", nargs=-1, required=True)
@click.option("--baseline", metavar="NAME", help="Compare with this run only. [default: all pairs]")
@measures_option(f"Repeatable. {DEFAULTS}")
@click.option(
    "--test",
    type=Names("test", TESTS),
    default="t",
    show_default=True,
    help="The paired test; t is the sign test for values 0 and 1.",
)
@click.option(
    "--correction",
    type=Names("correction", CORRECTIONS),
    default="holm",
    show_default=True,
    help="How p-values are corrected for how many there are.",
)
@click.option(
    "--family",
    type=Names("family", FAMILIES),
    default="measure",
    show_default=True,
    help="What is corrected together: the pairs of each measure, or all.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Chance of a false alarm.")
@click.option(
    "--interval",
    type=Names("interval method", METHODS),
    default="auto",
    show_default=True,
    help="How intervals of means are found; auto: t, from 25 queries on bca, Wilson for 0 and 1.",
)
@click.option(
    "--level",
    default=0.95,
    show_default=True,
    help="Confidence of intervals of means; those of differences have 1 - alpha.",
)
@RESAMPLES
@SEED
@click.option(
    "--margin", type=float, help="Differences within it do not matter; shows equivalence."
)
@PROFILE
@ORDER
@click.option("--intersect", is_flag=True, help="Only queries that all runs have.")
@click.option(
    "--seeds",
    multiple=True,
    metavar="NAME=RUN,RUN",
    help="Repeatable: which RUNs, by their names in the table, are one system (seeds, folds).",
)
@query_field_options
@click.option("--by", metavar="FIELD", help="Compare within each value of this field of --queries.")
@click.option("--corpus", metavar="FILE", help="In html, titles and texts of the documents.")
@format_option(METRICS)
@page_options
@MAX_SYSTEMS
@TARGET
@table_options
@NO_ANSWER
@RELEVANCE_LEVEL
@OVERLAP
@ontology_options
@LANGUAGE
@MAX_SIZE
def compare(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: str | None,
    intersect: bool,
    seeds: tuple[str, ...],
    queries_file: str | None,
    cluster: str | None,
    weights: str | None,
    by: str | None,
    corpus: str | None,
    format: str,
    top: int | None,
    text: bool,
    max_systems: int | None,
    target: str | None,
    **options: Any,
) -> None:
    """Say whether one RUN is really better than another.

    Differences with intervals, paired tests corrected for how many there are, effect sizes, and a
    verdict; where the data cannot tell, how large a difference they could have shown. NAME=RUN
    gives a run another name than its tag or file has.
    """
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.options import Scoring
    from rankscope.statistics.comparison import compare_scores
    from rankscope.statistics.settings import Settings

    check_standard_input(qrels, *run, queries_file, corpus)
    is_page = format == "html"
    fields = query_fields(queries_file, texts=is_page, by=by, cluster=cluster, weights=weights)
    rules = {name: options.pop(name) for name in ("profile", "order", "ontology")}
    rules |= {"queries": "both" if intersect else None, **given_options()}
    settings = Settings.of(**options)
    scored = score(
        qrels,
        named_runs(run),
        list(measures or DEFAULT_MEASURES),
        Scoring.of("compare", rules),
    )
    comparison = compare_scores(
        scored.scores,
        baseline=baseline,
        settings=settings,
        strata=fields["by"],
        clusters=fields["cluster"],
        weights=fields["weights"],
        seeds=_seeds(seeds),
    )
    emit(
        comparison,
        format=format,
        target=target,
        max_systems=max_systems,
        contents=lambda: page_contents(
            scored,
            queries=queries_file or qrels,
            corpus=corpus,
            top=top,
            with_text=text,
            baseline=comparison.baseline,
        ),
    )


def _seeds(settings: tuple[str, ...]) -> dict[str, list[str]]:
    """Return for each system the names of its runs."""
    runs = {}
    for setting in settings:
        name, sign, names = setting.partition("=")
        if not sign or not name or not names:
            raise click.UsageError("--seeds must be NAME=RUN,RUN, such as dense=dense-1,dense-2")
        runs[name] = names.split(",")
    return runs
