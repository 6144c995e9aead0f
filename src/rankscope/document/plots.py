"""Plots as SVG: curves and marks over two axes, their names beside them.

A plot is drawn in a space of `WIDTH` units and scaled to the room there is. Colours are classes, so
they follow the reader's light or dark setting; each curve has its own dashes beside its colour. How
wide text is depends on the reader's font, so it is estimated with something to spare.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from rankscope.document.scales import Scale, place, round_ends, tick_texts
from rankscope.document.text import readable
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.document.blocks import Curve, Plot

WIDTH, HEIGHT, TOP, BOTTOM, FONT = 440, 300, 26, 44, 14
SCALE = 1.3
"""How much larger than its units a plot is where there is room."""
MOST_CURVES = 7
"""More curves run into each other; what is left out is said."""
LONGEST_NAME = 18
"""Characters of a name beside a curve or a point."""
_DASHES = ("", "7 4", "2 3", "10 3 2 3", "1 5")
_COLOURS = 6  # another number than that of dashes: both together are the same after 30 curves

Point = tuple[float, float]


def figure(block: Plot, heading: str, key: str) -> str:
    """Return a plot for a page, below its heading; '' where there is no point to draw.

    ``key`` tells apart plots of one page that are the same.
    """
    curves = [replace(curve, points=_finite(curve)) for curve in block.curves[:MOST_CURVES]]
    if not any(curve.points for curve in curves):
        return ""
    x, y = _axes(block, curves)
    pieces = [*_grid(block, x, y)]
    for number, curve in enumerate(curves):
        pieces += _curve(curve, number, x, y)
    for curve, whole in zip(curves, block.curves, strict=False):
        pieces += _point_names(whole, x, y) if curve.names else ()
    pieces += _end_names(curves, x, y)
    about, picture = described(block), "".join(pieces)
    content = "\0".join((key, block.title, about, picture)).encode("utf-8", "surrogatepass")
    name = f"picture-{hashlib.sha256(content).hexdigest()[:10]}"
    notes = [block.note] if block.note else []
    if left := len(block.curves) - len(curves):
        notes.append(f"{counted(left, 'more curve')} not drawn")
    if y.low > 0:
        notes.append(f"The vertical axis starts at {tick_texts(y.ticks())[0]}")
    items = "".join(f"<li>{_safe(note)}</li>" for note in notes)
    caption = f'<ul class="notes">{items}</ul>' if items else ""
    return (
        f'<figure>\n{heading}\n<svg class="picture" width="{SCALE * WIDTH:g}" '
        f'height="{SCALE * HEIGHT:g}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">'
        f'{_safe(block.title)}</title><desc id="{name}-desc">{_safe(about)}</desc>{picture}</svg>\n'
        f"{caption}</figure>"
    )


def described(block: Plot) -> str:
    """Say what can be seen in a plot, for who cannot see it."""
    about = f"{_short(block.title, 120)}: {_short(block.y, 60)} by {_short(block.x, 60)}"
    ends = []
    for curve in block.curves[:MOST_CURVES]:
        points = _finite(curve)
        for name, (x, y) in zip(curve.names, points, strict=False):
            ends.append(f"{_short(name)} {y:.3g} at {x:.4g}")
        if points and curve.joined and not curve.names:
            (x0, y0), (x1, y1) = points[0], points[-1]
            ends.append(f"{_short(curve.label)} {y0:.3g} at {x0:.4g} to {y1:.3g} at {x1:.4g}")
    return f"{about}; {', '.join(ends)}." if ends else f"{about}."


def _finite(curve: Curve) -> tuple[Point, ...]:
    return tuple(point for point in curve.points if all(map(math.isfinite, point)))


def _safe(text: object) -> str:
    return escape(readable(text), quote=True)


def _short(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a name in its middle: its end is what tells the systems of a sweep apart."""
    line = readable(text)
    return line if len(line) <= longest else f"{line[: longest - 9].rstrip()}…{line[-8:]}"


