"""Scales of charts: round ticks, the places of values, and ticks in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places; values beyond its ends are put there."""

    low: float
    high: float
    start: float = 0.0
    """Where the lower end is."""
    end: float = 100.0
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
            step = step_of(self.high - self.low)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [round(number * step, 12) for number in range(first, last + 1)]
        powers = range(math.floor(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if len(powers) <= 3 else (1,)
        values = [10.0**power * step for power in powers for step in steps]
        return [value for value in values if self.low <= value * 1.000001 <= self.high * 1.00001]


def step_of(span: float) -> float:
    """Return the round distance of about five ticks.

    >>> step_of(1.0), step_of(37.0)
    (0.2, 10.0)
    """
    raw = span / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)


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


def place(number: float) -> str:
    """Return a coordinate: a tenth is as fine as can be seen.

    >>> place(12.04), place(0.25), place(-0.01)
    ('12', '0.2', '0')
    """
    return f"{number:z.1f}".removesuffix(".0")
