"""Connections to a database that several threads share, each used by one thread at a time."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class Connections:
    """Open connections, handed out for one piece of work and taken back.

    A piece of work that fails may leave its connection in any state, and if the server went away
    the others are dead as well: all that are not in use are closed then, and the next work opens a
    new one.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: deque[Any] = deque()
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def taken(self) -> Iterator[Any]:
        """Hand out a connection; an open one if there is any."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            self._idle.append(connection)
            self.close()
            raise
        self._idle.append(connection)

    def close(self) -> None:
        """Close all that are not in use."""
        _close_all(self._idle)


def _close_all(connections: deque[Any]) -> None:
    while connections:
        with suppress(Exception):  # it may be broken already, or closed by another thread
            connections.pop().close()
