"""Ties at the cut: an engine that returns equal scores in any order is asked for all of them."""

from __future__ import annotations

from collections.abc import Callable

from rankscope.runs.order import ranked

Pairs = list[tuple[str, float]]

_MORE = 16


def with_ties(ask: Callable[[int], Pairs], depth: int) -> Pairs:
    """Return the best ``depth`` documents, those of equal score by id from high to low.

    ``ask`` returns so many documents at most, best first. It is asked for more until a score falls,
    or there are no more; then which documents are in the top does not depend on the engine.

    >>> with_ties(lambda limit: [("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 0.5)][:limit], 2)
    [('a', 2.0), ('c', 1.0)]
    """
    limit = depth + _MORE
    while True:
        pairs = ask(limit)
        if len(pairs) < limit or pairs[-1][1] < pairs[depth - 1][1]:
            return ranked(pairs)[:depth]
        limit *= 4
