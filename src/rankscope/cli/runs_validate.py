"""``rankscope runs validate``."""

from __future__ import annotations

import click

from rankscope.cli.options import (
    MAX_SIZE,
    TARGET,
    check_standard_input,
    format_option,
    given_chunking,
    given_columns,
    given_options,
    table_options,
)
from rankscope.cli.validating import validate_each


@click.command()
@click.argument("run", nargs=-1, required=True)
@click.option("--qrels", metavar="FILE", help="Judgments the run will be scored against.")
@click.option("--queries", metavar="FILE", help="The queries the run should answer.")
@click.option("--corpus", metavar="FILE", help="The documents it may name; read as a stream.")
@click.option(
    "--max-depth",
    type=click.IntRange(1, 10_000_000),
    default=100,
    show_default=True,
    help="Documents a query may have.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail runs that are not fit to hand in: six TREC columns, every query answered, unique "
    "ranks that agree with the scores, no list deeper than --max-depth.",
)
@click.option("--input-format", metavar="NAME", help="The runs' format, if it cannot be found.")
@format_option()
@TARGET
@table_options
@MAX_SIZE
def validate(
    *,
    run: tuple[str, ...],
    qrels: str | None,
    queries: str | None,
    corpus: str | None,
    max_depth: int,
    strict: bool,
    input_format: str | None,
    format: str,
    target: str | None,
) -> int:
    """List every problem of each RUN, with a code, where it is, and what to do.

    Exit 0 without errors, 1 with errors, 2 if a file cannot be read at all; other runs are still
    checked. One of the files may be -, standard input.
    """
    from rankscope.runs.validation import Reference

    check_standard_input(*run, qrels, queries, corpus)
    reference = Reference.read(
        qrels=qrels,
        queries=queries,
        corpus=corpus,
        chunking=given_chunking(),
        columns=given_columns(),
        duplicates=given_options().get("duplicates"),
        labels=given_options().get("labels"),
    )
    return validate_each(
        run,
        lambda path: reference.validate(
            path, max_depth=max_depth, strict=strict, format=input_format
        ),
        format=format,
        target=target,
    )
