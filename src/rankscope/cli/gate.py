"""``rankscope gate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.options import (
    ALPHA,
    LANGUAGE,
    MAX_SIZE,
    NO_ANSWER,
    ORDER,
    OVERLAP,
    RELEVANCE_LEVEL,
    RESAMPLES,
    SEED,
    TARGET,
    Names,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    named_run,
    ontology_options,
    query_field_options,
    query_fields,
    table_options,
)
from rankscope.cli.output import METRICS, emit, write_file, write_text
from rankscope.scoring.rules import PROFILES
from rankscope.statistics.choices import TESTS

if TYPE_CHECKING:
    from rankscope.document.blocks import Document


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@measures_option("Repeatable; intervals hold for all at once. [default: all that both sides hold]")
@click.option("--qrels", metavar="FILE", help="Judgments, where a side is a run and no score file.")
@click.option(
    "--max-drop",
    type=float,
    default=0.01,
    show_default=True,
    help="The margin: a drop up to this is tolerable.",
)
@click.option(
    "--cant-tell",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="Whether the build goes on where the data cannot tell.",
)
@click.option(
    "--min",
    "floors",
    multiple=True,
    metavar="MEASURE=VALUE",
    help="The least mean the candidate may have (repeatable).",
)
@click.option("--max-query-drop", type=float, help="The most a single query may lose, such as 0.5.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero"]),
    default="refuse",
    show_default=True,
    help="What queries are that BASELINE answers and CANDIDATE does not.",
)
@click.option(
    "--noise",
    multiple=True,
    metavar="FILE",
    help="Runs of one system, made again; they widen intervals (twice or more).",
)
@query_field_options
@ALPHA
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="The probability for which visible drops and numbers of queries are given.",
)
@click.option(
    "--test",
    type=Names("test", TESTS),
    default="t",
    show_default=True,
    help="The paired test; t is the sign test for values 0 and 1.",
)
@RESAMPLES
@SEED
@click.option(
    "--profile",
    type=Names("profile", PROFILES),
    help="Whose rules. [default: the score file's, or rankscope]",
)
@ORDER
@click.option("--run", metavar="NAME", help="The run to take from score files that hold several.")
@click.option("--baseline-run", metavar="NAME", help="Likewise, from BASELINE.")
@click.option("--candidate-run", metavar="NAME", help="Likewise, from CANDIDATE.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML: a test case for each measure.")
@click.option("--markdown", metavar="FILE", help="Write Markdown for a pull request's comment.")
@format_option(METRICS)
@TARGET
@table_options
@NO_ANSWER
@RELEVANCE_LEVEL
@OVERLAP
@ontology_options
@LANGUAGE
@MAX_SIZE
def gate(
    *,
    baseline: str,
    candidate: str,
    measures: tuple[str, ...],
    run: str | None,
    baseline_run: str | None,
    candidate_run: str | None,
    floors: tuple[str, ...],
    queries_file: str | None,
    cluster: str | None,
    weights: str | None,
    junit: str | None,
    markdown: str | None,
    format: str,
    target: str | None,
    **options: Any,
) -> int:
    """Fail if CANDIDATE is worse than BASELINE, by more than the margin and than chance.

    Each is a score file (rankscope evaluate QRELS RUN --per-query --format json -o FILE) or, with
    --qrels, a run; NAME=FILE gives it another name. There are three answers, by the interval of the
    difference: regression (exit 1), no regression (exit 0), and can't tell, where the queries show
    neither (exit 0, or 1 with --cant-tell fail). Without -m every measure that both sides hold is
    compared, and what could not be is said.

    Exit 2 if the two cannot be compared: other judgments, queries or rules, or values missing.
    """
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.errors import RankscopeError
    from rankscope.reports.gating import gate_document, no_answer_document
    from rankscope.statistics.gate import gate as decide

    check_standard_input(baseline, candidate, options["qrels"], *options["noise"], queries_file)
    fields = query_fields(queries_file, texts=True, cluster=cluster, weights=weights)
    if "-" in (junit, markdown):
        raise click.UsageError("standard output is for the table; name a file for the report")
    try:
        result = decide(
            named_run(baseline),
            named_run(candidate),
            measures or None,
            baseline_run=baseline_run or run,
            candidate_run=candidate_run or run,
            minimum=_floors(floors),
            clusters=fields["cluster"],
            weights=fields["weights"],
            **options,
            **given_options(),
        )
        document = gate_document(result, texts=fields["texts"])
        _write_reports(document, junit, markdown)
        if format == "markdown":
            write_text(_comment(document), target)
        else:
            emit(result, format=format, target=target, texts=fields["texts"])
    except RankscopeError as error:  # a report of an earlier day must not stay and be believed
        _write_reports(no_answer_document(str(error)), junit, markdown)
        raise
    return 0 if result.passed else ANSWER_IS_NO


def _floors(settings: tuple[str, ...]) -> dict[str, float]:
    """Return the least mean of each measure that is named."""
    floors = {}
    for setting in settings:
        measure, _, value = setting.rpartition("=")
        if measure in floors:
            raise click.UsageError(f"--min names {measure} twice")
        try:
            floors[measure] = float(value)
        except ValueError:
            measure = ""
        if not measure:
            raise click.UsageError(
                f"--min must be MEASURE=VALUE, such as nDCG@10=0.4, not {setting}"
            )
    return floors


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
