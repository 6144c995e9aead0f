"""``rankscope cases schema``."""

from __future__ import annotations

import click

from rankscope.cli.output import print_json


@click.command()
def schema() -> None:
    """Print the JSON schema of a file of cases: phrases with the ontology terms they expect."""
    from rankscope.benchmark.case_schema import case_schema

    print_json(case_schema())
