"""``rankscope gate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import Pairs, command, merged, option, rare, under
from rankscope.cli.output import METRICS, Output, write_file

if TYPE_CHECKING:
    from rankscope.document.blocks import Document


@command(
    "rankscope gate demo/lexical.run demo/hybrid.run --qrels demo/qrels.tsv --max-drop 0.02",
    takes="[--qrels QRELS] [OPTIONS]",
)
@click.argument("baseline")
@click.argument("candidate")
@shared.measures_option("[default: all that both sides hold]")
@under(
    "Scoring",
    option("--qrels FILE", "Judgments, if a side is a run and no score file"),
    rare(
        "--missing RULE",
        "Questions that only BASELINE answers",
        one_of=["refuse", "zero"],
        default="refuse",
    ),
    rare("--baseline-run NAME", "Run to take from BASELINE, of several in a score file"),
    rare("--candidate-run NAME", "Run to take from CANDIDATE"),
)
@under(
    "Statistics",
    option("--max-drop VALUE", "Tolerate a drop up to VALUE", default=0.01),
    option(
        "--min minimum M=VALUE",
        "Fail if the candidate's mean is below VALUE (repeatable)",
        multiple=True,
        type=Pairs("MEASURE=VALUE such as nDCG@10=0.4", float),
        callback=merged,
    ),
    rare("--max-query-drop VALUE", "Most that one question may lose"),
    option(
        "--cant-tell ANSWER",
        "Answer where the data can't tell",
        one_of=["pass", "fail"],
        default="pass",
    ),
    rare(
        "--noise FILE",
        "Repeated runs of one system, two or more; they widen the intervals",
        multiple=True,
    ),
    rare(
        "--power P",
        "Probability for which visible drops and numbers of questions are given",
        default=0.8,
    ),
    shared.RARE_TEST,
    shared.ALPHA,
    shared.RESAMPLES,
    shared.SEED,
    shared.QUERY_FIELDS,
)
@shared.PROFILE
@shared.PIECES
@option("--junit FILE", "Write JUnit XML: a test case for each measure", "Output")
@rare("--markdown FILE", "Write Markdown for a pull request's comment", "Output")
@shared.output_options(METRICS)
def gate(
    *,
    baseline: str,
    candidate: str,
    measures: tuple[str, ...],
    queries_file: str | None,
    cluster: str | None,
    weights: str | None,
    junit: str | None,
    markdown: str | None,
    scoring: dict[str, Any],
    output: Output,
    **options: Any,
) -> int:
    """Fail a build when search gets worse: by more than the margin, and more than by chance.

    BASELINE and CANDIDATE are score files (rankscope evaluate --per-query --format json) or, with
    --qrels, runs. Exit 1 for a regression, 0 for none, 2 if the two can't be compared.
    """
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.collection.queries import read_queries
    from rankscope.errors import RankscopeError
    from rankscope.reports.gating import gate_document, no_answer_document
    from rankscope.statistics.gate import gate as decide

    if "-" in (junit, markdown):
        raise click.UsageError("standard output is for the table; name a file for the report")
    fields = shared.query_fields(queries_file, cluster=cluster, weights=weights)
    texts = {} if queries_file is None else dict(read_queries(queries_file).items())
    try:
        result = decide(
            shared.named_run(baseline),
            shared.named_run(candidate),
            measures or None,
            clusters=fields["cluster"],
            weights=fields["weights"],
            **options,
            **scoring,
        )
        document = gate_document(result, texts=texts)
        _write_reports(document, junit, markdown)
        if output.format == "markdown":
            output.put([_comment(document)])
        else:
            output.write(result, texts=texts)
    except RankscopeError as error:  # a report of an earlier day must not stay and be believed
        _write_reports(no_answer_document(str(error)), junit, markdown)
        raise
    return 0 if result.passed else ANSWER_IS_NO


def _comment(document: Document) -> str:
    """Return Markdown for a comment, in which no name is markup or mentions somebody."""
    from rankscope.document.markdown import as_markdown

    return as_markdown(document, level=3, names_as_code=True)


def _write_reports(document: Document, junit: str | None, markdown: str | None) -> None:
    from rankscope.document.junit import as_junit
    from rankscope.reports.gating import SUITE

    if junit is not None:
        write_file(junit, as_junit(document, suite=SUITE))
    if markdown is not None:
        write_file(markdown, _comment(document))
