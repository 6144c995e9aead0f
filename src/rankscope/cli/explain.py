"""``rankscope explain``: how a score is made, or why another tool's number differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option
from rankscope.cli.output import Output
from rankscope.errors import UnknownNameError
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.scoring.why import Why


@command(
    "rankscope explain demo/qrels.tsv demo/lexical.run --query q001 -m nDCG@10",
    "rankscope explain demo/qrels.tsv demo/lexical.run -m nDCG@10 --theirs 0.7002",
)
@click.argument("qrels")
@click.argument("run")
@option("--query query_id ID", "Explain this question's score, rank by rank")
@option(
    "--theirs NUMBER|TOOL",
    "Explain another tool's number, or its rules; 'all' compares all tools (repeatable)",
    multiple=True,
)
@option("--depth N", "List N ranks, and below them documents that change the score", default=20)
@shared.measures_option("[default: nDCG@10]")
@shared.PROFILE
@shared.ORDER
@shared.TABLES_BUT_QUERY
@shared.NO_ANSWER
@shared.RELEVANCE_LEVEL
@shared.output_options()
def explain(
    *,
    qrels: str,
    run: str,
    query_id: str | None,
    theirs: tuple[str, ...],
    depth: int,
    measures: tuple[str, ...],
    scoring: dict[str, Any],
    output: Output,
) -> None:
    """Show how a question's score is made, or why another tool's number differs.

    --query lists every rank, the document there, and what it adds. --theirs scores the whole run by
    the rules of several tools, changes one rule at a time, and finds the rules that give a number.
    """
    from rankscope.document.blocks import together
    from rankscope.document.views import document_of
    from rankscope.measures.language import parse_measures
    from rankscope.scoring.explain import explain as explain_measure
    from rankscope.scoring.inputs import read_inputs
    from rankscope.scoring.scoring_options import Scoring

    if (query_id is None) == (not theirs):
        raise click.UsageError(
            "give --query ID to explain one question's score, or --theirs NUMBER to find the rules "
            "that give another tool's number"
        )
    if query_id is None:
        output.write(_why(qrels, run, theirs, measures or ("nDCG@10",), scoring))
        return
    profile = scoring.pop("profile", None)
    rules = Scoring.of("explain", scoring)
    judgments, runs, _ = read_inputs(qrels, [shared.named_run(run)], rules)
    [the_run] = runs.values()
    explanations = [
        explain_measure(
            judgments,
            the_run,
            query_id,
            parsed.measure,
            profile=profile,
            depth=depth,
            relevance_level=rules.relevance_level,
        )
        for parsed in parse_measures(measures or ("nDCG@10",))
    ]
    output.write(
        together(f"Query {query_id}", [document_of(explanation) for explanation in explanations]),
        data=lambda: [explanation.to_dict() for explanation in explanations],
    )


def _why(
    qrels: str, run: str, theirs: Sequence[str], measures: Sequence[str], scoring: dict[str, Any]
) -> Why:
    """Compare the rules of tools, and find those that give the numbers among ``theirs``."""
    from rankscope.scoring.why import why

    if len(measures) > 1 or "profile" in scoring:
        raise click.UsageError("--theirs takes one measure and no --profile; leave out the rest")
    numbers = [text for text in theirs if text not in (*PROFILES, "all")]
    for text in numbers:
        if not any(sign.isdigit() for sign in text):
            raise UnknownNameError("tool", text, PROFILES)
    return why(
        qrels,
        [shared.named_run(run)],
        measures[0],
        profiles=[name for name in theirs if name in PROFILES] or PROFILES,
        numbers=numbers,
        **scoring,
    )
