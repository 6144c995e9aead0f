"""Bars as SVG: a row for each value, on one scale that begins at 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rankscope.document.canvas import (
    WIDTH,
    Drawing,
    Scale,
    box,
    dot,
    label,
    line,
    text_at,
    width_of,
)
from rankscope.document.text import interval, number, readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Bar, Chart

_BESIDE = 112
"""Labels up to this width are beside their bars; longer ones above them."""
_SHORTEST = 130
"""Bars have at least so much room beside labels and figures."""
_GAP = 12


def bars(block: Chart) -> Drawing | None:
    """Draw a bar for each value, its interval and band on it, its label and figures beside it."""
    if not block.bars:
        return None
    figures = [_figures(bar, block.digits) for bar in block.bars]
    names = min(max(width_of(readable(bar.label)[:40]) for bar in block.bars), WIDTH)
    room = max(width_of(f"{value} {more}") for value, more in figures)
    is_beside = names <= _BESIDE and WIDTH - names - room - 2 * _GAP >= _SHORTEST
    left, right = (names + _GAP, WIDTH - room - _GAP) if is_beside else (0, WIDTH)
    scale = _scale([_ends(bar) for bar in block.bars], block.high, left, right)
    height = 28 if is_beside else 46
    pieces = []
    for place, (bar, figure) in enumerate(zip(block.bars, figures, strict=True)):
        top = place * height
        text_y, bar_y = (top + 14, top + 14) if is_beside else (top + 11, top + 32)
        kind = "name strong" if bar.tone == "strong" else "name"
        pieces.append(
            label(bar.label, 0, text_y, kind, room=names if is_beside else WIDTH - room - _GAP)
        )
        pieces += _bar(bar, scale, bar_y)
        pieces.append(line(scale.at(0), bar_y - 12, scale.at(0), bar_y + 12, "zero"))
        pieces.append(_written(figure, WIDTH - room if is_beside else WIDTH, text_y, is_beside))
    return Drawing(WIDTH, len(block.bars) * height, tuple(pieces))


def _figures(bar: Bar, digits: int) -> tuple[str, str]:
    """Return the value, and what is written behind it: the interval or, without one, the band."""
    ends = bar.interval or bar.band
    more = "" if ends is None else interval(ends, digits=digits)
    return number(float(bar.value), digits=digits), more


def _written(figures: tuple[str, str], x: float, y: float, is_beside: bool) -> str:
    value, more = map(escape, figures)
    text = f'<tspan class="value">{value}</tspan>'
    if more:
        text += f' <tspan class="range">{more}</tspan>'
    return text_at(text, x, y, "name", anchor="start" if is_beside else "end")


def _ends(bar: Bar) -> tuple[float, ...]:
    return (bar.value, *(bar.interval or ()), *(bar.band or ()))


def _scale(
    rows: Sequence[tuple[float, ...]], high: float | None, left: float, right: float
) -> Scale:
    values = [value for row in rows for value in row if math.isfinite(value)]
    low, top = min(0.0, *values, 0.0), high or max(0.0, *values, 0.0)
    return Scale(low, top if top > low else low + 1.0, left, right)


def _bar(bar: Bar, scale: Scale, y: float) -> Iterator[str]:
    if math.isnan(bar.value):
        return
    zero, end = scale.at(0), scale.at(bar.value)
    if bar.band is not None:
        low, high = map(scale.at, bar.band)
        yield box(low, y - 9, high - low, 18, "band")
        yield line(low, y - 9, low, y + 9, "edge", dashes="2 2")
        yield line(high, y - 9, high, y + 9, "edge", dashes="2 2")
    yield box(min(zero, end), y - 6, abs(end - zero), 12, "bar-fill", more=' rx="2"')
    if bar.interval is not None:
        low, high = map(scale.at, bar.interval)
        yield line(low, y, high, y, "interval")
    if bar.interval is not None or bar.band is not None:
        yield dot(end, y, "dot")
