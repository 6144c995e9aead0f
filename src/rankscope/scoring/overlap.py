"""How much of a gold span must be retrieved for it to be found."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rankscope.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

OVERLAP = 0.5
"""The share, if nobody says."""

_OVERLAP: ContextVar[float] = ContextVar("rankscope_overlap", default=OVERLAP)


@contextmanager
def overlapping(overlap: float | None) -> Iterator[None]:
    """Let gold that is taken meanwhile be found from this share on; None changes nothing."""
    if overlap is None:
        yield
        return
    if not 0 < overlap <= 1:
        raise InputError(f"overlap must be above 0 and at most 1, not {overlap}")
    token = _OVERLAP.set(overlap)
    try:
        yield
    finally:
        _OVERLAP.reset(token)


def overlap_needed() -> float:
    """Return the share that counts at present."""
    return _OVERLAP.get()
