"""Three ways to an order by questions that a language model can answer.

Candidates are numbered by their places in the incoming order. A question without an answer changes
nothing: what it was about stays in the incoming order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def listwise(
    count: int, ranking: Callable[[Sequence[int]], list[int] | None], *, window: int, step: int
) -> list[int]:
    """Order lists in a window that moves from the bottom to the top.

    The best of a window move up with it, so the top is chosen among all candidates; the last window
    always reaches the first place. Windows: 1 + ⌈(count − window) / step⌉, one after the other.

    Reference: Sun et al., Is ChatGPT good at search?, EMNLP 2023.

    >>> listwise(5, lambda places: sorted(places, reverse=True), window=3, step=2)
    [4, 1, 0, 3, 2]
    """
    order = [*range(count)]
    end = count
    while True:
        start = max(0, end - window)
        ordered = ranking(order[start:end])
        if ordered is not None:
            order[start:end] = ordered
        if start == 0:
            return order
        end -= step


def pairwise(count: int, preferred: Callable[[int, int], int | None], *, passes: int) -> list[int]:
    """Go through the list from the bottom up, and let the better of two neighbours move up.

    After k passes the first k places are those that a sort by the same comparisons would have. A
    pair is asked about once. At most passes · (count − 1) comparisons.

    Reference: Qin et al., Large language models are effective text rankers with pairwise ranking
    prompting, NAACL 2024 (PRP-Sliding-K).

    >>> pairwise(4, max, passes=2)
    [3, 2, 0, 1]
    """
    order = [*range(count)]
    known: dict[tuple[int, int], int | None] = {}
    for settled in range(min(passes, count - 1)):
        has_changed = False
        for place in range(count - 1, settled, -1):
            upper, lower = order[place - 1], order[place]
            pair = (min(upper, lower), max(upper, lower))
            if pair not in known:
                known[pair] = preferred(upper, lower)
            if known[pair] == lower:
                order[place - 1], order[place] = lower, upper
                has_changed = True
        if not has_changed:
            break
    return order


def pointwise(grades: Sequence[int | None]) -> list[int]:
    """Sort by grade; equal grades stay in the incoming order, no grade stays where it is.

    >>> pointwise([1, None, 2, 1])
    [2, 1, 0, 3]
    """
    graded = [place for place, grade in enumerate(grades) if grade is not None]
    best_first = iter(sorted(graded, key=lambda place: -(grades[place] or 0)))
    return [place if grade is None else next(best_first) for place, grade in enumerate(grades)]
