"""``rankscope cases validate``."""

from __future__ import annotations

import click

from rankscope.cli.options import MAX_SIZE, TARGET, format_option, table_options
from rankscope.cli.output import emit


@click.command()
@click.argument("file", nargs=-1, required=True)
@click.option("--corpus", metavar="FILE", help="The documents there are; others are named.")
@format_option()
@TARGET
@table_options
@MAX_SIZE
def validate(*, file: tuple[str, ...], corpus: str | None, format: str, target: str | None) -> int:
    """Every problem of a golden set FILE, and how small a difference so many questions can show.

    Exit 0 without errors, 1 with errors, 2 if a file cannot be read at all; others are still
    checked.
    """
    from rankscope.benchmark.golden_sets import validate_cases
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER, say
    from rankscope.cli.debugging import show_traceback
    from rankscope.document.blocks import together
    from rankscope.document.views import document_of
    from rankscope.errors import RankscopeError

    results = []
    for path in file:
        try:
            results.append(validate_cases(path, corpus=corpus))
        except RankscopeError as error:
            show_traceback(error)
            say(str(error))
    if results or format == "json":
        emit(
            together("Validation", [document_of(result) for result in results]),
            format=format,
            target=target,
            data=lambda: [result.to_dict() for result in results],
        )
    if len(results) < len(file):
        return CANNOT_ANSWER
    return 0 if all(result.ok for result in results) else ANSWER_IS_NO
