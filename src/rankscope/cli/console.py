"""How the command line writes: colour on a terminal, plain text in a pipe."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["counted", "make_console", "print_json"]


def make_console() -> Console:
    """Return a console for standard output; rich honours NO_COLOR and pipes by itself."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 100
    return Console(highlight=False, soft_wrap=False, width=width)


def print_json(value: Any) -> None:
    """Print one JSON document and nothing else."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def counted(count: int, noun: str) -> str:
    """Return ``3 queries``, ``1 line``, ``1,024 lines``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"
