"""``rankscope gate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.options import (
    ALPHA,
    ORDER,
    RESAMPLES,
    SEED,
    TARGET,
    Names,
    check_standard_input,
    format_option,
    measures_option,
)
from rankscope.cli.output import emit, write_file, write_text
from rankscope.scoring.rules import PROFILES
from rankscope.statistics.choices import TESTS

if TYPE_CHECKING:
    from rankscope.document.blocks import Document


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@measures_option("Repeatable; p-values are corrected over them. [default: nDCG@10]")
@click.option("--qrels", metavar="FILE", help="Judgments, where a side is a run and no score file.")
@click.option(
    "--max-drop",
    type=float,
    default=0.01,
    show_default=True,
    help="The margin: a drop up to this is tolerable.",
)
@ALPHA
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Warn unless a drop as large as the margin is seen with this probability.",
)
@click.option("--require-power", is_flag=True, help="Fail where there would be a warning.")
@click.option("--test", type=Names("test", TESTS), default="permutation", show_default=True)
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
@format_option()
@TARGET
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
    format: str,
    target: str | None,
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
    from rankscope.reports.gating import gate_document, no_answer_document
    from rankscope.statistics.gate import gate as decide

    check_standard_input(baseline, candidate, options["qrels"])
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
        _write_reports(no_answer_document(str(error)), junit, markdown)
        raise
    document = gate_document(result)
    _write_reports(document, junit, markdown)
    if format == "markdown":
        write_text(_comment(document), target)
    else:
        emit(document, format=format, target=target, data=result.to_dict)
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
