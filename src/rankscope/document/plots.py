"""Plots as SVG: curves and marks over two axes, drawn without a script.

Each curve has its own dashes, so that nothing hangs on colour; points with names say them.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from rankscope.document.text import readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Curve, Plot

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 12, 44
_DASHES = ("", "7 4", "2 3", "10 3 2 3", "1 5")
_TICKS = 5


def plot(block: Plot, title: str) -> str:
    """Return a plot below its heading; '' where there is no point."""
    points = [point for curve in block.curves for point in curve.points]
    points = [point for point in points if all(map(math.isfinite, point))]
    if not points:
        return ""
    x_axis = _ends([x for x, _ in points], block.x_range)
    y_axis = _ends([y for _, y in points], block.y_range)
    scale = _Scale(x_axis, y_axis)
    drawn = [
        *_grid(scale),
        *(
            piece
            for place, curve in enumerate(block.curves)
            for piece in _curve(curve, place, scale)
        ),
        _label(block.x, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle"),
        _label(block.y, LEFT - 44, (TOP + HEIGHT - BOTTOM) / 2, "middle", upright=True),
    ]
    about = escape(readable(f"{block.title}: {block.y} by {block.x}"), quote=True)
    return (
        f'{title}\n<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{about}">{"".join(drawn)}</svg>{_legend(block)}'
    )


class _Scale:
    def __init__(self, x_axis: tuple[float, float], y_axis: tuple[float, float]) -> None:
        self.x_axis, self.y_axis = x_axis, y_axis

    def x(self, value: float) -> float:
        low, high = self.x_axis
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_axis
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def _ends(values: list[float], given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of an axis: round numbers around all values."""
    if given is not None and given[1] > given[0]:
        return given
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = _step(high - low)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _step(span: float) -> float:
    """Return the round distance of about five ticks.

    >>> _step(1.0), _step(37.0)
    (0.2, 10.0)
    """
    raw = span / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)


def _grid(scale: _Scale) -> list[str]:
    pieces = []
    for value in _ticks(scale.x_axis):
        at = scale.x(value)
        pieces.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="grid"/>'
        )
        pieces.append(_label(f"{value:.6g}", at, HEIGHT - BOTTOM + 16, "middle"))
    for value in _ticks(scale.y_axis):
        at = scale.y(value)
        pieces.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>'
        )
        pieces.append(_label(f"{value:.6g}", LEFT - 6, at + 4, "end"))
    return pieces


def _ticks(axis: tuple[float, float]) -> list[float]:
    low, high = axis
    step = _step(high - low)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + place) * step, 12) for place in range(count)]


def _curve(curve: Curve, place: int, scale: _Scale) -> list[str]:
    inside = [(scale.x(x), scale.y(y)) for x, y in curve.points if math.isfinite(x + y)]
    tone = f" {curve.tone}" if curve.tone != "plain" else ""
    pieces = []
    if curve.joined and len(inside) > 1:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in inside)
        dashes = _DASHES[place % len(_DASHES)]
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        pieces.append(f'<polyline points="{way}" class="curve{tone}"{dashed}/>')
    else:
        pieces += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="mark{tone}"/>' for x, y in inside
        ]
    for (x, y), name in zip(inside, curve.names, strict=False):
        near_end = x > WIDTH - 120
        anchor, shift = ("end", -8) if near_end else ("start", 8)
        pieces.append(_label(name, x + shift, y - 6, anchor, "name"))
    return pieces


def _label(
    text: str, x: float, y: float, anchor: str, kind: str = "axis", *, upright: bool = False
) -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{turned}>'
        f"{escape(readable(text))}</text>"
    )


def _legend(block: Plot) -> str:
    """Say which dashes are which curve, where there are several."""
    entries = []
    for place, curve in enumerate(block.curves):
        if not (curve.joined and curve.label):
            continue
        dashes = _DASHES[place % len(_DASHES)]
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        entries.append(
            '<span><svg class="key" aria-hidden="true"><line x1="0" x2="28" y1="6" y2="6" '
            f'class="curve"{dashed}/></svg> {escape(readable(curve.label))}</span>'
        )
    return f'<p class="legend">{"".join(entries)}</p>' if len(entries) > 1 else ""
