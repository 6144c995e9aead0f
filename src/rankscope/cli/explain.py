"""``rankscope explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope.cli.options import (
    MAX_SIZE,
    NO_ANSWER,
    ORDER,
    PROFILE,
    RELEVANCE_LEVEL,
    TARGET,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    named_run,
    table_options_but_query,
)
from rankscope.cli.output import emit

if TYPE_CHECKING:
    from rankscope.runs.order import Order


@click.command()
@click.argument("qrels")
@click.argument("run")
@click.option("--query", "query_id", required=True, metavar="ID", help="The query to explain.")
@measures_option("Repeatable. [default: nDCG@10]")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="List all ranks down to here, and below it judged documents that change the value.",
)
@PROFILE
@ORDER
@format_option()
@TARGET
@table_options_but_query
@NO_ANSWER
@RELEVANCE_LEVEL
@MAX_SIZE
def explain(
    *,
    qrels: str,
    run: str,
    query_id: str,
    measures: tuple[str, ...],
    depth: int,
    profile: str,
    order: Order,
    format: str,
    target: str | None,
) -> None:
    """Explain one query's score: every rank, the document there, and what it adds."""
    from rankscope.document.blocks import together
    from rankscope.document.views import document_of
    from rankscope.measures.language import parse_measures
    from rankscope.scoring.explain import explain as explain_measure
    from rankscope.scoring.inputs import read_inputs
    from rankscope.scoring.options import Scoring

    check_standard_input(qrels, run)
    scoring = Scoring.of("explain", {**given_options(), "order": order})
    judgments, runs, _ = read_inputs(qrels, [named_run(run)], scoring)
    [the_run] = runs.values()
    explanations = [
        explain_measure(
            judgments,
            the_run,
            query_id,
            parsed.measure,
            profile=profile,
            depth=depth,
            relevance_level=scoring.relevance_level,
        )
        for parsed in parse_measures(measures or ("nDCG@10",))
    ]
    emit(
        together(f"Query {query_id}", [document_of(explanation) for explanation in explanations]),
        format=format,
        target=target,
        data=lambda: [explanation.to_dict() for explanation in explanations],
    )
