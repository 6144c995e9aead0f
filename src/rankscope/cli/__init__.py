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
    try:
        status = _status(arguments)
    except MemoryError as error:  # anywhere: also where a command is imported
        from rankscope.cli.debugging import show_traceback

        show_traceback(error)
        say("not enough memory for this input; split it and try again")
        status = CANNOT_ANSWER
    finally:
        from rankscope.cli.debugging import stop_listening

        stop_listening()
        hide_with()
    sys.exit(status)


class _Unstripped(io.StringIO):
    """Text of which click removes nothing, as it does where there is no terminal."""

    def isatty(self) -> bool:
        return True


def _with_nearest_options(error: ClickException) -> ClickException:
    """Propose the nearest option first, and no other that merely shares some letters."""
    from difflib import get_close_matches

    import click

    if not isinstance(error, click.NoSuchOption) or not error.possibilities:
        return error
    nearest = get_close_matches(error.option_name, error.possibilities, cutoff=0.7)
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    return click.UsageError(f"{error.message}{hint}", error.ctx)


def _status(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code."""
    import click

    from rankscope.cli.app import ReaderGoneError, app
    from rankscope.cli.debugging import show_traceback

    try:
        status = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="rankscope",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except click.ClickException as error:
        message = _Unstripped()
        _with_nearest_options(error).show(message)  # it may repeat what was typed
        for line in message.getvalue().rstrip("\n").split("\n"):
            put_line(line)
        return CANNOT_ANSWER
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, ReaderGoneError):  # as in `rankscope … | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except RankscopeError as error:
        from rankscope.cli.output import as_typed

        show_traceback(error)
        say(as_typed(str(error)))
        return CANNOT_ANSWER
    except OSError as error:
        show_traceback(error)
        if error.filename is not None:
            say(f"{error.filename}: {error.strerror or error}")
            return CANNOT_ANSWER
        # no file is named: this is standard output, which is written to at the end once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"standard output could not be written ({error.strerror or error}); make room for it")
        return CANNOT_ANSWER
    except UnicodeEncodeError as error:  # half a sign of UTF-16, which no name of a file can hold
        show_traceback(error)
        say(f"{shown(error.object, 200)} is not valid text and cannot be a name; correct it")
        return CANNOT_ANSWER
    except (MemoryError, SystemExit):
        raise
    except (
        BaseException
    ) as error:  # a panic in Rust, too; a fault of our own must not look like an answer
        show_traceback(error)
        what = f"this is a fault of rankscope ({type(error).__name__}: {error})"
        say(f"{what}; run again with 'rankscope --debug …' and report what it prints")
        return OUR_FAULT
    return status if isinstance(status, int) else 0


def say(sentence: str) -> None:
    """Print one sentence on standard error."""
    put_line(f"rankscope: {sentence}")
