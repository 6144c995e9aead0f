"""What reaches a component from whoever asks, at any depth.

Who watches, and who may stop it.
Set with ``with`` around a piece of work. Threads that a fetch starts are handed what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

Progress = Callable[[int, int], None]

_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)
_CANCEL: ContextVar[Event | None] = ContextVar("cancel", default=None)


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


@contextmanager
def cancellable(cancel: Event | None) -> Iterator[None]:
    """Within it, a fetch ends with `CancelledError` once ``cancel`` is set."""
    token = _CANCEL.set(cancel)
    try:
        yield
    finally:
        _CANCEL.reset(token)


def current_cancel() -> Event | None:
    """Return the event that ends this work, if there is one."""
    return _CANCEL.get()