def _width(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return FONT * (0.6 * len(text) + 0.4 * wide)


# --- axes ----------------------------------------------------------------------------------------


def _axes(block: Plot, curves: Sequence[Curve]) -> tuple[Scale, Scale]:
    points = [point for curve in curves for point in curve.points]
    columns, heights = zip(*points, strict=True)
    held = [ends for curve in curves for ends in curve.intervals if ends is not None]
    heights = (*heights, *(end for ends in held for end in ends if math.isfinite(end)))
    log = block.log_x and min(columns) > 0
    low, high = round_ends(columns)
    if log:
        low, high = min(columns) / 1.2, max(columns) * 1.2  # marks are not cut by the edge
    bottom, top = round_ends(heights)
    y = Scale(bottom, top, HEIGHT - BOTTOM, TOP)
    left = max(map(_width, tick_texts(y.ticks()))) + 10
    names = [_short(curve.label) for curve in _ended(curves)]
    right = max(8.0, *(_width(name) + 14 for name in names), 8.0)
    return Scale(low, high, left, WIDTH - right, log), y


def _grid(block: Plot, x: Scale, y: Scale) -> Iterator[str]:
    bottom = y.start
    for value, text in zip(y.ticks(), tick_texts(y.ticks()), strict=True):
        yield _line(x.start, y.at(value), x.end, y.at(value), "grid")
        yield _text(text, x.start - 6, y.at(value), "axis", "end")
    free, values = -math.inf, x.ticks()
    texts = [f"{value:,.6g}" for value in values] if x.log else tick_texts(values)
    for value, text in zip(values, texts, strict=True):
        at, half = x.at(value), _width(text) / 2
        yield _line(at, bottom, at, bottom + 4, "tick")
        if at - half > free:
            yield _text(text, at, bottom + 14, "axis", "middle")
            free = at + half + 4
    yield _line(x.start, bottom, x.end, bottom, "tick")
    yield _text(_short(block.y, 60), 0, 8, "quiet")
    yield _text(_short(block.x, 50), x.end, bottom + 34, "quiet", "end")


# --- curves and names ----------------------------------------------------------------------------


def _kind(curve: Curve, number: int) -> str:
    return f"series-{number % _COLOURS + 1}" if curve.tone in ("plain", "strong") else curve.tone


def _curve(curve: Curve, number: int, x: Scale, y: Scale) -> Iterator[str]:
    kind = _kind(curve, number)
    for (across, _), ends in zip(curve.points, curve.intervals, strict=False):
        if ends is not None:
            yield _line(x.at(across), y.at(ends[0]), x.at(across), y.at(ends[1]), f"whisker {kind}")
    if curve.joined and len(curve.points) > 1:
        way = " ".join(f"{place(x.at(across))},{place(y.at(up))}" for across, up in curve.points)
        dashes = _DASHES[number % len(_DASHES)]
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<polyline points="{way}" class="curve {kind}"{dashed}/>'
    if not curve.joined or len(curve.points) == 1 or curve.names:
        shape = "mark hollow" if curve.tone == "quiet" else "mark"
        for across, up in curve.points:
            at = f'cx="{place(x.at(across))}" cy="{place(y.at(up))}"'
            yield f'<circle {at} r="4.5" class="{shape} {kind}"/>'


def _point_names(curve: Curve, x: Scale, y: Scale) -> Iterator[str]:
    """Write the names of points at the right, or at the left where the right has no room."""
    for (across, up), name in zip(curve.points, curve.names, strict=False):
        if name and math.isfinite(across) and math.isfinite(up):
            text, at = _short(name), x.at(across)
            fits = at + 9 + _width(text) <= WIDTH
            height = y.at(up) + (14 if curve.joined else 0)  # below the line through the points
            yield _text(text, at + (9 if fits else -9), height, "name", "start" if fits else "end")


def _ended(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves that are named at their ends: several, each with a line."""
    ended = [c for c in curves if c.joined and c.label and not c.names and len(c.points) > 1]
    return ended if len(ended) > 1 else []


def _end_names(curves: Sequence[Curve], x: Scale, y: Scale) -> Iterator[str]:
    """Write the names of curves at the right, each as near to its curve's end as there is room."""
    order = sorted(_ended(curves), key=lambda curve: y.at(curve.points[-1][1]))
    heights = spread([y.at(c.points[-1][1]) for c in order], FONT + 2, TOP - 6, y.start)
    for curve, height in zip(order, heights, strict=True):
        across, up = curve.points[-1]
        kind = _kind(curve, curves.index(curve))
        yield _line(x.at(across) + 2, y.at(up), x.end + 8, height, f"leader {kind}", dashes="1 2")
        yield _text(_short(curve.label), x.end + 12, height, f"ending {kind}")


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return rising places near those wanted, no two nearer than ``apart``, between two ends.

    >>> spread([10, 12, 50], 10, 0, 100)
    [10, 20, 50]
    """
    places: list[float] = []
    for each in wanted:
        places.append(max(each, places[-1] + apart if places else low))
    for number in reversed(range(len(places))):
        most = places[number + 1] - apart if number + 1 < len(places) else high
        places[number] = min(places[number], most)
    return places


# --- shapes --------------------------------------------------------------------------------------


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, *, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f'x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}"'
    return f'<line {ends} class="{kind}"{dashed}/>'


def _text(text: str, x: float, y: float, kind: str, anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    at = f'x="{place(x)}" y="{place(y)}" dy=".35em"'
    return f'<text {at} class="{kind}"{side}>{escape(text)}</text>'
