"""``rankscope runs fetch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankscope.cli.benchmark_run import CACHE, CONFIG, JOBS, SET
from rankscope.cli.console import make_console, print_json, visible

if TYPE_CHECKING:
    from rankscope.benchmark.run import FetchedRun

__all__ = ["fetch"]


@click.command()
@CONFIG
@click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="Only this system (repeatable)."
)
@click.option(
    "-o", "--output", default="runs", show_default=True, metavar="DIR", help="Where the files go."
)
@CACHE
@SET
@JOBS
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def fetch(
    *,
    config: str,
    systems: tuple[str, ...],
    output: str,
    cache: str | None,
    settings: tuple[str, ...],
    jobs: int,
    format: str,
    quiet: bool,
) -> None:
    """Make the run files of a benchmark's systems, and check them.

    CONFIG is the file of `rankscope benchmark run`. Every query that is judged is asked. What is
    answered is kept: after an interruption the next call goes on from there. A query that cannot be
    answered is asked again, and then listed as failed; it is not in the run. Exit 1 if a query
    failed or a run has errors.
    """
    from rankscope.benchmark.run import fetch_runs
    from rankscope.cli.progress import watching
    from rankscope.errors import counted

    console = make_console()

    def told(one: FetchedRun) -> None:
        if format == "table" and not quiet:
            console.print(visible(_line(one)), soft_wrap=True)

    with watching(quiet=quiet) as watcher:
        found = fetch_runs(
            config,
            systems=systems,
            output=output,
            cache=cache,
            settings=settings,
            jobs=jobs,
            watcher=watcher,
            written=told,
        )
    if format == "json":
        print_json([_plain(one) for one in found])
    for one in found:
        for finding in one.findings:
            if finding.severity == "error":
                click.echo(visible(f"{one.system}: {finding.sentence}"), err=True)
        if one.failures:
            first, why = next(iter(one.failures.items()))
            click.echo(
                visible(
                    f"{one.system}: {counted(len(one.failures), 'query')} failed, such as {first} "
                    f"({why}); call this again to ask what failed once more"
                ),
                err=True,
            )
    if not all(one.ok for one in found):
        sys.exit(1)


def _line(one: FetchedRun) -> str:
    kinds = ", ".join(finding.name for finding in one.findings) or "nothing to remark"
    latency = one.timings["p95"]
    took = "" if latency is None else f", p95 {1000 * latency:.1f} ms"
    stored = one.timings["stored"]
    kept = f" ({stored:,} kept from before)" if stored else ""
    found = f"{len(one.run.query_ids):,} queries{kept}, {len(one.run):,} documents{took}"
    return f"{one.path}: {found}; {kinds}"


def _plain(one: FetchedRun) -> dict[str, object]:
    return {
        "system": one.system,
        "path": str(one.path),
        "queries": len(one.run.query_ids),
        "rows": len(one.run),
        "ok": one.ok,
        "failures": dict(one.failures),
        "timings": dict(one.timings),
        "findings": [finding.to_dict() for finding in one.findings],
    }
