"""``rankscope benchmark``: run, verify, compare, list and schema."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import ANSWER_IS_NO, shared
from rankscope.cli.help import command, option
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
    from rankscope.records.report import BenchmarkReport

REPORT_PAGE = "BenchmarkReport.html"


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
        run_all = run_languages if several else run_benchmark
        result = run_all(loaded, watcher=watcher, **options)
    status = show_result(result, output, quiet=quiet)
    means = {
        f"{system.name} ({code})" if code else system.name: {
            mean.measure: mean.value for mean in system.measures
        }
        for code, report in _reports(result).items()
        for system in report.systems
    }
    missed = [sentence for limit in limits for sentence in limit.missed(means)]
    for sentence in missed:
        put_line(sentence)
    return ANSWER_IS_NO if missed else status


def show_result(result: Result | LanguageResults, output: Output, *, quiet: bool) -> int:
    """Print a finished benchmark, and return 1 if a run is broken or a query failed."""
    reports, parts = _reports(result), getattr(result, "by_language", {})
    page = result.folder / ("LanguageReport.html" if parts else REPORT_PAGE)
    is_table = output.format == "table" and not quiet
    if is_table and getattr(result, "reused", False):
        print_line("nothing has changed since this benchmark was run; --fresh runs it again")
        print_line()
    if not quiet or output.format in ("json", METRICS):

        def whole() -> dict[str, Any]:
            each = {code: report.to_dict() for code, report in reports.items()}
            return {**result.report.to_dict(), "reports": each}

        points = _places(page) if output.format == "table" else ()
        output.write(result.report, data=whole if parts else None, points=points)
    if is_table and parts:
        print_line()
        for each in (result, *parts.values()):
            print_line(f"written to {each.folder}")
    if output.is_opened:
        show_in_browser(str(page))
    findings = (finding for report in reports.values() for finding in report.findings)
    return ANSWER_IS_NO if any(each.severity == "error" for each in findings) else 0


def _reports(result: Result | LanguageResults) -> dict[str, BenchmarkReport]:
    """Return the report, or those of several languages by their codes."""
    parts = getattr(result, "by_language", {"": result})
    return {code: part.report for code, part in parts.items()}


def _places(page: Path) -> list[Point]:
    """Name the page, and the next command."""
    from rankscope.document.blocks import Point

    shown = page if page.exists() else page.parent
    return [
        Point("Report", (str(shown),), is_code=True),
        Point("Next", (f"{program()} diagnose {quote(str(page.parent))}",), is_code=True),
    ]


@command(
    "rankscope benchmark run demo/bench.yaml", "rankscope benchmark verify benchmarks/recipes-*"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@option("--digest HEX", "Require this digest of the manifest, or its beginning")
@shared.output_options()
def verify(*, folder: Path, digest: str | None, output: Output) -> int:
    """Score an experiment's runs again, and check that its record holds.

    DIR is the folder of one experiment. Exit 1 if a hash, value, mean, interval, test, verdict or
    page was changed.
    """
    from rankscope.benchmark.verify import verify as verify_experiment

    verification = verify_experiment(folder, digest=digest or "")
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


@command("rankscope benchmark schema")
def schema() -> None:
    """Print the JSON schema of configs, for editors."""
    from rankscope.benchmark.config.model import config_json_schema

    print_json(config_json_schema())
