"""How the command line writes: colour on a terminal, plain text in a pipe, no foreign escapes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["json_text", "make_console", "print_json", "visible"]


def visible(text: str) -> str:
    r"""Return text with control characters spelt out, so that an id cannot steer a terminal.

    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def make_console() -> Console:
    """Return a console for standard output; rich honours NO_COLOR and pipes by itself."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for `main` to handle, as everywhere else

    width = None if sys.stdout.isatty() else 100
    return Output(highlight=False, markup=False, emoji=False, soft_wrap=False, width=width)


def json_text(value: Any, *, unicode: bool = True) -> str:
    """Return one JSON document; what could steer a terminal is escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=not unicode, allow_nan=False)
    return (text if text.isascii() else "".join(map(_escaped_in_json, text))) + "\n"


def _escaped_in_json(one: str) -> str:
    return one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1]


def print_json(value: Any) -> None:
    """Print one JSON document and nothing else."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json_text(value, unicode=unicode), nl=False)
