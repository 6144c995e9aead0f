"""Which of many systems a table shows: the best, and always the baseline; and what it says then.

What is not shown is still counted: means, p-values and corrections are over all systems.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rankscope.errors import InputError

MOST_SYSTEMS = 50
"""So many systems a table shows, unless it is told otherwise."""


def shown_systems(
    ranked: Sequence[str],
    max_systems: int | None,
    always: Collection[str | None] = (),
    *,
    most: int = MOST_SYSTEMS,
) -> list[str]:
    """Return the first of ``ranked`` systems, and those of ``always``, in their order.

    ``max_systems``: how many; None: ``most``; 0: all.

    >>> shown_systems(["a", "b", "c", "d"], 2, ["d"])
    ['a', 'b', 'd']
    """
    most = most if max_systems is None else max_systems
    if most < 0:
        raise InputError(f"max_systems must be 0 (all) or more, not {most}")
    if most == 0 or len(ranked) <= most:
        return list(ranked)
    return [name for place, name in enumerate(ranked) if place < most or name in always]


ELSEWHERE = "--max-systems 0 shows all, and --format json and csv hold all"


def not_shown(
    shown: int, systems: int, measure: str, *, tested: bool = False, where: str = ELSEWHERE
) -> tuple[str, ...]:
    """Say how many systems a table does not show, and where they are; nothing if it shows all."""
    if shown == systems:
        return ()
    text = (
        f"{systems - shown:,} of {systems:,} systems are not shown, those with the lowest rank by "
        f"{measure}: {where}"
    )
    return (f"{text}; tests and corrections are over all of them" if tested else text,)
