"""Progress of what takes long before the first query: told to whoever fetches, from any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["report", "watched"]

Progress = Callable[[int, int], None]

_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress | None) -> Iterator[None]:
    """Within it, what is reported goes to ``progress``."""
    token = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def report(done: int, total: int) -> None:
    """Say how much is done, and of how much; nobody may be listening."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(done, total)
