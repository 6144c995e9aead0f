"""``rankscope judge`` by people: the page, what is judged so far, and its export."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import say
from rankscope.cli.output import Output, program, show_in_browser
from rankscope.errors import InputError, counted
from rankscope.files import decoded, read_bytes
from rankscope.records.experiment_files import QRELS
from rankscope.reports.judging.judging_desk import (
    GRADES,
    Desk,
    Terms,
    checked_rater,
    parse_grades,
    usual_guidelines,
)
from rankscope.reports.judging.judgment_exports import (
    check_kind,
    check_nothing_lost,
    existing_grades,
    export_format,
    given_grades,
    write_export,
)
from rankscope.reports.judging.judgment_log import JudgmentLog

if TYPE_CHECKING:
    from rankscope.reports.judging.judging_pool import JudgingPool
    from rankscope.reports.judging.judgment_log import Pair


def judge_on_page(
    read_pool: Callable[[], JudgingPool],
    place: str | None,
    runs: tuple[str, ...],
    options: Mapping[str, Any],
    output: Output,
) -> None:
    """Serve the page until it is interrupted, or export what is judged so far.

    ``place`` is the pool's file or folder, if it has one.
    """
    target, existing = options["export"], options["existing"]
    if existing is None and place is not None and (Path(place) / QRELS).is_file():
        existing = str(Path(place) / QRELS)  # of an experiment, whose judgments are there already
    log_path = _log_path(place, runs, options["log"])
    for written in (log_path, options["qrels"], target):
        _check_outside(place, written)
    grades = {} if existing is None else existing_grades(existing)
    if target is not None:
        _export(log_path, target, grades)
    else:
        desk = _desk(read_pool(), log_path, grades, options)
        _serve(desk, place or "--runs …", options["port"], output)


def _log_path(place: str | None, runs: tuple[str, ...], given: str | None) -> Path:
    """Return where judgments are logged: beside what is judged."""
    if given is not None:
        return Path(given)
    name = runs[0].rpartition("=")[2] if place is None else place
    if name == "-":
        raise click.UsageError("a pool from standard input needs --log FILE")
    if os.path.isdir(name):
        folder = Path(name).resolve()
        return folder.parent / f"{folder.name}.judgments.jsonl"
    return Path(f"{name}.judgments.jsonl")


def _check_outside(place: str | None, path: Path | str | None) -> None:
    """Refuse to write into an experiment, whose manifest lists what is in it."""
    if place is None or path is None or not os.path.isdir(place):
        return
    if Path(path).resolve().is_relative_to(Path(place).resolve()):
        raise InputError(f"{path}: is inside the experiment {place}; name a file outside of it")


def _export(log_path: Path, target: str, existing: dict[Pair, float]) -> None:
    """Write what is judged so far; say who judged, and where qrels hide that raters differ."""
    kind = export_format(target)
    if not log_path.is_file():
        raise InputError(
            f"{log_path}: file not found; nothing was judged yet, or name the log with --log"
        )
    log = JudgmentLog(log_path)
    write_export(log.judgments, target, existing)
    by_rater = (f"{rater} {len(log.judgments.of(rater)):,}" for rater in log.judgments.raters)
    say(f"judged pairs: {', '.join(by_rater)}")
    disputed = sum(len(set(grades)) > 1 for grades in given_grades(log.judgments).values())
    if disputed and kind != "ratings":
        say(
            f"raters differ on {counted(disputed, 'pair')}: qrels have the median grade; see where "
            "with --export ratings.csv and rankscope diagnose --ratings"
        )


def _desk(
    pool: JudgingPool, log_path: Path, existing: dict[Pair, float], options: Mapping[str, Any]
) -> Desk:
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
    log = JudgmentLog(log_path)
    if terms.qrels is not None:
        check_kind(terms.qrels, "qrels")
        check_nothing_lost(terms.qrels, log.judgments, existing)
    log.create()
    return Desk(pool, log, terms, existing)


def _serve(desk: Desk, what: str, port: int | None, output: Output) -> None:
    import signal
    import threading
    from contextlib import suppress

    from rankscope.reports.judging.judging_server import JudgingServer

    try:
        server = JudgingServer(desk, port=port)
    except OSError as error:
        raise InputError(
            f"--port {port}: cannot be used ({error.strerror}); name another port, or none"
        ) from None
    judged = len(desk.log.judgments.all())
    say(f"{desk.summary()}; {counted(judged, 'judgment')} in {desk.log.path}; Ctrl-C ends this")
    if desk.log.cut_short:
        lines = counted(desk.log.cut_short, "line")
        say(f"{desk.log.path}: passed over {lines} that a killed process did not finish")
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    if output.is_opened:
        threading.Thread(target=show_in_browser, args=(server.link,), daemon=True).start()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, stop)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    _finish(desk, what)


def _finish(desk: Desk, what: str) -> None:
    """Write the qrels of --qrels, and say where everything is."""
    with desk.log.held() as judgments:
        judged = len(judgments.all())
        written = desk.write_qrels()
    logged = f"{counted(judged, 'judgment')} in {desk.log.path}"
    if written is not None:
        say(f"{logged}; qrels written to {written}")
    elif judged:
        command = f"{program()} judge --log {quote(str(desk.log.path))} --export qrels.txt"
        say(f"{logged}; export them with: {command}")
    else:
        say(f"{logged}; nothing of {what} was judged")
