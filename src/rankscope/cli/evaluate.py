"""``rankscope evaluate``."""

from __future__ import annotations

from dataclasses import replace
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
    TARGET,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    named_runs,
    ontology_options,
    page_options,
    table_options,
)
from rankscope.cli.output import METRICS, emit, print_warnings, write_text
from rankscope.cli.page_contents import page_contents
from rankscope.cli.scaling import Scaling, scale_options


@click.command()
@click.argument("qrels")
@click.argument("run", nargs=-1)
@measures_option(
    "Repeatable, in anybody's notation: nDCG@10, ndcg_cut_10, MRR@10, 'nDCG(gain=exp)@10'. "
    f"{DEFAULTS}"
)
@click.option("--per-query", is_flag=True, help="The value of every query, not only the mean.")
@click.option(
    "--worst",
    type=click.IntRange(1),
    metavar="N",
    help="List the N queries with the worst values of the first measure.",
)
@click.option("--queries", metavar="FILE", help="Texts of the queries, for --worst and html.")
@click.option(
    "--intervals/--no-intervals",
    default=None,
    help="The 95% confidence interval of each mean, in tables  [default: up to 2,000 queries]",
)
@click.option(
    "--fail-under",
    multiple=True,
    metavar="[RUN:]MEASURE=VALUE",
    help="Exit with 1 if the mean of this run (without one: of any run) is worse (repeatable).",
)
@format_option("trec", METRICS)
@page_options
@PROFILE
@click.option(
    "--ties",
    type=click.Choice(["trec", "id-asc", "given"]),
    help="Among equal scores: the higher id first, the lower id first, or as given.",
)
@click.option(
    "--intersect", is_flag=True, help="Leave judged queries the run lacks out of the mean."
)
@click.option(
    "--bounds", is_flag=True, help="How far ties and unjudged documents could move a mean."
)
@click.option(
    "--hole-grade",
    type=float,
    default=1.0,
    show_default=True,
    help="With --bounds: the grade unjudged documents are given.",
)
@ORDER
@click.option(
    "--corpus",
    metavar="FILE",
    help="The documents there are; gold outside is named. Where gold is spans or texts, the "
    "chunks that runs name by id.",
)
@MAX_SYSTEMS
@TARGET
@table_options
@NO_ANSWER
@RELEVANCE_LEVEL
@OVERLAP
@ontology_options
@LANGUAGE
@MAX_SIZE
@scale_options
def evaluate(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    worst: int | None,
    queries: str | None,
    intervals: bool | None,
    fail_under: tuple[str, ...],
    format: str,
    profile: str,
    ties: Any,
    intersect: bool,
    bounds: bool,
    hole_grade: float,
    order: Any,
    corpus: str | None,
    max_systems: int | None,
    target: str | None,
    ontology: Any,
    top: int | None,
    text: bool,
    workers: int | None,
    cluster: str | None,
    per_query_output: str | None,
) -> int:
    """Score each RUN against the judgments in QRELS.

    One table may hold both, the relevant and the retrieved documents of each query in columns of
    their own; then it is given once.

    NAME=RUN gives a run another name than its tag or file has. A folder, or a pattern in quotes
    ('parts/*.trec'), is one run in several files.

    A query that is judged and missing from a run counts as 0; how many there are is always said.
    A run that shares no query or no document with the qrels is an error, as is an empty one.
    """
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER
    from rankscope.document.views import document_of
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.reports.scores import scores_as_trec
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.inputs import as_judgments, read_inputs
    from rankscope.scoring.limits import read_limits
    from rankscope.scoring.options import Scoring

    check_standard_input(qrels, *run, corpus, queries)
    for option, is_given in (("--worst", worst is not None), ("--intervals", bool(intervals))):
        if is_given and format in ("csv", "json", "trec"):
            raise click.UsageError(f"{option} is for tables; {format} takes --per-query")
    more = (("--worst", worst is not None), ("--per-query", per_query), ("--bounds", bounds))
    for option, is_given in more:
        if is_given and format == METRICS:
            raise click.UsageError(f"{option} is not for metrics, which are means and intervals")
    asked = list(measures or DEFAULT_MEASURES)
    with Scaling(workers, cluster, per_query_output) as scaling:
        options: dict[str, Any] = {
            **given_options(), "profile": profile, "ties": ties, "order": order, "corpus": corpus,
            "queries": "both" if intersect else None, "ontology": ontology,
            "executor": scaling.executor,
        }  # fmt: skip
        scoring = Scoring.of("evaluate", options)
        given, gold = (
            named_runs(run) or None,
            as_judgments(qrels, scoring) if scaling.is_on else qrels,
        )
        question = scaling.question(gold, scoring)
        files = None if question is None or not given else scaling.named(given, question)
        judgments, runs, _ = (gold, files, 0) if files else read_inputs(gold, given, scoring)
        limits = read_limits(fail_under, runs, profile=profile)
        asked += [limit.asked for limit in limits]
        if files and question is not None:
            wants_bounds = bounds or format not in ("csv", METRICS, "trec")
            holes = {"holes": bounds, "hole_grade": hole_grade} if wants_bounds else None
            runs = scaling.scored(files, replace(question, measures=tuple(asked), bounds=holes))
        scored = score(judgments, runs, asked, scoring)
        scores = scored.scores
        if not files:
            scaling.write(scores)
    missed = [
        sentence
        for limit in limits
        for sentence in limit.missed({name: scores.run(name).means for name in scores.runs})
    ]
    status = CANNOT_ANSWER if scaling.broken else ANSWER_IS_NO if missed else 0
    if format == "trec":
        print_warnings(document_of(scores, intervals=False).warnings)
        write_text(scores_as_trec(scores, per_query=per_query), target)
        print_warnings(missed)
        return status
    bounds_by_run = {
        name: getattr(system, "bounds", None)
        or _bounds(judgments, system, asked, scoring, holes=bounds, hole_grade=hole_grade)
        for name, system in runs.items()
        if bounds or (format not in ("csv", METRICS) and scores.run(name).accounting.tied_hits)
    }
    emit(
        scores,
        format=format,
        target=target,
        data=lambda: scores.record(per_query=per_query, bounds=bounds_by_run).to_dict(),
        metrics={"intervals": intervals is not False},
        per_query=per_query,
        bounds=bounds_by_run,
        intervals=False if format == "csv" else intervals,
        worst=worst or 0,
        max_systems=max_systems,
        texts=_texts(queries, qrels) if worst and text else None,
        contents=lambda: page_contents(
            scored, queries=queries or qrels, corpus=corpus, top=top, with_text=text
        ),
        answers=runs,
    )
    print_warnings(missed)
    return status


def _bounds(*run: Any, **options: Any) -> Any:
    """Find the bounds of one run; loaded only where they are asked for."""
    from rankscope.scoring.bounds import bounds_of

    return bounds_of(*run, **options)


def _texts(queries: str | None, qrels: str) -> dict[str, str]:
    """Return the texts of queries: from their file, or from a golden set."""
    from rankscope.collection.queries import read_queries
    from rankscope.retrieval.golden import texts_in

    if queries is None:
        return texts_in(qrels)
    table = read_queries(queries)
    return {query_id: table[query_id] for query_id in table}
