"""``rankscope benchmark run``."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.options import (
    CACHE,
    CONFIG,
    JOBS,
    MAX_SIZE,
    NO_PYTHON,
    QUIET,
    SET,
    OutputName,
    format_option,
)
from rankscope.cli.output import METRICS, emit, print_line, program

if TYPE_CHECKING:
    from rankscope.benchmark.in_languages import LanguageResults
    from rankscope.benchmark.plan import StageState
    from rankscope.benchmark.run import Result
    from rankscope.document.blocks import Point

_REPORTS = ("BenchmarkReport.html", "BenchmarkComparison.md", "BenchmarkReport.json")


@click.command()
@CONFIG
@click.option(
    "--output",
    type=OutputName(),
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
    help="Exit with 1 if the mean of this system (without one: of any system) is worse "
    "(repeatable).",
)
@NO_PYTHON
@format_option(METRICS)
@QUIET
@MAX_SIZE
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
    no_python: bool,
    format: str,
    quiet: bool,
) -> int:
    """Make the runs of all systems, check, score and compare them, and write the reports.

    CONFIG is a YAML or TOML file: the collection, the systems, what to measure. What is finished is
    kept: a benchmark that was stopped goes on where it was. The folder of the experiment holds the
    runs, EvaluationReport.<system>.json, BenchmarkReport.json and .html, BenchmarkComparison.md and
    ExperimentManifest.json.

    A config is code: the Python functions that it names are run with your rights. --dry-run imports
    nothing, and --no-python refuses such a config.
    """
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.in_languages import languages_to_run
    from rankscope.benchmark.run import plan_benchmark, run_benchmark, run_languages
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.cli.progress import watching
    from rankscope.printing import hide_with, put_line
    from rankscope.scoring.limits import read_limits

    if dry_run and format == METRICS:
        raise click.UsageError("--dry-run has no metrics; leave out one of the two")
    loaded = read_config(config, settings=settings)
    hide_with(loaded.secrets.hide)
    several = bool(languages_to_run(loaded))
    if several and format == METRICS:
        raise click.UsageError(
            "metrics are of one language; name it with --set collection.language=CODE"
        )
    limits = read_limits(
        fail_under,
        loaded.config.systems,
        profile=loaded.config.profile,
        measures=loaded.config.measures,
        noun="system",
    )
    if dry_run:
        rows = plan_benchmark(loaded, output=output, cache=cache, fresh=fresh, python=not no_python)
        show_plan(rows, format=format, quiet=quiet)
        return 0
    options: dict[str, Any] = {
        "output": output,
        "cache": cache,
        "jobs": jobs,
        "fresh": fresh,
        "python": not no_python,
    }
    with watching(quiet=quiet) as options["watcher"]:
        results = run_languages(loaded, **options) if several else None
        result = None if several else run_benchmark(loaded, **options)
    if result is None:
        assert results is not None
        status = show_languages(results, format=format, quiet=quiet)
        parts = {f" ({code})": part.report for code, part in results.by_language.items()}
    else:
        status = show_result(result, format=format, quiet=quiet)
        parts = {"": result.report}
    means = {
        f"{system.name}{suffix}": {mean.measure: mean.value for mean in system.measures}
        for suffix, report in parts.items()
        for system in report.systems
    }
    for limit in limits:
        for sentence in limit.missed(means):
            put_line(sentence)
            status = ANSWER_IS_NO
    return status


def show_languages(results: LanguageResults, *, format: str, quiet: bool) -> int:
    """Print what several languages have in common; the report of each is in its folder."""
    from rankscope.cli import ANSWER_IS_NO

    if not quiet or format in ("json", METRICS):
        emit(
            results.report,
            format=format,
            data=lambda: {
                **results.report.to_dict(),
                "reports": {
                    code: json.loads(result.report.to_json())
                    for code, result in results.by_language.items()
                },
            },
        )
    if format == "table" and not quiet:
        print_line()
        for name in ("LanguageReport.html", "LanguageComparison.md", "LanguageReport.json"):
            print_line(f"written to {results.folder / name}")
        for result in results.by_language.values():
            print_line(f"written to {Path(result.folder) / _REPORTS[0]}")
    reports = [result.report for result in results.by_language.values()]
    has_errors = any(
        finding.severity == "error" for report in reports for finding in report.findings
    )
    return ANSWER_IS_NO if has_errors else 0


def show_plan(states: list[StageState], *, format: str, quiet: bool) -> None:
    """Print what a run would do: each stage, whether its result is there, and what it needs."""
    from dataclasses import asdict

    from rankscope.document.blocks import (
        Cell,
        Document,
        Section,
        Table,
        Tone,
        sentences,
        text_columns,
    )

    titles = ("stage", "state", "needs")
    tones: dict[str, Tone] = {"there": "good", "to do": "warning"}
    rows = tuple(
        (
            Cell(stage.stage),
            Cell(stage.state, tone=tones.get(stage.state, "plain")),
            Cell(stage.needs or None),
        )
        for stage in states
    )
    block = Table(text_columns(*titles), rows) if rows else sentences(["nothing to do"])
    if not quiet or format == "json":
        emit(
            Document("Plan", (Section("", (block,)),)),
            format=format,
            data=lambda: [asdict(state) for state in states],
        )


def _where(folder: Path) -> list[Point]:
    """Say where the page is, and what comes next."""
    from rankscope.document.blocks import Point

    page = folder / _REPORTS[0]
    shown = page if page.exists() else folder
    return [
        Point("Report", (str(shown),), is_code=True),
        Point("Next", (f"{program()} diagnose {quote(str(folder))}",), is_code=True),
    ]


def show_result(result: Result, *, format: str, quiet: bool) -> int:
    """Print a finished benchmark, and return 1 if a run is broken or a query failed."""
    from rankscope.cli import ANSWER_IS_NO

    if result.reused and format == "table" and not quiet:
        print_line("nothing has changed since this benchmark was run; --fresh runs it again")
        print_line()
    if not quiet or format in ("json", METRICS):
        emit(
            result.report,
            format=format,
            data=lambda: json.loads(result.report.to_json()),
            points=_where(Path(result.folder)) if format == "table" else (),
        )
    has_errors = any(finding.severity == "error" for finding in result.report.findings)
    return ANSWER_IS_NO if has_errors else 0
