"""``rankscope benchmark``: run, verify, compare, list and schema."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import Names, command, option
from rankscope.cli.output import (
    METRICS,
    Output,
    print_json,
    print_line,
    program,
    show_in_browser,
)
from rankscope.cli.progress import watching

if TYPE_CHECKING:
    from rankscope.benchmark.by_language import LanguageResults
    from rankscope.benchmark.run import Result
    from rankscope.document.blocks import Point

REPORT_PAGE = "BenchmarkReport.html"
KINDS = ["config", "evaluation", "benchmark", "manifest", "timings"]


@command(
    "rankscope benchmark run demo/bench.yaml",
    "rankscope benchmark run demo/bench.yaml --set depth=50 --output shallow",
)
@option(
    "--output folder DIR",
    "Folder of experiments, each in a folder of its own",
    default="benchmarks",
)
@shared.CONFIG
@shared.CONFIG_OPTIONS
@option("--fresh", "Ignore the cache")
@shared.FAIL_UNDER
@shared.formats(METRICS)
@shared.OPEN
def run(
    *,
    config: str,
    folder: str,
    settings: tuple[str, ...],
    fail_under: tuple[str, ...],
    no_python: bool,
    quiet: bool,
    output: Output,
    **options: Any,
) -> int:
    """Run and compare the systems of a config, and write a report.

    CONFIG is a YAML or TOML file: the collection, the systems, what to measure. Answers are cached,
    so a stopped benchmark continues where it was. A config is code: the Python functions it
    names run with your rights; --no-python refuses them.
    """
    from rankscope.benchmark.by_language import run_languages
    from rankscope.benchmark.collection import languages_to_run
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.run import run_benchmark
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.integrations.limits import read_limits
    from rankscope.printing import hide_with, put_line

    loaded = read_config(config, settings=settings)
    hide_with(loaded.secrets.hide)
    several = bool(languages_to_run(loaded))
    if several and output.format == METRICS:
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
    options |= {"output": folder, "python": not no_python}
    with watching(quiet=quiet) as watcher:
        options["watcher"] = watcher
        results = run_languages(loaded, **options) if several else None
        result = None if several else run_benchmark(loaded, **options)
    if result is None:
        assert results is not None
        status = _show_languages(results, output, quiet=quiet)
        reports = {f" ({code})": part.report for code, part in results.by_language.items()}
    else:
        status = show_result(result, output, quiet=quiet)
        reports = {"": result.report}
    means = {
        f"{system.name}{suffix}": {mean.measure: mean.value for mean in system.measures}
        for suffix, report in reports.items()
        for system in report.systems
    }
    missed = [sentence for limit in limits for sentence in limit.missed(means)]
    for sentence in missed:
        put_line(sentence)
    return ANSWER_IS_NO if missed else status


def _show_languages(results: LanguageResults, output: Output, *, quiet: bool) -> int:
    """Print what several languages have in common; the report of each is in its folder."""
    reports = {code: result.report for code, result in results.by_language.items()}
    if not quiet or output.format in ("json", METRICS):
        output.write(
            results.report,
            data=lambda: {
                **results.report.to_dict(),
                "reports": {code: json.loads(each.to_json()) for code, each in reports.items()},
            },
        )
    if output.format == "table" and not quiet:
        print_line()
        for name in ("LanguageReport.html", "LanguageComparison.md", "LanguageReport.json"):
            print_line(f"written to {results.folder / name}")
        for result in results.by_language.values():
            print_line(f"written to {Path(result.folder) / REPORT_PAGE}")
    if output.is_opened:
        show_in_browser(results.folder / "LanguageReport.html")
    return max(map(_status, reports.values()))


def _status(report: Any) -> int:
    """Return 1 if a run is broken or a query failed."""
    from rankscope.cli import ANSWER_IS_NO

    has_errors = any(finding.severity == "error" for finding in report.findings)
    return ANSWER_IS_NO if has_errors else 0


def show_result(result: Result, output: Output, *, quiet: bool) -> int:
    """Print a finished benchmark, and return 1 if a run is broken or a query failed."""
    folder = Path(result.folder)
    if result.reused and output.format == "table" and not quiet:
        print_line("nothing has changed since this benchmark was run; --fresh runs it again")
        print_line()
    if not quiet or output.format in ("json", METRICS):
        output.write(
            result.report,
            data=lambda: json.loads(result.report.to_json()),
            points=_places(folder) if output.format == "table" else (),
        )
    if output.is_opened:
        show_in_browser(folder / REPORT_PAGE)
    return _status(result.report)


def _places(folder: Path) -> list[Point]:
    """Name the page, and the next command."""
    from rankscope.document.blocks import Point

    page = folder / REPORT_PAGE
    shown = page if page.exists() else folder
    return [
        Point("Report", (str(shown),), is_code=True),
        Point("Next", (f"{program()} diagnose {quote(str(folder))}",), is_code=True),
    ]


@command(
    "rankscope benchmark run demo/bench.yaml", "rankscope benchmark verify benchmarks/recipes-*"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@option("--digest HEX", "Require this digest of the manifest, or its beginning", default="")
@shared.output_options()
def verify(*, folder: Path, digest: str, output: Output) -> int:
    """Score an experiment's runs again, and check that its record holds.

    DIR is the folder of one experiment. Exit 1 if a hash, value, mean, interval, test, verdict or
    page was changed.
    """
    from rankscope.benchmark.verify import verify as verify_experiment
    from rankscope.cli import ANSWER_IS_NO

    verification = verify_experiment(folder, digest=digest)
    output.write(verification)
    return 0 if verification.ok else ANSWER_IS_NO


@command(
    "rankscope benchmark run demo/bench.yaml",
    "rankscope benchmark run demo/bench.yaml --set depth=50 --output shallow",
    "rankscope benchmark compare benchmarks/recipes-* shallow/recipes-*",
)
@click.argument("before", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("after", type=click.Path(path_type=Path), metavar="DIR")
@shared.SYSTEMS
@shared.measures_option("[default: all]")
@shared.SEED
@shared.output_options()
def compare(
    *,
    before: Path,
    after: Path,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    seed: int,
    output: Output,
) -> None:
    """Show what changed between two experiments, system by system.

    Both need the same judgments, queries and rules; if not, they are not comparable (exit 2).
    """
    from rankscope.benchmark.changes import compare_experiments

    output.write(compare_experiments(before, after, systems=systems, measures=measures, seed=seed))


@command(
    "rankscope benchmark run demo/bench.yaml", "rankscope benchmark list benchmarks", name="list"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="[DIR]", default="benchmarks")
@shared.output_options()
def list_(*, folder: Path, output: Output) -> None:
    """List the experiments of a folder, newest first, with main measure and verdict."""
    from rankscope.benchmark.listing import list_experiments
    from rankscope.reports.experiments import listing_document

    experiments = list_experiments(folder)
    output.write(
        listing_document(str(folder), experiments),
        data=lambda: [experiment.to_dict() for experiment in experiments],
    )


@command("rankscope benchmark schema config")
@click.argument("kind", type=Names(KINDS), metavar="[KIND]", default="config")
def schema(*, kind: str) -> None:
    """Print the JSON schema of configs, for editors, or of a record.

    KIND is config, evaluation (EvaluationReport), benchmark (BenchmarkReport), manifest
    (ExperimentManifest) or timings (ExperimentTimings).
    """
    from rankscope.benchmark.config.model import config_json_schema
    from rankscope.part import json_of
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.report import BenchmarkReport, EvaluationReport, ExperimentTimings

    if kind == "config":
        print_json(config_json_schema())
        return
    records = (EvaluationReport, BenchmarkReport, ExperimentManifest, ExperimentTimings)
    record = next(record for record in records if record.kind == kind)
    click.echo(json_of(record.json_schema(), width=500))
