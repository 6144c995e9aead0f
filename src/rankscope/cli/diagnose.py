"""``rankscope diagnose``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli.options import (
    ALPHA,
    DEFAULTS,
    MAX_SIZE,
    NO_ANSWER,
    PROFILE,
    RESAMPLES,
    SEED,
    TARGET,
    check_standard_input,
    format_option,
    measures_option,
    named_runs,
    table_options,
)
from rankscope.cli.output import emit


@click.command()
@click.argument("qrels")
@click.argument("run", nargs=-1, required=True)
@measures_option(f"Repeatable. {DEFAULTS}")
@click.option("--baseline", metavar="NAME", help="The run that others are compared with.")
@click.option("--only", multiple=True, metavar="NAME", help="Ask this analysis only (repeatable).")
@click.option("--queries", metavar="FILE", help="Queries with texts and metadata.")
@click.option("--corpus", metavar="FILE", help="The documents.")
@click.option(
    "--set",
    "configured",
    multiple=True,
    metavar="KEY=VALUE",
    help="Configure an analysis, as in segments=[category,words] (repeatable).",
)
@ALPHA
@RESAMPLES
@SEED
@PROFILE
@format_option()
@TARGET
@table_options
@NO_ANSWER
@MAX_SIZE
def diagnose(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    queries: str | None,
    corpus: str | None,
    configured: tuple[str, ...],
    format: str,
    target: str | None,
    **options: Any,
) -> None:
    """Look into each RUN beyond its means: every analysis that what you give allows.

    Each says what it found, that it found nothing, or that it is not applicable and why.
    """
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.records.diagnosis import diagnose as diagnose_runs

    check_standard_input(qrels, *run, queries, corpus)
    diagnosis = diagnose_runs(
        qrels,
        named_runs(run),
        list(measures or DEFAULT_MEASURES),
        queries=queries,
        corpus=corpus,
        configs=_configs(configured),
        **options,
    )
    emit(diagnosis, format=format, target=target)


def _configs(settings: tuple[str, ...]) -> dict[str, Any]:
    """Return what is configured, by analysis: ``segments=[a]`` or ``segments.bins=3``."""
    from rankscope.benchmark.config.syntax import parse_value

    configs: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        name, dot, option = key.partition(".")
        if not sign or not name or (dot and not option):
            raise click.UsageError(
                f"--set must be ANALYSIS=VALUE or ANALYSIS.OPTION=VALUE, such as "
                f"segments=[category,words]; got {setting!r}"
            )
        value = parse_value(text, source=f"--set {key}")
        if not option:
            configs[name] = value
        elif isinstance(configs.setdefault(name, {}), dict):
            configs[name][option] = value
        else:
            raise click.UsageError(f"--set {name}=… and --set {key}=… cannot both be given")
    return configs
