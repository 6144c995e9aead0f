"""Connections to a database that several threads share, each used by one thread at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any


class Connections:
    """Open connections, handed out for one piece of work and taken back.

    A piece of work that fails may leave its connection in any state, and if the server went away
    the others are dead as well: all that are not in use are closed then, and the next work opens a
    new one.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._lock = Lock()
        self._idle: list[Any] = []
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def taken(self) -> Iterator[Any]:
        """Hand out a connection; an open one if there is any."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            _close_all([connection])
            self.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        """Close all that are not in use."""
        with self._lock:
            idle = self._idle[:]
            self._idle.clear()
        _close_all(idle)


def _close_all(connections: list[Any]) -> None:
    while connections:
        with suppress(Exception):  # it may be broken already
            connections.pop().close()
