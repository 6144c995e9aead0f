"""Bars and waterfalls as SVG: a row for each value, on one scale that begins at 0."""

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
    from rankscope.document.blocks import Bar, Chart, Step, Waterfall

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


# --- waterfalls ----------------------------------------------------------------------------------


def waterfall(block: Waterfall) -> Drawing | None:
    """Draw a row for each step: where it starts, where it ends, and how far it could have got."""
    if not block.steps:
        return None
    rows = [_reach(step) for step in block.steps]
    scale = _scale(rows, None, 0, WIDTH - 2)
    height = 50
    pieces: list[str] = []
    for place, step in enumerate(block.steps):
        pieces += _step(step, scale, place * height, block.digits)
    return Drawing(WIDTH, len(rows) * height, tuple(pieces))


def _reach(step: Step) -> tuple[float, ...]:
    return tuple(end for end in (step.value, step.start, step.ceiling) if end is not None)


def _step(step: Step, scale: Scale, top: float, digits: int) -> Iterator[str]:
    y, value = top + 32, number(float(step.value), digits=digits)
    parts = [f'<tspan class="value">{escape(value)}</tspan>']
    change = ""
    if step.start is not None:
        change = f"({number(float(step.value - step.start), digits=digits, signed=True)})"
        parts.append(f'<tspan class="range">{escape(change)}</tspan>')
    ceiling = ""
    if step.ceiling is not None:
        ceiling = f"of {number(float(step.ceiling), digits=digits)}"
        parts.append(f'<tspan class="range">{escape(ceiling)}</tspan>')
    yield text_at(" ".join(parts), WIDTH, top + 11, "name", anchor="end")
    room = WIDTH - width_of(f"{value} {change} {ceiling}") - _GAP
    yield label(step.label, 0, top + 11, "name", room=room)
    used = width_of(readable(step.label)[:60]) + 6
    if step.note and used < room:
        yield label(step.note, used, top + 11, "quiet", room=room - used)
    yield line(scale.at(0), y - 12, scale.at(0), y + 12, "zero")
    if math.isnan(step.value):
        return
    start, end = scale.at(step.start or 0.0), scale.at(step.value)
    if step.start is None:
        yield box(min(start, end), y - 7, abs(end - start), 14, "bar-fill", more=' rx="2"')
    else:
        kind = "fall" if step.value < step.start else "rise"
        yield line(scale.at(0), y, start, y, "guide", dashes="2 4")
        yield box(min(start, end), y - 7, max(abs(end - start), 1.5), 14, kind)
    if step.ceiling is not None:
        limit = scale.at(step.ceiling)
        yield line(end, y, limit, y, "guide", dashes="2 4")
        yield line(limit, y - 9, limit, y + 9, "limit")
