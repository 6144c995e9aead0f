"""``rankscope cases``: validate and schema."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option
from rankscope.cli.output import Output, print_json
from rankscope.cli.runs import validate_each


@command(
    "rankscope init my-cases",
    "rankscope cases validate my-cases/golden.json --corpus my-cases/corpus.jsonl",
)
@click.argument("file", nargs=-1, required=True)
@option("--corpus FILE", "Documents; expected ids that are not among them are listed")
@shared.ONTOLOGY
@shared.TABLES
@shared.output_options()
def validate(
    *, file: tuple[str, ...], corpus: str | None, scoring: dict[str, Any], output: Output
) -> int:
    """List every problem of a golden set, and how small a difference it can show.

    With --ontology, expected ids that are unknown, obsolete (with their replacement), alternative
    or misspelt are listed. Exit 0 without errors, 1 with errors, 2 if a file can't be read; the
    others are still checked.
    """
    from rankscope.benchmark.case_validation import validate_cases
    from rankscope.scoring.scoring_options import Scoring

    rules = Scoring.of("evaluate", scoring)
    reading: dict[str, Any] = {"ontology": rules.ontology, "columns": rules.columns}
    return validate_each(file, lambda path: validate_cases(path, corpus=corpus, **reading), output)


@command("rankscope cases schema")
def schema() -> None:
    """Print the JSON schema of a file of cases: phrases with the ontology terms they expect."""
    from rankscope.benchmark.case_schema import case_schema

    print_json(case_schema())
