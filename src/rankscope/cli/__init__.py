"""The command line: one file per command, the only place that prints.

Nothing here may import polars, numpy or a table at the top of a module: ``--help`` stays instant.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from rankscope.errors import RankscopeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

ANSWER_IS_NO = 1
CANNOT_ANSWER = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one sentence and exit 2."""
    import click

    from rankscope.cli.app import ReaderGoneError, app
    from rankscope.cli.console import visible

    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a sign shows its number
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="rankscope",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(CANNOT_ANSWER)
    except (click.Abort, KeyboardInterrupt):
        click.echo("rankscope: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except (BrokenPipeError, ReaderGoneError):  # whoever read our output left, which is their right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except RankscopeError as error:
        click.echo(visible(f"rankscope: {error}"), err=True)
        sys.exit(CANNOT_ANSWER)
    except MemoryError:
        click.echo("rankscope: not enough memory for this input; split it and try again", err=True)
        sys.exit(CANNOT_ANSWER)
    sys.exit(status if isinstance(status, int) else 0)
