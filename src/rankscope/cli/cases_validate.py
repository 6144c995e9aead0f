"""``rankscope cases validate``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli.options import (
    MAX_SIZE,
    TARGET,
    format_option,
    given_columns,
    ontology_options,
    table_options,
)
from rankscope.cli.validating import validate_each


@click.command()
@click.argument("file", nargs=-1, required=True)
@click.option("--corpus", metavar="FILE", help="The documents there are; others are named.")
@ontology_options
@format_option()
@TARGET
@table_options
@MAX_SIZE
def validate(
    *,
    file: tuple[str, ...],
    corpus: str | None,
    ontology: Any,
    format: str,
    target: str | None,
) -> int:
    """List every problem of a golden set FILE, and how small a difference it can show.

    With --ontology expected ids are looked up: those that are unknown, obsolete (with what replaces
    them), alternative or badly written are named.

    Exit 0 without errors, 1 with errors, 2 if a file cannot be read at all; others are still
    checked.
    """
    from rankscope.benchmark.golden_sets import validate_cases

    return validate_each(
        file,
        lambda path: validate_cases(
            path, corpus=corpus, ontology=ontology, columns=given_columns()
        ),
        format=format,
        target=target,
    )
