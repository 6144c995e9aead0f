"""The command line: one file per command, the only place that prints.

Nothing here may import polars, numpy or a table at the top of a module: ``--help`` stays instant.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from rankscope.errors import RankscopeError, shown
from rankscope.printing import hide_with, put_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click import ClickException

ANSWER_IS_NO = 1
CANNOT_ANSWER = 2
OUR_FAULT = 70
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one sentence and exit 2, our own exit 70."""
    if sys.stdout is None:  # as with `>&-`
        say("standard output is closed, and there is nowhere to write to; name a file with -o")
        sys.exit(CANNOT_ANSWER)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a sign shows its number
        sys.stdout.reconfigure(errors="backslashreplace")
    from rankscope.cli.debugging import show_traceback, stop_listening

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
