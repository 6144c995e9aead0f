"""Formulas, and what is said of things that have one, as HTML.

A formula is drawn as mathematics where it can be read, with its text below it for copying.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankscope.document.mathml import formula_lines
from rankscope.document.text import readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Entries, Entry

_PAGE_LEVEL = 4
"""Headings up to this level are those of a page; a fragment has lower ones."""


def _safe(text: object) -> str:
    return escape(readable(text))


def formula_html(text: str) -> str:
    """Return a formula: mathematics with its text below it, or only its text."""
    source = f"<code>{_safe(text)}</code>"
    drawn = formula_lines(readable(text), _safe)
    if not drawn:
        return f'<p class="formula-text">{source}</p>'
    return (
        '<div class="formula" tabindex="0" role="group" aria-label="Formula">\n'
        f'{drawn}\n</div>\n<p class="formula-text quiet">{source}</p>'
    )


def entries_html(block: Entries, level: int) -> str:
    """Return one thing after the other; in a fragment each is closed until it is asked for."""
    is_open = " open" if level <= _PAGE_LEVEL else ""
    return "\n".join(_entry(entry, is_open) for entry in block.entries)


def _entry(entry: Entry, is_open: str) -> str:
    note = f' <span class="note">({_safe(entry.note)})</span>' if entry.note else ""
    facts = "\n".join(
        f"<dt>{_safe(title)}</dt><dd>{_safe(text)}</dd>" for title, text in entry.facts
    )
    return "\n".join(
        [
            f'<details class="entry"{is_open}>',
            f"<summary><b>{_safe(entry.name)}</b>{note}: {_safe(entry.text)}</summary>",
            *([formula_html(entry.formula)] if entry.formula else []),
            *([f"<dl>\n{facts}\n</dl>"] if facts else []),
            "</details>",
        ]
    )
