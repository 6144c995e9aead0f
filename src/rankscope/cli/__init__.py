"""The command line: one file per command, the only place that prints.

Nothing here may import polars, numpy or a table at the top of a module: ``--help`` stays instant.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import TYPE_CHECKING

from rankscope.errors import RankscopeError, shown
from rankscope.printing import hide_with, put_line, without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click import ClickException

ROOT = logging.getLogger("rankscope")
ROOT.addHandler(logging.NullHandler())  # silent unless somebody listens
log = logging.getLogger(__name__)

ANSWER_IS_NO = 1
CANNOT_ANSWER = 2
OUR_FAULT = 70
INTERRUPTED = 130

_DEBUG = "rankscope --debug"
"""The handler of what is logged."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one sentence and exit 2, our own exit 70."""
    if sys.stdout is None:  # as with `>&-`
        say("standard output is closed, and there is nowhere to write to; name a file with -o")
        sys.exit(CANNOT_ANSWER)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a sign shows its number
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _status(arguments)
    except SystemExit:
        raise
    except BaseException as error:  # MemoryError comes from anywhere, and a panic in Rust, too
        show_traceback(error)
        sentence, status = _refusal(error)
        say(sentence)
    finally:
        stop_listening()
        hide_with()
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code."""
    from rankscope.cli.app import ReaderGoneError, app

    try:
        status = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="rankscope",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGoneError):  # as in `rankscope … | head -1`
        _discard_output()
        return 0
    return status if isinstance(status, int) else 0


def _refusal(error: BaseException) -> tuple[str, int]:
    """Return what is said of an error, and the exit code."""
    import click

    from rankscope.cli.output import as_typed

    match error:
        case click.ClickException():
            return _usage_sentence(error), CANNOT_ANSWER
        case click.Abort() | KeyboardInterrupt():
            return "interrupted", INTERRUPTED
        case RankscopeError():
            return as_typed(str(error)), CANNOT_ANSWER
        case MemoryError():
            return "not enough memory for this input; split it and try again", CANNOT_ANSWER
        case OSError(filename=None):  # standard output, which is written to at the end once more
            _discard_output()
            why = error.strerror or error
            return f"standard output could not be written ({why}); make room for it", CANNOT_ANSWER
        case OSError():
            return f"{error.filename}: {error.strerror or error}", CANNOT_ANSWER
        case UnicodeEncodeError():  # half a sign of UTF-16, which no name of a file can hold
            name = shown(error.object, 200)
            return f"{name} is not valid text and cannot be a name; correct it", CANNOT_ANSWER
    what = f"this is a fault of rankscope ({type(error).__name__}: {error})"
    return f"{what}; run again with 'rankscope --debug …' and report what it prints", OUR_FAULT


def _discard_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_sentence(error: ClickException) -> str:
    """Say in one sentence what is wrong with what was typed."""
    from difflib import get_close_matches

    import click

    if isinstance(error, click.NoSuchOption):
        nearest = get_close_matches(error.option_name, error.possibilities or (), cutoff=0.7)
        more = f"did you mean {' or '.join(nearest)}?" if nearest else "--help lists those it has"
        return f"no option {error.option_name}; {more}"
    message = error.format_message().rstrip(".")
    if message[1:2].islower():
        message = message[0].lower() + message[1:]
    is_about_arguments = isinstance(error, click.MissingParameter) or "extra arg" in message
    if is_about_arguments and isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message}; {error.ctx.get_usage().replace('Usage:', 'usage:')}"
    return message


def say(sentence: str) -> None:
    """Print one sentence on standard error."""
    put_line(f"rankscope: {sentence}")


class _Formatter(logging.Formatter):
    """Writes messages and tracebacks without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a message."""
        return without_secrets(super().format(record))


def listen() -> None:
    """Print debug messages on standard error from now on."""
    stop_listening()
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_DEBUG)
    handler.setFormatter(_Formatter("%(levelname)s %(name)s: %(message)s"))
    ROOT.addHandler(handler)
    ROOT.setLevel(logging.DEBUG)
    log.debug("Python %s, %s", sys.version.split()[0], " ".join(sys.argv))


def stop_listening() -> None:
    """Be silent again."""
    for handler in list(ROOT.handlers):
        if handler.name == _DEBUG:
            ROOT.removeHandler(handler)
            ROOT.setLevel(logging.NOTSET)


def show_traceback(error: BaseException) -> None:
    """Log the traceback of an error with everything that led to it, also what was hidden."""
    cause: BaseException | None = error
    while cause is not None and log.isEnabledFor(logging.DEBUG):
        cause.__suppress_context__ = cause.__cause__ is not None
        cause = cause.__cause__ or cause.__context__
    log.debug("the command failed", exc_info=error)
