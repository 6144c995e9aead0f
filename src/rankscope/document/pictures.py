"""Pictures: each is drawn once, and shown in a page or in a notebook.

No script, no inline style, nothing fetched. Colours are classes, so they follow the reader's light
or dark setting.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.bar_charts import bars
from rankscope.document.blocks import Chart
from rankscope.document.canvas import Drawing, place, safe, with_note
from rankscope.document.picture_words import described
from rankscope.document.plots import plot

if TYPE_CHECKING:
    from rankscope.document.blocks import Picture

SCALE = 1.3
"""How much larger than its units a picture is where there is room."""

PICTURE_STYLE = (files("rankscope.document") / "pictures.css").read_text("utf-8")
"""The rules of pictures; all are for what is inside ``.rankscope``."""


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
