"""Where two pieces of plain data differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankscope.errors import shown
from rankscope.part import dotted

CLOSE = 1e-9
"""Numbers that differ by a smaller share are the same: other machines add in another order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what is recorded is not what is computed."""

    keys: tuple[str | int, ...]
    sentence: str


def differences(
    recorded: Any, computed: Any, keys: tuple[str | int, ...] = ()
) -> Iterator[Difference]:
    """Yield every place where plain data differs; of what is missing or more, its root alone."""
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in dict.fromkeys([*computed, *recorded]):
            if key not in recorded:
                yield Difference((*keys, key), f"{dotted((*keys, key))} is missing")
            elif key not in computed:
                yield Difference((*keys, key), f"{dotted((*keys, key))} was added")
            else:
                yield from differences(recorded[key], computed[key], (*keys, key))
    elif isinstance(recorded, list) and isinstance(computed, list):
        for at, (left, right) in enumerate(zip(recorded, computed, strict=False)):
            yield from differences(left, right, (*keys, at))
        if len(recorded) != len(computed):
            sizes = f"{len(recorded):,} entries, and {len(computed):,} follow from the runs"
            yield Difference(keys, f"{dotted(keys)} has {sizes}")
    elif not _same(recorded, computed):
        was, now = map(_shown, (recorded, computed))
        yield Difference(keys, f"{dotted(keys)} is {was}, and {now} follows from the runs")


def _shown(value: Any) -> str:
    return shown(value, 60) if isinstance(value, str) else str(value)


def _same(recorded: Any, computed: Any) -> bool:
    numbers = [
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (recorded, computed)
    ]
    if all(numbers):
        return math.isclose(recorded, computed, rel_tol=CLOSE, abs_tol=CLOSE * CLOSE)
    return type(recorded) is type(computed) and bool(recorded == computed)
