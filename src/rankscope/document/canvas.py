"""What all pictures are drawn with: text that fits its place, lines, round ticks, scales.

Pictures are SVG in a space of `WIDTH` units, scaled to the room they have. Colours are classes
(``pictures.css``), never attributes, and foreign text is escaped here. How wide text is depends on
the reader's font, so it is estimated with something to spare.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rankscope.document.text import readable

WIDTH = 440
FONT = 14
"""The size of letters that layouts leave room for; a wide page shows smaller ones."""
LINE = 18
"""From one line of small print to the next."""

_NARROW = frozenset("iljtfrI.,:;|!()[]{}'` -/\\\"")
_WIDE = frozenset("mwMW@%—…")
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture without its frame."""

    width: float
    height: float
    pieces: tuple[str, ...]


def safe(text: object) -> str:
    """Return foreign text as it can be put anywhere in a picture."""
    return escape(readable(text), quote=True)


def place(number: float) -> str:
    """Return a coordinate: a tenth of a unit is as fine as can be seen.

    >>> place(12.04), place(0.25), place(-0.01)
    ('12', '0.2', '0')
    """
    return f"{number:z.1f}".removesuffix(".0")


# --- text ----------------------------------------------------------------------------------------


def width_of(text: str) -> float:
    """Estimate how wide text is in letters of `FONT`."""
    return FONT * sum(map(_em, text))


def _em(sign: str) -> float:
    if sign in _NARROW:
        return 0.4
    if sign in _WIDE or unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return 0.75 if sign.isupper() else 0.63


def cut(text: str, room: float) -> str:
    """Return text that fits, with an ellipsis where it was cut.

    A value at the end stays: it is what tells the systems of a sweep apart.

    >>> cut("lexical", 60), cut("lexical with synonyms", 90), cut("lexical ef_search=200", 90)
    ('lexical', 'lexical w…', 'lexic…=200')
    """
    if len(text) <= 2 * room / FONT and width_of(text) <= room:  # a long text is not measured
        return text
    name, sign, value = text.rpartition("=")
    if value and sign and len(value) <= 12 and width_of(f"…={value}") < 0.7 * room:
        start = cut(name, room - width_of(f"={value}"))
        return f"{start}={value}"
    left = room - FONT
    kept = 0
    for sign in text:
        left -= FONT * _em(sign)
        if left < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"


def label(
    text: str,
    x: float,
    y: float,
    kind: str = "axis",
    *,
    anchor: str = "start",
    room: float = math.inf,
) -> str:
    """Draw text whose middle is at a height; where it has to be cut, hovering shows all of it."""
    whole = readable(text)
    shown = whole if math.isinf(room) else cut(whole, room)
    more = "" if shown == whole else f"<title>{escape(whole)}</title>"
    return text_at(f"{escape(shown)}{more}", x, y, kind, anchor=anchor)


def text_at(markup: str, x: float, y: float, kind: str, *, anchor: str = "start") -> str:
    """Draw text that is escaped already."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{place(x)}" y="{place(y)}" dy=".35em" class="{kind}"{side}>{markup}</text>'


def wrapped(text: str, room: float) -> list[str]:
    """Return lines that fit."""
    lines: list[str] = []
    for word in readable(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(cut(word, room))
    return lines


def with_note(drawing: Drawing, note: str) -> Drawing:
    """Put small print below a drawing."""
    lines = wrapped(note, drawing.width)
    if not lines:
        return drawing
    top = drawing.height + 8
    drawn = [
        label(line, 0, top + LINE * (number + 0.5), "quiet") for number, line in enumerate(lines)
    ]
    return Drawing(drawing.width, top + LINE * len(lines), (*drawing.pieces, *drawn))


# --- shapes --------------------------------------------------------------------------------------


def line(x1: float, y1: float, x2: float, y2: float, kind: str, *, dashes: str = "") -> str:
    """Draw a line."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}" '
        f'class="{kind}"{dashed}/>'
    )


def box(x: float, y: float, width: float, height: float, kind: str, *, more: str = "") -> str:
    """Draw a rectangle; ``more`` are other attributes."""
    return (
        f'<rect x="{place(x)}" y="{place(y)}" width="{place(max(width, 0))}" '
        f'height="{place(height)}" class="{kind}"{more}/>'
    )


def dot(x: float, y: float, kind: str, radius: float = 3.5) -> str:
    """Draw a point."""
    return f'<circle cx="{place(x)}" cy="{place(y)}" r="{place(radius)}" class="{kind}"/>'


# --- scales --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places; values beyond its ends are put there."""

    low: float
    high: float
    start: float
    """Where the lower end is."""
    end: float
    """Where the upper end is."""
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        """Return round values from end to end."""
        if not self.log:
            return ticks(self.low, self.high)
        first, last = (math.floor(math.log10(end)) for end in (self.low, self.high))
        powers = [10.0**power for power in range(first, last + 1)]
        steps = (1, 2, 5) if len(powers) <= 3 else (1,)
        values = [power * step for power in powers for step in steps]
        return [value for value in values if self.low <= value * 1.000001 <= self.high * 1.00001]


def step_of(span: float) -> float:
    """Return the round distance of about five ticks.

    >>> step_of(1.0), step_of(37.0)
    (0.2, 10.0)
    """
    raw = span / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)


def ticks(low: float, high: float) -> list[float]:
    """Return the round values between two ends."""
    step = step_of(high - low)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + number) * step, 12) for number in range(count)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Write ticks with the same decimals, as many as tell them apart.

    >>> tick_texts([0.0, 0.5, 1.0]), tick_texts([1, 2, 5, 10]), tick_texts([0.25, 0.3])
    (['0.0', '0.5', '1.0'], ['1', '2', '5', '10'], ['0.25', '0.30'])
    """
    if any(abs(value) >= 1e7 or 0 < abs(value) < 1e-4 for value in values):
        return [f"{value:.3g}" for value in values]
    rests = (f"{value:.6f}".rstrip("0").partition(".")[2] for value in values)
    digits = max(map(len, rests), default=0)
    return [f"{value:z,.{digits}f}" for value in values]


def round_ends(values: Sequence[float]) -> tuple[float, float]:
    """Return round numbers around all values."""
    low, high = min(values), max(values)
    if low == high:
        reach = abs(low) / 2 or 0.5
        low, high = low - reach, high + reach
    step = step_of(high - low)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
