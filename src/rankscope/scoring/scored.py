"""What was scored: the judgments and runs behind scores, for whoever wants to show them.

Scores do not keep runs, which may be large. `keeping` makes `rankscope.evaluate`, and whatever
calls it, leave them behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.scoring.evaluate import Scores
    from rankscope.scoring.judgments import Judgments


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores, and what they are of."""

    scores: Scores
    judgments: Judgments
    runs: Mapping[str, Any]


_KEPT: ContextVar[list[Scored] | None] = ContextVar("scored", default=None)


@contextmanager
def keeping(*, enabled: bool = True) -> Iterator[list[Scored]]:
    """Collect what is scored meanwhile, first to last."""
    kept: list[Scored] = []
    token = _KEPT.set(kept if enabled else None)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def keep(scored: Scored) -> None:
    """Add to what is collected, if anything is."""
    kept = _KEPT.get()
    if kept is not None:
        kept.append(scored)
