"""``rankscope benchmark schema``."""

from __future__ import annotations

import click

from rankscope.cli.output import print_json


@click.command()
@click.argument(
    "kind",
    type=click.Choice(["config", "evaluation", "benchmark", "manifest"]),
    default="config",
)
def schema(*, kind: str) -> None:
    """Print a JSON schema: of the config, for editors, or of a record.

    KIND is config, evaluation (EvaluationReport), benchmark (BenchmarkReport) or manifest
    (ExperimentManifest).
    """
    from rankscope.benchmark.config.json_schema import config_json_schema
    from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest

    if kind == "config":
        print_json(config_json_schema())
        return
    records = (EvaluationReport, BenchmarkReport, ExperimentManifest)
    print_json(next(record for record in records if record.kind == kind).json_schema())
