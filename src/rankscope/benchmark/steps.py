"""Steps: what a benchmark is doing, told to whoever watches, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Called with how much of a step, or of a part of it, is done, and of how much."""

    def __call__(self, done: int, total: int, /, part: str = "") -> None:
        """Report progress."""


class Watcher:
    """Is told what happens; this one shows nothing, others may draw a progress bar."""

    def begun(self, step: str) -> None:
        """A step is being worked on."""

    def step(self, step: str, done: int, total: int, part: str = "") -> None:
        """So much of it, or of a part of it, is done."""

    def ended(self, step: str, seconds: float) -> None:
        """It is done."""


class Steps:
    """The steps of one benchmark; ``seconds`` has how long each took, by name."""

    def __init__(self, watcher: Watcher | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._watcher = watcher or Watcher()

    @contextmanager
    def step(self, name: str) -> Iterator[Progress]:
        """Time a step, and yield what reports its progress."""

        def progress(done: int, total: int, /, part: str = "") -> None:
            self._watcher.step(name, done, total, part)

        self._watcher.begun(name)
        began = time.perf_counter()
        yield progress
        self.seconds[name] = time.perf_counter() - began
        self._watcher.ended(name, self.seconds[name])
