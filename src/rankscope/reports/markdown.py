"""Markdown: text from anywhere shown as it is, and tables that line up in the source too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["code", "md", "one_line", "table"]

_SPECIAL = re.compile(r"[\\|*_`\[\]#~$]")
_LISTED = re.compile(r"^(\d+(?=[.)])|)([-+.)])(?=\s|$)")


def one_line(text: object) -> str:
    """Return text without line ends and control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text)).strip()


def md(text: object) -> str:
    """Return text that Markdown shows as it is, on one line, also in a table."""
    flat = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LISTED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", flat))


def code(text: str) -> str:
    """Return text as a code span that it cannot leave, also in a table."""
    flat = one_line(text).replace("|", "\\|") or " "
    fence = "`" * (1 + max(map(len, re.findall("`+", flat)), default=0))
    return f"{fence}{flat}{fence}" if len(fence) == 1 else f"{fence} {flat} {fence}"


def _wide(text: str) -> int:
    """Return how many places text takes in a fixed font."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def _padded(text: str, wide: int, *, right: bool) -> str:
    space = " " * (wide - _wide(text))
    return space + text if right else text + space


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)
) -> list[str]:
    """Return a table that lines up in the source too; columns in ``left`` are flush left."""
    flush = set(left)
    widths = [max(3, *(_wide(row[at]) for row in (head, *rows))) for at in range(len(head))]
    rule = ["-" * wide if at in flush else "-" * (wide - 1) + ":" for at, wide in enumerate(widths)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            _padded(cell, wide, right=at not in flush)
            for at, (cell, wide) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    return [line(head), line(rule), *map(line, rows)]
