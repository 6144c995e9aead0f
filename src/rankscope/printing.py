r"""What is printed: nothing in it can steer a terminal, and no secret is in it.

Ids, names and messages come from anywhere. A file or a pipe gets their bytes as they are; on a
terminal `visible` spells out what could steer it or hide what is shown. What must not be shown at
all is named by `hide_with`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

_hide: list[Callable[[str], str]] = []


def visible(text: object) -> str:
    r"""Return text on one line, with control characters spelt out.

    >>> visible("\x1b[31mred\n")
    '\\x1b[31mred\\n'
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)


def visible_lines(text: str) -> str:
    """Return text with control characters spelt out and its line ends kept."""
    return "".join(f"{visible(line)}\n" for line in text.split("\n"))[:-1]


def hide_with(*hide: Callable[[str], str]) -> None:
    """Take secrets out of all that is printed from now on; without arguments, out of nothing."""
    _hide[:] = hide


def without_secrets(text: str) -> str:
    """Return text without what must not be shown."""
    for hide in _hide:
        text = hide(text)
    return text


def put(text: str) -> None:
    """Write to standard output: to a terminal visibly, to anything else as it is."""
    text = without_secrets(text)
    is_terminal = sys.stdout.isatty()
    sys.stdout.write(visible_lines(text) if is_terminal else text)
    if is_terminal:
        sys.stdout.flush()


def put_line(text: str) -> None:
    """Write one line to standard error, if there is one that takes it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{visible(without_secrets(text))}\n")
        sys.stderr.flush()
    except OSError:  # a full disk, say: nobody can be told, and the exit code says the rest
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
