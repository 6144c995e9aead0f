"""Plots as SVG: curves and marks over two axes.

Each curve has its own dashes beside its colour, and its name at its end; where there are too many
for that, a key below the axes says which is which. Points with names have them beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rankscope.document.canvas import (
    FONT,
    LINE,
    WIDTH,
    Drawing,
    Scale,
    dot,
    label,
    line,
    place,
    round_ends,
    tick_texts,
    width_of,
)
from rankscope.document.text import readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Curve, Plot

TOP, BOTTOM, HEIGHT = 26, 44, 300
_DASHES = ("", "7 4", "2 3", "10 3 2 3", "1 5")
_COLOURS = 6  # another number than that of dashes: both together are the same after 30 curves
_MOST_NAMED = 7
"""Up to so many curves have their names at their ends."""
_LONGEST = 110
"""Names at the ends of curves have at most this width."""
_KEY = 28


def plot(block: Plot) -> Drawing | None:
    """Draw a plot; None where there is no point."""
    points = [point for curve in block.curves for point in _finite(curve)]
    if not points:
        return None
    axes = _axes(block, points)
    named = [
        number
        for number, curve in enumerate(block.curves)
        if curve.joined and curve.label and not curve.names and len(_finite(curve)) > 1
    ]
    at_ends = 1 < len(named) <= _MOST_NAMED
    right = max([8.0, *(width_of(text) / 2 for text in _texts(axes[0])[-1:])])
    if at_ends:
        widths = [width_of(readable(block.curves[number].label)[:60]) for number in named]
        right = min(max(widths), _LONGEST) + 14
    left = max(map(width_of, tick_texts(axes[1].ticks()))) + 10
    x = Scale(axes[0].low, axes[0].high, left, WIDTH - right, axes[0].log)
    y = axes[1]
    pieces = [*_grid(block, x, y)]
    for number, curve in enumerate(block.curves):
        pieces += _curve(curve, number, x, y)
    pieces += _names(block, x, y)
    height: float = HEIGHT
    if at_ends:
        pieces += _end_names(block, named, x, y)
    elif len(named) > 1:
        keys, height = _keys(block, named)
        pieces += keys
    return Drawing(WIDTH, height, tuple(pieces))


def _finite(curve: Curve) -> list[tuple[float, float]]:
    return [point for point in curve.points if all(map(math.isfinite, point))]


def _axes(block: Plot, points: Sequence[tuple[float, float]]) -> tuple[Scale, Scale]:
    """Return both scales; where the horizontal one begins is not known yet."""
    columns = [x for x, _ in points]
    heights = [y for _, y in points]
    for curve in block.curves:
        heights += [
            end
            for ends in curve.intervals
            if ends is not None
            for end in ends
            if math.isfinite(end)
        ]
    log = block.log_x and min(columns) > 0
    low, high = _given(block.x_range) or (_log_ends(columns) if log else round_ends(columns))
    if log and any(curve.names for curve in block.curves):
        low, high = low / 1.2, high * 1.2  # marks are not cut by the edge
    bottom, top = _given(block.y_range) or round_ends(heights)
    return (
        Scale(low, high, 0, WIDTH, log and low > 0),
        Scale(bottom, top, HEIGHT - BOTTOM, TOP),
    )


def _given(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    return ends if ends is not None and ends[1] > ends[0] else None


def _log_ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low / 2, high * 2)


def _texts(scale: Scale, values: Sequence[float] | None = None) -> list[str]:
    """Write the ticks of an axis."""
    values = scale.ticks() if values is None else values
    return [f"{value:,.6g}" for value in values] if scale.log else tick_texts(values)


def _places(block: Plot, x: Scale) -> list[float]:
    """Return the ticks of the horizontal axis; where things are counted, whole numbers."""
    values = x.ticks()
    return [value for value in values if float(value).is_integer()] if block.counted else values


def _grid(block: Plot, x: Scale, y: Scale) -> Iterator[str]:
    bottom = y.start
    for value, text in zip(y.ticks(), tick_texts(y.ticks()), strict=True):
        at = y.at(value)
        yield line(x.start, at, x.end, at, "grid")
        yield label(text, x.start - 6, at, anchor="end")
    free = -math.inf
    values = _places(block, x)
    for value, text in zip(values, _texts(x, values), strict=True):
        at = x.at(value)
        yield line(at, bottom, at, bottom + 4, "tick")
        if at - width_of(text) / 2 > free:
            yield label(text, at, bottom + 14, anchor="middle")
            free = at + width_of(text) / 2 + 4
    yield line(x.start, bottom, x.end, bottom, "tick")
    yield label(block.y, 0, 8, "quiet", room=WIDTH)
    yield label(block.x, x.end, bottom + 34, "quiet", anchor="end", room=WIDTH - 20)


# --- curves and marks ----------------------------------------------------------------------------


def _kind(curve: Curve, number: int) -> str:
    return f"series-{number % _COLOURS + 1}" if curve.tone in ("plain", "strong") else curve.tone


def _dashes(number: int) -> str:
    return _DASHES[number % len(_DASHES)]


def _curve(curve: Curve, number: int, x: Scale, y: Scale) -> Iterator[str]:
    kind = _kind(curve, number)
    for (across, _), ends in zip(curve.points, curve.intervals, strict=False):
        if ends is not None and math.isfinite(across):
            at, (low, high) = x.at(across), map(y.at, ends)
            yield line(at, low, at, high, f"whisker {kind}")
    inside = [(x.at(across), y.at(up)) for across, up in _finite(curve)]
    if curve.joined and len(inside) > 1:
        way = " ".join(f"{place(across)},{place(up)}" for across, up in inside)
        dashes = _dashes(number)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<polyline points="{way}" class="curve {kind}"{dashed}/>'
    if not curve.joined or len(inside) == 1 or curve.names:
        shape = "mark hollow" if curve.tone == "quiet" else "mark"
        for across, up in inside:
            yield dot(across, up, f"{shape} {kind}", 4.5)


@dataclass(frozen=True, slots=True)
class _Room:
    """What is taken by a text or a mark."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: _Room) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _along(way: Sequence[tuple[float, float]]) -> Iterator[_Room]:
    """Yield what the line through some points takes, in small pieces."""
    for (x1, y1), (x2, y2) in pairwise(way):
        pieces = max(int(math.hypot(x2 - x1, y2 - y1) / 8), 1)
        for number in range(pieces + 1):
            share = number / pieces
            at, up = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
            yield _Room(at - 1, up - 1, at + 1, up + 1)


