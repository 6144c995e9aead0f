"""``rankscope runs fetch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankscope.cli.options import (
    CACHE,
    CONFIG,
    JOBS,
    MAX_SIZE,
    NO_PYTHON,
    QUIET,
    SET,
    SYSTEMS,
    OutputName,
)
from rankscope.cli.output import print_json, print_line
from rankscope.errors import counted
from rankscope.printing import hide_with, put_line

if TYPE_CHECKING:
    from rankscope.benchmark.run import FetchedRun


@click.command()
@CONFIG
@SYSTEMS
@click.option(
    "-o",
    "--output",
    type=OutputName(),
    default="runs",
    show_default=True,
    metavar="DIR",
    help="Where the files go.",
)
@CACHE
@SET
@JOBS
@NO_PYTHON
@click.option(
    "--format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A line for each run as soon as it is written, or JSON at the end.",
)
@QUIET
@MAX_SIZE
def fetch(
    *,
    config: str,
    systems: tuple[str, ...],
    output: str,
    cache: str | None,
    settings: tuple[str, ...],
    jobs: int,
    no_python: bool,
    format: str,
    quiet: bool,
) -> int:
    """Make the run files of a benchmark's systems, and check them.

    CONFIG is the file of `rankscope benchmark run`. Every query that is judged is asked. What is
    answered is kept: after an interruption the next call goes on from there. A query that cannot be
    answered is asked again, and then listed as failed; it is not in the run. Exit 1 if a query
    failed or a run has errors. A config is code: the Python functions that it names are run;
    --no-python refuses such a config.
    """
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.run import fetch_runs
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.cli.progress import watching

    loaded = read_config(config, settings=settings)
    hide_with(loaded.secrets.hide)
    answers = sys.stdout
    with watching(quiet=quiet) as watcher:

        def report(run: FetchedRun) -> None:
            if format == "table" and not quiet:
                print_line(_line(run), answers)

        runs = fetch_runs(
            loaded,
            systems=systems,
            output=output,
            cache=cache,
            jobs=jobs,
            python=not no_python,
            watcher=watcher,
            written=report,
        )
    if format == "json":
        print_json([_plain(run) for run in runs])
    for run in runs:
        for sentence in _problems(run):
            put_line(f"{run.system}: {sentence}")
    return 0 if all(run.ok for run in runs) else ANSWER_IS_NO


def _problems(run: FetchedRun) -> list[str]:
    problems = [finding.sentence for finding in run.findings if finding.severity == "error"]
    if run.failures:
        query_id, why = next(iter(run.failures.items()))
        problems.append(
            f"{counted(len(run.failures), 'query')} failed, such as {query_id} ({why}); call this "
            "again to ask what failed once more"
        )
    return problems


def _line(run: FetchedRun) -> str:
    findings = ", ".join(finding.name for finding in run.findings) or "no findings"
    p95, stored = run.timings.p95, run.timings.stored
    latency = "" if p95 is None else f", p95 {1000 * p95:.1f} ms"
    kept = f" ({stored:,} kept from before)" if stored else ""
    queries = counted(len(run.run.query_ids), "query")
    size = f"{queries}{kept}, {counted(len(run.run), 'document')}{latency}"
    return f"{run.path}: {size}; {findings}"


def _plain(run: FetchedRun) -> dict[str, object]:
    return {
        "system": run.system,
        "path": str(run.path),
        "queries": len(run.run.query_ids),
        "rows": len(run.run),
        "ok": run.ok,
        "failures": dict(run.failures),
        "timings": run.timings.to_dict(),
        "findings": [finding.to_dict() for finding in run.findings],
    }
