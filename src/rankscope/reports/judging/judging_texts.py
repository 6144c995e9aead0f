r"""Texts on their way to a browser: nothing in them can hide, reverse or steer what is shown.

The page puts them in as text and never as HTML; here control characters and marks that change the
direction of writing are spelt out, and what is far too long is cut.
"""

from __future__ import annotations

import unicodedata
from typing import Any

LONGEST_NAME = 300
"""Characters of an id or a field's name that are shown."""
LONGEST_TITLE = 400
"""Characters of a title or a query that are shown until all of it is asked for."""
LONGEST_TEXT = 12_000
"""Characters of a text that are shown until all of it is asked for."""
LARGEST = 5_000_000
"""Characters of a text that are shown at all."""

_JOINERS = "\u200c\u200d"  # Persian and Indic words, and emoji, are written with them


def shown_text(text: str) -> str:
    r"""Return text as it may be shown, on several lines.

    >>> shown_text("caf\u00e9\u00a0au lait\r\n\x00 \u202egnp.exe")
    'café\xa0au lait\n\\x00 \\u202egnp.exe'
    """

    def is_shown(sign: str) -> bool:
        is_blank = unicodedata.category(sign) in ("Zs", "Co")
        return sign.isprintable() or is_blank or sign in _JOINERS

    lines = text.expandtabs(4).splitlines()
    return "\n".join(
        "".join(sign if is_shown(sign) else repr(sign)[1:-1] for sign in line) for line in lines
    )


def shown_line(text: str) -> str:
    """Return text as it may be shown, on one line."""
    return " ".join(shown_text(text).split("\n"))


def cut(text: str, limit: int) -> dict[str, Any]:
    """Return the beginning of a text, and how long all of it is where that is more.

    >>> cut("abcdef", 3)
    {'text': 'abc', 'length': 6}
    """
    if len(text) <= limit:
        return {"text": shown_text(text)}
    return {"text": shown_text(text[:limit]), "length": len(text)}


def name(text: str) -> str:
    """Return an id or a name, on one line and not too long."""
    line = shown_line(text[: LONGEST_NAME + 1])
    return line if len(text) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}…"
