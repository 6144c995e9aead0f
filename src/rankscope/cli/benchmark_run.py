"""``rankscope benchmark run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console, print_json, visible

if TYPE_CHECKING:
    from rankscope.benchmark.run import Result
    from rankscope.records import BenchmarkReport

__all__ = ["run", "show_result"]

CONFIG = click.argument("config", type=click.Path(), metavar="CONFIG")
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the config, as in depth=50 or systems.lexical.bm25.k1=1.2 (repeatable).",
)
CACHE = click.option(
    "--cache",
    metavar="DIR",
    help="Where indexes, embeddings and finished stages are kept (.cache in the output folder).",
)
JOBS = click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Stages done at a time."
)


@click.command()
@CONFIG
@click.option(
    "--output",
    default="benchmarks",
    show_default=True,
    metavar="DIR",
    help="Where experiments go, each in a folder of its own.",
)
@CACHE
@SET
@JOBS
@click.option("--dry-run", is_flag=True, help="Show the stages and whether each is there.")
@click.option("--fresh", is_flag=True, help="Make everything anew; nothing is read from the cache.")
@click.option(
    "--fail-under",
    multiple=True,
    metavar="[SYSTEM:]MEASURE=VALUE",
    help="Exit with 1 if the system's mean (without one: the best mean) is worse (repeatable).",
)
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def run(
    *,
    config: str,
    output: str,
    cache: str | None,
    settings: tuple[str, ...],
    jobs: int,
    dry_run: bool,
    fresh: bool,
    fail_under: tuple[str, ...],
    format: str,
    quiet: bool,
) -> None:
    """Make the runs of all systems, check, score and compare them, and write the reports.

    CONFIG is a YAML or TOML file: the collection, the systems, what to measure. What is finished is
    kept: a benchmark that was stopped goes on where it was. The folder of the experiment holds the
    runs, EvaluationReport.<system>.json, BenchmarkReport.json, BenchmarkComparison.md and
    ExperimentManifest.json.
    """
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.fail_under import read_limits
    from rankscope.benchmark.run import plan_benchmark, run_benchmark
    from rankscope.cli.progress import watching

    loaded = read_config(config, settings=settings)
    limits = read_limits(fail_under, loaded.config)
    if dry_run:
        rows = plan_benchmark(loaded, output=output, cache=cache, fresh=fresh)
        if format == "json":
            print_json([dict(zip(("stage", "state", "needs"), row, strict=True)) for row in rows])
        elif not quiet:
            from rankscope.cli.benchmark_view import show_plan

            show_plan(rows, make_console())
        return
    with watching(quiet=quiet) as watcher:
        result = run_benchmark(
            loaded, output=output, cache=cache, jobs=jobs, fresh=fresh, watcher=watcher
        )
    show_result(result, format=format, quiet=quiet)
    missed = [sentence for limit in limits if (sentence := limit.missed(result.report))]
    for sentence in missed:
        click.echo(visible(sentence), err=True)
    if missed or _has_errors(result.report):
        sys.exit(1)


def show_result(result: Result, *, format: str = "table", quiet: bool = False) -> None:
    """Print a finished benchmark."""
    if format == "json":
        import json

        print_json(json.loads(result.report.to_json()))
    elif not quiet:
        from rankscope.cli.benchmark_view import show_benchmark

        console = make_console()
        if result.reused:
            console.print("nothing has changed since this benchmark was run; --fresh runs it again")
            console.print()
        show_benchmark(result.report, console, folder=Path(result.folder))


def _has_errors(report: BenchmarkReport) -> bool:
    """Tell whether a run is broken or a query failed: then the answer is no."""
    return any(finding.severity == "error" for finding in report.findings)