def _names(block: Plot, x: Scale, y: Scale) -> Iterator[str]:
    """Write the names of points where there is room: beside them, above or below."""
    taken = [
        _Room(at - 5, up - 5, at + 5, up + 5)
        for curve in block.curves
        if curve.names
        for at, up in ((x.at(across), y.at(height)) for across, height in _finite(curve))
    ]
    for curve in block.curves:
        if curve.joined and curve.names:
            taken += _along([(x.at(across), y.at(up)) for across, up in _finite(curve)])
    for curve in block.curves:
        for (across, up), name in zip(curve.points, curve.names, strict=False):
            if not (name and math.isfinite(across) and math.isfinite(up)):
                continue
            at, height = x.at(across), y.at(up)
            wide = min(width_of(readable(name)[:60]), _LONGEST)
            places = (
                (at + 9, height, "start", at + 9),
                (at - 9, height, "end", at - 9 - wide),
                (at, height - 15, "middle", at - wide / 2),
                (at, height + 15, "middle", at - wide / 2),
                (at + 9, height - 15, "start", at + 9),
                (at + 9, height + 15, "start", at + 9),
                (at - 9, height - 15, "end", at - 9 - wide),
                (at - 9, height + 15, "end", at - 9 - wide),
            )
            rooms = [
                _Room(start, middle - FONT / 2, start + wide, middle + FONT / 2)
                for _, middle, _, start in places
            ]
            free = [
                number
                for number, room in enumerate(rooms)
                if room.left >= x.start - 20
                and room.right <= WIDTH
                and not any(map(room.overlaps, taken))
            ]
            inside = [number for number, room in enumerate(rooms) if room.right <= WIDTH]
            chosen = (free or inside or [1])[0]
            taken.append(rooms[chosen])
            yield label(
                name,
                places[chosen][0],
                places[chosen][1],
                "name",
                anchor=places[chosen][2],
                room=_LONGEST + 1,
            )


def _end_names(block: Plot, named: Sequence[int], x: Scale, y: Scale) -> Iterator[str]:
    """Write the names of curves at the right, each as near to its curve's end as there is room."""
    ends = {number: _finite(block.curves[number])[-1] for number in named}
    order = sorted(named, key=lambda number: (y.at(ends[number][1]), number))
    heights = spread([y.at(ends[number][1]) for number in order], FONT + 2, TOP - 6, y.start)
    for number, height in zip(order, heights, strict=True):
        curve = block.curves[number]
        at, up = x.at(ends[number][0]), y.at(ends[number][1])
        kind = _kind(curve, number)
        yield line(at + 2, up, x.end + 8, height, f"leader {kind}", dashes="1 2")
        yield label(curve.label, x.end + 12, height, f"ending {kind}", room=_LONGEST + 1)


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return rising places near those wanted, no two nearer than ``apart``, between two ends.

    >>> spread([10, 12, 50], 10, 0, 100)
    [6.0, 16.0, 50.0]
    """
    groups: list[list[float]] = []  # places that touch, as they are wanted
    for place_ in wanted:
        groups.append([place_])
        while len(groups) > 1 and _top(groups[-1], apart) < _bottom(groups[-2], apart):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = [
        _top(group, apart) + apart / 2 + number * apart
        for group in groups
        for number in range(len(group))
    ]
    for number in range(len(places)):
        least = places[number - 1] + apart if number else low
        places[number] = max(places[number], least)
    for number in reversed(range(len(places))):
        most = places[number + 1] - apart if number + 1 < len(places) else high
        places[number] = min(places[number], most)
    return places


def _top(group: Sequence[float], apart: float) -> float:
    return sum(group) / len(group) - len(group) * apart / 2


def _bottom(group: Sequence[float], apart: float) -> float:
    return sum(group) / len(group) + len(group) * apart / 2


def _keys(block: Plot, named: Sequence[int]) -> tuple[list[str], float]:
    """Say below the axes which dashes are which curve; return also where that ends."""
    pieces: list[str] = []
    at, y = 0.0, HEIGHT + LINE / 2
    for number in named:
        curve = block.curves[number]
        wide = min(width_of(readable(curve.label)[:60]), 2 * _LONGEST)
        if at and at + _KEY + 6 + wide > WIDTH:
            at, y = 0.0, y + LINE + 2
        pieces.append(
            line(at, y, at + _KEY, y, f"curve {_kind(curve, number)}", dashes=_dashes(number))
        )
        pieces.append(label(curve.label, at + _KEY + 6, y, "name", room=2 * _LONGEST + 1))
        at += _KEY + 6 + wide + 16
    return pieces, y + LINE / 2
