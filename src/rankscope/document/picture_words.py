"""What can be seen in a picture, in one sentence: for who cannot see it, and for alt texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankscope.document.blocks import Chart
from rankscope.document.text import number, readable
from rankscope.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.document.blocks import Curve, Picture, Plot

_LONGEST, _LONGEST_TITLE = 60, 120


def described(block: Picture) -> str:
    """Say what a picture shows, with its figures.

    >>> from rankscope.document.blocks import Bar
    >>> described(Chart("nDCG", (Bar("a", 0.5), Bar("b", 0.25), Bar("c", 0.3))))
    'nDCG: a 0.500 is highest, b 0.250 lowest of 3.'
    """
    if isinstance(block, Chart):
        values = [(bar.label, bar.value) for bar in block.bars]
        text = _extremes(values, block.digits)
    else:
        text = _plot(block)
    return f"{_name(block.title, _LONGEST_TITLE)}: {text}."


def _name(text: str, most: int = _LONGEST) -> str:
    line = readable(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _extremes(values: Sequence[tuple[str, float]], digits: int) -> str:
    """Say which value is highest and which lowest."""
    known = [(name, value) for name, value in values if math.isfinite(value)]

    def figure(value: float) -> str:
        return number(float(value), digits=digits)

    if not known:
        return "no value"
    if len(known) == 1:
        return f"{_name(known[0][0])} {figure(known[0][1])}"
    low = min(known, key=lambda pair: pair[1])
    high = max(known, key=lambda pair: pair[1])
    if low[1] == high[1]:
        return f"all {len(known):,} are {figure(low[1])}"
    return (
        f"{_name(high[0])} {figure(high[1])} is highest, {_name(low[0])} {figure(low[1])} lowest"
        + (f" of {len(known):,}" if len(known) > 2 else "")
    )


def _plot(block: Plot) -> str:
    is_said = block.y in block.title
    about = f"by {_name(block.x)}" if is_said else f"{_name(block.y)} by {_name(block.x)}"
    curves = [curve for curve in block.curves if curve.tone != "quiet" or curve.names]
    joined = [curve for curve in curves if curve.joined and not curve.names and _last(curve)]
    if len(joined) == 1 and len(curves) == 1:
        (x0, y0), (x1, y1) = joined[0].points[0], joined[0].points[-1]
        return f"{about}, from {y0:.3g} at {x0:.4g} to {y1:.3g} at {x1:.4g}"
    if joined:
        ends = [(curve.label, _last(curve)) for curve in joined]
        last = max(end[0] for _, end in ends if end)
        values = [(name, end[1]) for name, end in ends if end and end[0] == last]
        return f"{about}; at {last:,.6g}, {_extremes(values, 3)}"
    named = [
        (name, y)
        for curve in curves
        for (_, y), name in zip(curve.points, curve.names, strict=False)
    ]
    points = sum(len(curve.points) for curve in block.curves if curve.label)
    return f"{about}; {_extremes(named, 3)}" if named else f"{about}, {counted(points, 'point')}"


def _last(curve: Curve) -> tuple[float, float] | None:
    finite = [point for point in curve.points if all(map(math.isfinite, point))]
    return finite[-1] if finite else None
