"""Pictures: each is drawn once, and shown in a page, in a notebook, or as an SVG file of its own.

No script, no inline style, nothing fetched. Colours are classes, so they follow the reader's light
or dark setting; a file has them inside, as it knows no page.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.bar_charts import bars
from rankscope.document.blocks import Chart
from rankscope.document.canvas import LINE, Drawing, label, place, safe, with_note, wrapped
from rankscope.document.palette import palette
from rankscope.document.picture_words import described
from rankscope.document.plots import plot

if TYPE_CHECKING:
    from rankscope.document.blocks import Picture

SCALE = 1.3
"""How much larger than its units a picture is where there is room."""

_MOST_LINES = 4
"""A title in a file has at most so many lines."""

PICTURE_STYLE = (files("rankscope.document") / "pictures.css").read_text("utf-8")
"""The rules of pictures; all are for what is inside ``.rankscope``."""

_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def drawn(block: Picture) -> Drawing | None:
    """Draw a picture without its frame; None where there is nothing to draw."""
    drawing = bars(block) if isinstance(block, Chart) else plot(block)
    return None if drawing is None else with_note(drawing, block.note)


def figure(block: Picture, heading: str, key: str) -> str:
    """Return a picture for a page, below its heading; '' where there is nothing to draw.

    ``key`` tells apart pictures of one page that are the same.
    """
    drawing = drawn(block)
    if drawing is None:
        return ""
    size = f'width="{place(SCALE * drawing.width)}" height="{place(SCALE * drawing.height)}"'
    return (
        f'<figure>\n{heading}\n<div class="frame">'
        f'<svg class="picture" {size} {_inside(block, drawing, key)}</svg></div>\n</figure>'
    )


def standalone(block: Picture) -> str:
    """Return a picture as a complete SVG file, its title above it; '' if there is nothing to draw.

    It holds its colours for light and dark pages, and needs nothing else.
    """
    drawing = drawn(block)
    if drawing is None:
        return ""
    edge = 16
    lines = wrapped(block.title, drawing.width / 1.1)[:_MOST_LINES]  # bold letters are wider
    top = (LINE + 2) * len(lines) + 8
    title = (
        label(text, 0, (LINE + 2) * (number + 0.5), "title") for number, text in enumerate(lines)
    )
    body = f'{"".join(title)}<g transform="translate(0 {top})">{"".join(drawing.pieces)}</g>'
    width, height = (
        place(size) for size in (drawing.width + 2 * edge, drawing.height + top + 2 * edge)
    )
    framed = Drawing(
        drawing.width + 2 * edge,
        drawing.height + top + 2 * edge,
        (
            f"<style>{_own_style()}</style>",
            f'<rect width="{width}" height="{height}" class="paper"/>',
            f'<g transform="translate({edge} {edge})">{body}</g>',
        ),
    )
    inside = _inside(block, framed, "")
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="picture" '
        f'width="{width}" height="{height}" {inside}</svg>\n'
    )


def _inside(block: Picture, drawing: Drawing, key: str) -> str:
    """Return the rest of the first tag, what the picture is called and shows, and the picture."""
    pieces = "".join(drawing.pieces)
    about = described(block)
    content = "\0".join((key, block.title, about, pieces)).encode("utf-8", "surrogatepass")
    name = f"picture-{hashlib.sha256(content).hexdigest()[:10]}"
    return (
        f'viewBox="0 0 {place(drawing.width)} {place(drawing.height)}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{safe(block.title)}</title>'
        f'<desc id="{name}-desc">{safe(about)}</desc>{pieces}'
    )


# --- the colours of a file -----------------------------------------------------------------------


@cache
def _own_style() -> str:
    """Return the rules for a file: light colours, and dark ones for who wants them."""
    light = {name: shade for name, shade, _ in palette()}
    dark = {name: shade for name, _, shade in palette()}
    plain = re.sub(r"/\*.*?\*/", "", PICTURE_STYLE, flags=re.DOTALL).replace(".rankscope ", "")
    rules = [" ".join(rule.split()) for rule in re.findall(r"[^{}]+\{[^{}]*\}", plain)]
    rules.insert(0, f".picture {{ font-family: {_FONT}; }}")
    coloured = [rule for rule in rules if _VARIABLE.search(rule)]

    def resolved(rules: list[str], palette: dict[str, str]) -> str:
        return "\n".join(_VARIABLE.sub(lambda match: palette[match[1]], rule) for rule in rules)

    text = (
        f"{resolved(rules, light)}\n"
        f"@media (prefers-color-scheme: dark) {{\n{resolved(coloured, dark)}\n}}"
    )
    return escape(text, quote=False)
