"""``rankscope judge``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.judging_pools import chosen_pool, pool_options
from rankscope.cli.options import MAX_SIZE, OutputName, check_standard_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.document.blocks import Document
    from rankscope.reports.judging.judging_desk import Desk
    from rankscope.reports.judging.judging_pool import JudgingPool
    from rankscope.reports.judging.judgment_log import JudgmentLog, Pair


@click.command()
@click.argument("pool", metavar="[POOL|DIR]", required=False)
@pool_options
@click.option("--rater", metavar="NAME", help="Who judges; else the page asks.")
@click.option(
    "--order",
    type=click.Choice(["random", "depth", "given"]),
    default="random",
    show_default=True,
    help="Documents of each query at random, by their best rank, or all as in the pool.",
)
@click.option(
    "--grades",
    metavar="LIST",
    help="Grades and what they mean, such as '0=no,1=yes'.  [default: 0=not relevant, 1=related, "
    "2=relevant, 3=perfect]",
)
@click.option("--guidelines", metavar="FILE", help="Text that raters can open beside documents.")
@click.option(
    "--existing",
    metavar="QRELS",
    help="Judgments that are there already: not asked again, and part of qrels that are written.  "
    "[default: of DIR, its own]",
)
@click.option(
    "--log",
    "log_file",
    type=OutputName(),
    metavar="FILE",
    help="Where judgments are kept.  [default: beside the pool, NAME.judgments.jsonl]",
)
@click.option(
    "--qrels",
    type=OutputName(),
    metavar="OUT",
    help="Write qrels there at the end: .qrels or .txt (TREC), .tsv (BEIR).",
)
@click.option(
    "--export",
    "target",
    type=OutputName(),
    metavar="OUT",
    help="Write what is judged so far, and serve nothing.",
)
@click.option(
    "--as",
    "format",
    type=click.Choice(["trec", "beir", "ratings"]),
    help="With --export: the format.  [default: by suffix: .qrels, .txt; .tsv; .csv, .jsonl]",
)
@click.option("--status", is_flag=True, help="Say what is judged and by whom, and serve nothing.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port of the page.")
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Open a browser or not.  [default: open it if this is a terminal]",
)
@MAX_SIZE
def judge(
    *,
    pool: str | None,
    runs: tuple[str, ...],
    target: str | None,
    format: str | None,
    status: bool,
    **options: Any,
) -> None:
    """Judge documents on a page of this machine: one key gives a grade, saves it and goes on.

    POOL names the pairs to judge: what 'rankscope diagnose --pool' writes, or any table of queries
    and documents. Of DIR, the folder of a benchmark, it is what its report says to judge next.
    With --runs it is the first documents of runs. The link that is printed opens the page; systems,
    ranks and scores are not shown. Each judgment is on the disk before the page says so, and
    several raters may judge under their names, one after the other or at the same time.
    """
    if pool is None and not runs and not (options["log_file"] and (target or status)):
        raise click.UsageError("Name what to judge: POOL, DIR or --runs RUN.")
    if format is not None and target is None:
        raise click.UsageError("--as needs --export OUT")
    if target is not None and status:
        raise click.UsageError("--export and --status cannot both be given")
    if options["existing"] is None and pool is not None:
        from rankscope.records.table_names import QRELS

        judged = Path(pool) / QRELS  # of an experiment, whose judgments are there already
        options["existing"] = str(judged) if judged.is_file() else None
    log_path = _log_path(pool, runs, options["log_file"])
    for written in (log_path, options["qrels"], target):
        _check_outside(pool, written)
    if target is not None:
        _export(log_path, target, format, options["existing"])
    elif status:
        _print_status(log_path)
    else:
        check_standard_input(pool, *runs, options["queries"], options["corpus"])
        _serve(
            _desk(chosen_pool(pool, runs, options), log_path, options), pool or "--runs …", options
        )


def _log_path(pool: str | None, runs: tuple[str, ...], given: str | None) -> Path:
    """Return where judgments are kept: beside what is judged."""
    if given is not None:
        return Path(given)
    name = runs[0].rpartition("=")[2] if pool is None else pool
    if name == "-":
        raise click.UsageError("a pool from standard input needs --log FILE")
    if os.path.isdir(name):
        folder = Path(name).resolve()
        return folder.parent / f"{folder.name}.judgments.jsonl"
    return Path(f"{name}.judgments.jsonl")


def _check_outside(pool: str | None, path: Path | str | None) -> None:
    """Refuse to write into an experiment, whose manifest lists what is in it."""
    if pool is None or path is None or not os.path.isdir(pool):
        return
    if Path(path).resolve().is_relative_to(Path(pool).resolve()):
        from rankscope.errors import InputError

        raise InputError(f"{path}: is inside the experiment {pool}; name a file outside of it")


def _desk(pool: JudgingPool, log_path: Path, options: Mapping[str, Any]) -> Desk:
    from rankscope.files import decoded, read_bytes
    from rankscope.reports.judging.judging_desk import (
        GRADES,
        Desk,
        Terms,
        checked_rater,
        parse_grades,
        usual_guidelines,
    )
    from rankscope.reports.judging.judgment_exports import check_nothing_lost, qrels_format
    from rankscope.reports.judging.judgment_log import JudgmentLog

    grades = GRADES if options["grades"] is None else parse_grades(options["grades"])
    guidelines = usual_guidelines(grades)
    if options["guidelines"] is not None:
        guidelines = decoded(read_bytes(options["guidelines"]), source=options["guidelines"])
    terms = Terms(
        grades=grades,
        order=options["order"],
        guidelines=guidelines,
        rater=None if options["rater"] is None else checked_rater(options["rater"]),
        qrels=options["qrels"],
    )
    existing = _existing(options["existing"])
    log = JudgmentLog(log_path)
    if terms.qrels is not None:
        qrels_format(terms.qrels)
        check_nothing_lost(terms.qrels, log.judgments, existing)
    log.create()
    return Desk(pool, log, terms, existing)


def _existing(path: str | None) -> dict[Pair, float]:
    if path is None:
        return {}
    from rankscope.reports.judging.judgment_exports import existing_grades

    return existing_grades(path)


# --- without a server ----------------------------------------------------------------------------


def _read_log(path: Path) -> JudgmentLog:
    from rankscope.errors import InputError
    from rankscope.reports.judging.judgment_log import JudgmentLog

    if not path.is_file():
        raise InputError(
            f"{path}: file not found; nothing was judged yet, or name the log with --log"
        )
    return JudgmentLog(path)


def _export(log_path: Path, target: str, format: str | None, existing: str | None) -> None:
    from rankscope.reports.judging.judgment_exports import export_format, write_export

    chosen = export_format(target, format)
    log = _read_log(log_path)
    write_export(log.judgments, target, chosen, existing=_existing(existing))
    _say_disputed(log)


def _say_disputed(log: JudgmentLog) -> None:
    """Say that qrels hide differences, where they do."""
    from rankscope.cli import say
    from rankscope.errors import counted
    from rankscope.reports.judging.judging_agreement import judging_agreement

    disputed = len(judging_agreement(log.judgments).again)
    if disputed:
        say(
            f"raters differ on {counted(disputed, 'pair')}: qrels have the median grade, and "
            "--status lists them"
        )


def _print_status(log_path: Path) -> None:
    from rankscope.cli.output import emit
    from rankscope.reports.judging.judgment_log import JudgmentLog

    log = JudgmentLog(log_path)
    emit(_status_document(log), format="table")


def _status_document(log: JudgmentLog) -> Document:
    from rankscope.reports.judging.judging_status import status_document

    return status_document(log)


# --- with a server -------------------------------------------------------------------------------


def _serve(desk: Desk, what: str, options: Mapping[str, Any]) -> None:
    import signal
    from contextlib import suppress

    from rankscope.cli import say
    from rankscope.errors import InputError, counted
    from rankscope.reports.judging.judging_server import JudgingServer

    try:
        server = JudgingServer(desk, port=options["port"])
    except OSError as error:
        raise InputError(
            f"--port {options['port']}: cannot be used ({error.strerror}); name another port, or "
            "none"
        ) from None
    judged = sum(1 for _ in desk.log.judgments.all())
    say(f"{desk.summary()}; {counted(judged, 'judgment')} in {desk.log.path}; Ctrl-C ends this")
    if desk.log.cut_short:
        lines = counted(desk.log.cut_short, "line")
        say(f"{desk.log.path}: passed over {lines} that a killed process did not finish")
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    if options["opens"] or (options["opens"] is None and _can_open()):
        _open(server.launch_link())

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, stop)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    _finish(desk, what)


def _can_open() -> bool:
    """Tell whether somebody is at this machine who would see a browser."""
    has_screen = os.name == "nt" or sys.platform == "darwin"
    shown_on = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and bool(has_screen or shown_on)


def _open(link: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _finish(desk: Desk, what: str) -> None:
    """Write the qrels that were asked for, and say where everything is."""
    from shlex import quote

    from rankscope.cli import say
    from rankscope.cli.output import program
    from rankscope.errors import counted

    with desk.log.held() as judgments:
        judged = sum(1 for _ in judgments.all())
        written = desk.write_qrels()
    kept = f"{counted(judged, 'judgment')} in {desk.log.path}"
    if written is not None:
        say(f"{kept}; qrels written to {written}")
    elif judged:
        command = f"{program()} judge --log {quote(str(desk.log.path))} --export qrels.txt"
        say(f"{kept}; export them with: {command}")
    else:
        say(f"{kept}; nothing of {what} was judged")
