"""Sentences: how a difference, its interval and its p-value are written, in one place.

`compare`, the gate and the verdict of a benchmark say the same thing in the same words. A system is
better than another, worse, equivalent to it within a margin, or we can't tell; beside the last says
what the queries could have shown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankscope.document.text import p_value, percent
from rankscope.errors import counted
from rankscope.statistics.power import POWER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.system_pairs import Pair


def number(value: float, *, sign: bool = False) -> str:
    """Return three decimals, or one digit of what is too small for them; infinite ends as signs.

    >>> number(0.25), number(0.0312, sign=True), number(-0.00002), number(-math.inf)
    ('0.250', '+0.031', '-2e-05', '-∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    small = 0 < abs(value) < 0.0005
    form = f"{'+' if sign and value else ''}{'.1g' if small else '.3f'}"
    return f"{value or 0.0:{form}}"


def ends(interval: Interval, *, turned: bool = False, sign: bool = False) -> str:
    """Return an interval in brackets; ``turned`` is that of the opposite difference."""
    low, high = interval.low, interval.high
    low, high = (-high, -low) if turned else (low, high)
    return f"[{number(low, sign=sign)}, {number(high, sign=sign)}]"


def p_text(p: float) -> str:
    """Return ``p = 0.043`` or ``p < 0.0001``."""
    return f"p {p_value(p)}" if p < 0.0001 else f"p = {p_value(p)}"


def p_of(pair: Pair) -> str:
    """Return a pair's p-value, and over how many tests it was corrected."""
    text = p_text(pair.p_corrected)
    return f"{text} corrected for {pair.family:,} tests" if pair.family > 1 else text


def about(count: int) -> str:
    """Return a number of queries to two digits: more would promise too much.

    >>> about(22_797), about(351), about(8)
    ('about 23,000 queries', 'about 350 queries', 'about 8 queries')
    """
    digits = max(0, len(str(count)) - 2)
    return f"about {counted(round(count, -digits), 'query')}"


def listed(names: Iterable[str], most: int | None = None) -> str:
    """Return ``a, b and c``; with ``most``, the rest as a number.

    >>> listed(["a", "b", "c"]), listed("abcdef", 3)
    ('a, b and c', 'a, b, c and 3 more')
    """
    entries = list(names)
    if most is not None and len(entries) > most + 1:
        return f"{', '.join(entries[:most])} and {len(entries) - most} more"
    return " and ".join(filter(None, [", ".join(entries[:-1]), *entries[-1:]]))


def measured(
    difference: float, interval: Interval, p: str, *, turned: bool = False, sign: bool = True
) -> str:
    """Return a difference with interval and p-value: ``+0.060 [+0.030, +0.090], p = 0.002``.

    ``turned`` gives the opposite difference; without ``sign`` a gain has no plus.
    """
    shown = number(-difference if turned else difference, sign=sign)
    return f"{shown} {ends(interval, turned=turned, sign=True)}, {p}"


def within(margin: float | None) -> str:
    """Return `` within ±0.05``; nothing if there is no margin."""
    return "" if margin is None else f" within ±{margin:g}"


def differ(pair: Pair) -> str:
    """Say how many of the units of chance differ: queries, or clusters of them."""
    if pair.drawn == pair.queries:
        count = pair.wins + pair.losses
        return (
            f"{count:,} of {counted(pair.queries, 'query')} {'differs' if count == 1 else 'differ'}"
        )
    return f"{pair.differing:,} of {counted(pair.drawn, 'cluster')} of queries differ"


def could_have_shown(pair: Pair) -> str:
    """Say what the queries of a pair could have shown; '' where no difference is within reach."""
    if pair.is_same:
        return "they are the same on every query"
    if not pair.decidable:
        return f"{differ(pair)}, too few for any outcome to be significant"
    if math.isinf(pair.detectable):
        return ""
    return (
        f"{counted(pair.queries, 'query')} like these would show a difference of about "
        f"{number(pair.detectable)} with {percent(POWER)} probability"
    )


def pair_sentence(pair: Pair) -> str:
    """Say what a pair shows, with the numbers behind it."""
    p = p_of(pair)
    if pair.verdict in ("better", "worse"):
        # how much better or worse: the size of the difference, whichever way is better
        turned = pair.difference < 0
        size = measured(pair.difference, pair.interval, p, turned=turned, sign=False)
        return f"{pair.system} is {pair.verdict} than {pair.base} by {size}"
    if pair.verdict == "equivalent" and pair.equivalence is not None:
        numbers = equivalent(pair)
        margin = within(pair.equivalence.margin)
        return f"{pair.system} and {pair.base} are equivalent{margin}: {numbers}"
    numbers = measured(pair.difference, pair.interval, p)
    shown = f"can't tell {pair.system} from {pair.base}: {numbers}"
    return "; ".join(filter(None, (shown, could_have_shown(pair))))


def equivalent(pair: Pair, *, turned: bool = False) -> str:
    """Return the numbers of a pair that is equivalent, with the p-value of that test."""
    assert pair.equivalence is not None
    text = f"equivalence {p_text(pair.equivalence.p)}"
    return measured(pair.difference, pair.interval, text, turned=turned)
