"""Heatmaps as SVG: each cell has its figure, and a colour as strong as its value is far from 0.

Where values are not differences, the strength of the colour goes from the lowest to the highest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankscope.document.canvas import WIDTH, Drawing, box, label, text_at, width_of
from rankscope.document.text import NOTHING, number, readable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.document.blocks import Heatmap

_LONGEST = 170
"""Labels of rows have at most this width."""
_HIGHEST = 120
"""Labels of columns, where they are turned, have at most this length."""
_ROW = 26
_TURN = -40
_FAINTEST, _STRONGEST = 0.06, 0.5
"""How much colour cells have: so little that figures can be read on all of them."""


def heatmap(block: Heatmap) -> Drawing | None:
    """Draw a cell for each value, below the names of the columns and beside those of the rows."""
    if not block.rows or not block.columns:
        return None
    shown = [[_figure(value, block) for value in row.values] for row in block.rows]
    names = max(width_of(readable(row.label)[:60]) for row in block.rows)
    left = min(names, _LONGEST) + 10
    widest = max((width_of(text) for row in shown for text in row), default=0) + 10
    cell = max(widest, min((WIDTH - left) / len(block.columns), 76))
    titles = [width_of(readable(column)[:60]) for column in block.columns]
    is_turned = max(titles) > cell - 6
    slope = math.radians(-_TURN)
    longest = min(max(titles), _HIGHEST)
    top = longest * math.sin(slope) + 16 if is_turned else 24
    overhang = longest * math.cos(slope) - cell / 2 + 4 if is_turned else 0
    width = max(left + cell * len(block.columns) + max(overhang, 0), WIDTH)
    pieces = []
    for column, title in enumerate(block.columns):
        middle = left + cell * (column + 0.5)
        if is_turned:
            pieces.append(label(title, middle, top - 8, "name", room=longest + 1, turned=_TURN))
        else:
            pieces.append(label(title, middle, top - 12, "name", anchor="middle"))
    strength = _strength(block)
    for number_, (row, texts) in enumerate(zip(block.rows, shown, strict=True)):
        y = top + _ROW * number_
        pieces.append(label(row.label, 0, y + _ROW / 2, "name", room=left - 10 + 1))
        for column, (value, text) in enumerate(zip(row.values, texts, strict=True)):
            x = left + cell * column
            if value is None or not math.isfinite(value):
                pieces.append(box(x + 1, y + 1, cell - 2, _ROW - 2, "empty"))
            else:
                kind = "cell below" if block.signed and value < 0 else "cell"
                colour = f' fill-opacity="{strength(value):.2f}"'
                pieces.append(box(x + 1, y + 1, cell - 2, _ROW - 2, kind, more=colour))
            pieces.append(text_at(text, x + cell / 2, y + _ROW / 2, "figure", anchor="middle"))
    return Drawing(width, top + _ROW * len(block.rows), tuple(pieces))


def _figure(value: float | None, block: Heatmap) -> str:
    if value is None:
        return NOTHING
    return number(float(value), digits=block.digits, signed=block.signed)


def _strength(block: Heatmap) -> Callable[[float], float]:
    """Return how strong the colour of a value is."""
    values = [
        value
        for row in block.rows
        for value in row.values
        if value is not None and math.isfinite(value)
    ]
    if block.signed:
        low, high = 0.0, max(map(abs, values), default=0.0)
    else:
        low, high = min(values, default=0.0), max(values, default=0.0)

    def strength(value: float) -> float:
        size = abs(value) if block.signed else value
        share = (size - low) / (high - low) if high > low else 0.0
        return _FAINTEST + (_STRONGEST - _FAINTEST) * share

    return strength
