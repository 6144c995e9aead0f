"""``rankscope load``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankscope.cli.options import (
    CACHE,
    CONFIG,
    MAX_SIZE,
    NO_PYTHON,
    QUIET,
    SEED,
    SET,
    OutputName,
    format_option,
)
from rankscope.cli.output import emit, json_text, print_line, write_file

if TYPE_CHECKING:
    from rankscope.benchmark.load_test import LoadTested
    from rankscope.runs.load_record import Arrivals


@click.command()
@CONFIG
@click.option("--system", required=True, metavar="NAME", help="The system of the config to load.")
@click.option(
    "--rate", type=float, required=True, metavar="N", help="Queries that arrive in a second."
)
@click.option(
    "--seconds",
    type=float,
    default=30,
    show_default=True,
    help="How long to measure; at most an hour, and a million queries in all.",
)
@click.option(
    "--warm-up",
    type=float,
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="How long queries arrive before, which are not counted.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["constant", "poisson"]),
    default="constant",
    show_default=True,
    help="At equal distances, or at random times, as the queries of many users.",
)
@click.option(
    "--most-in-flight",
    type=int,
    default=256,
    show_default=True,
    metavar="N",
    help="How many queries may be on their way at a time; others wait, which counts.",
)
@click.option(
    "--grace",
    type=float,
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long answers are waited for after the last query.",
)
@SEED
@click.option(
    "--yes",
    is_flag=True,
    help="Load a system on another machine with more than 100 queries a second.",
)
@click.option(
    "--output",
    type=OutputName(),
    default="benchmarks",
    show_default=True,
    metavar="DIR",
    help="Where the experiment of the config is, to which the result is added.",
)
@click.option(
    "-o", "--record", type=OutputName(), metavar="FILE", help="Write the result there, too (JSON)."
)
@CACHE
@SET
@NO_PYTHON
@format_option()
@QUIET
@MAX_SIZE
def load(
    *,
    config: str,
    system: str,
    rate: float,
    seconds: float,
    warm_up: float,
    arrivals: Arrivals,
    most_in_flight: int,
    grace: float,
    seed: int,
    yes: bool,
    output: str,
    record: str | None,
    cache: str | None,
    settings: tuple[str, ...],
    no_python: bool,
    format: str,
    quiet: bool,
) -> int:
    """Measure how a system answers while queries arrive at a given rate.

    CONFIG is the file of `rankscope benchmark run`. Queries arrive at times that are set before: no
    query waits for the answer to another (open loop). Response times count from these times, so
    that a system that stalls is seen as its users see it. Nothing that was kept is used, and what
    fails is not repeated. Only what the config names is asked.

    The result is added to the experiment of the config in --output, if there is one: to its record,
    its pages and the chart of quality against latency. Ctrl-C ends the test and shows what was
    measured. Exit 1 if a query failed or was not answered.
    """
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.load_test import load_test
    from rankscope.cli import ANSWER_IS_NO, INTERRUPTED
    from rankscope.cli.progress import watching
    from rankscope.errors import InputError
    from rankscope.printing import hide_with, put_line

    if record is not None:
        _check_place(record)
    loaded = read_config(config, settings=settings)
    hide_with(loaded.secrets.hide)
    with watching(quiet=quiet) as watcher:
        tested = load_test(
            loaded,
            system,
            rate=rate,
            seconds=seconds,
            warm_up=warm_up,
            arrivals=arrivals,
            seed=seed,
            most_in_flight=most_in_flight,
            grace=grace,
            yes=yes,
            output=output,
            cache=cache,
            python=not no_python,
            watcher=watcher,
            announce=None if quiet else put_line,
        )
    result = tested.record
    if not quiet or format == "json":
        emit(result, format=format)
    if record is not None:
        write_file(record, json_text(result.to_dict()))
    if not quiet:
        for line in _whereabouts(tested, config, output, record):
            if format == "table":
                print_line(line)
            else:
                put_line(line)
    if tested.problem:
        raise InputError(tested.problem)
    if result.interrupted:
        return INTERRUPTED
    return ANSWER_IS_NO if result.failed or result.unfinished else 0


def _check_place(record: str) -> None:
    """Refuse a file that could not be written, before an hour is spent on what it is to hold."""
    from pathlib import Path

    from rankscope.errors import InputError

    if Path(record).is_dir():
        raise InputError(f"{record}: is a folder; name a file to write")
    if not Path(record).parent.is_dir():
        raise InputError(f"{record}: its folder is not there; make it first")


def _whereabouts(tested: LoadTested, config: str, output: str, record: str | None) -> list[str]:
    """Say where the result is, or how to get it there."""
    from rankscope.benchmark.load_test import experiment_files
    from rankscope.benchmark.verify import digest_of

    lines = [""]
    if record is not None:
        lines.append(f"written to {record}")
    if tested.written is not None:
        folder = tested.written.folder
        lines += [f"written to {path}" for path in experiment_files(folder)]
        lines.append(f"digest {digest_of(folder)}")
        if tested.written.was_signed:
            lines.append(
                "the experiment was signed as it was before; sign it again with "
                "'rankscope benchmark sign'"
            )
    elif tested.record.interrupted:
        lines.append("ended early, so this is not added to an experiment")
    elif tested.problem:
        lines.append("this is not added to the experiment")
    else:
        lines.append(
            f"there is no experiment of this config in {output}; make one with "
            f"'rankscope benchmark run {config}', and the next load test is added to it"
        )
    return lines
