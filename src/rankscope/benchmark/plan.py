"""The plan: stages with what they need, in an order in which they can be done, and doing them.

A stage is known by its key: a hash of what it does, with what, and by which versions, the keys of
the stages it needs among it. What is in the store under that key is not made again, so a benchmark
that was stopped goes on where it was, and a change of one system touches that system's stages only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from rankscope.benchmark.artifacts import Parcel, Store
from rankscope.retrieval.progress import cancellable

__all__ = ["Done", "Plan", "Stage", "Step", "Watcher"]


class Step(Protocol):
    """Called with how much of a stage, or of a part of it, is done, and of how much."""

    def __call__(self, done: int, total: int, /, part: str = "") -> None:
        """Take it in."""


Work = Callable[[Mapping[str, Parcel], Step], Parcel]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One piece of work: its name, its key, the stages it needs, and what to do.

    ``about`` says in a few words what it is for.
    """

    name: str
    key: str
    work: Work
    needs: tuple[str, ...] = ()
    about: str = ""


class Watcher(Protocol):
    """Is told what happens; may draw a progress bar."""

    def begun(self, stage: str) -> None:
        """A stage is being worked on."""

    def step(self, stage: str, done: int, total: int, part: str = "") -> None:
        """So much of it, or of a part of it, is done."""

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:
        """It is done, or was there already."""


class _HaltedError(Exception):
    """The plan has ended; what a stage is doing is wanted no more."""


class Silent:
    """A watcher that shows nothing."""

    def begun(self, stage: str) -> None:
        """Show nothing."""

    def step(self, stage: str, done: int, total: int, part: str = "") -> None:
        """Show nothing."""

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:
        """Show nothing."""


@dataclass(slots=True)
class Done:
    """What all stages made, and how long each took; 0 for what was there."""

    parcels: dict[str, Parcel] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages, each after those it needs."""

    stages: Sequence[Stage]
    store: Store

    def states(self) -> list[tuple[str, str, str]]:
        """Return for each stage its name, whether it is there or to do, and what it needs."""
        return [
            (
                stage.name,
                "there" if self.store.has(stage.key) else "to do",
                ", ".join(stage.needs) or stage.about,
            )
            for stage in self.stages
        ]

    def execute(self, watcher: Watcher | None = None, *, jobs: int = 1) -> Done:
        """Do what is not there, up to ``jobs`` stages at a time.

        An error, or an interruption, ends the stages beside it at their next step.
        """
        watcher = watcher or Silent()
        done = Done()
        if jobs == 1:
            for stage in self.stages:
                self._take(stage, self._worked(stage, done, watcher), done)
            return done
        left = list(self.stages)
        halt = threading.Event()
        with ThreadPoolExecutor(jobs) as pool:
            running: dict[Future[tuple[Parcel, float]], Stage] = {}
            try:
                while left or running:
                    ready = [one for one in left if all(n in done.parcels for n in one.needs)]
                    for stage in ready[: jobs - len(running)]:
                        left.remove(stage)
                        running[pool.submit(self._worked, stage, done, watcher, halt)] = stage
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        self._take(running.pop(future), future.result(), done)
            except BaseException:
                halt.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return done

    def _worked(
        self, stage: Stage, done: Done, watcher: Watcher, halt: threading.Event | None = None
    ) -> tuple[Parcel, float]:
        """Return what a stage made, from the store if it is there, and the seconds it took."""
        needed = {name: done.parcels[name] for name in stage.needs}
        whole = all(parcel.complete for parcel in needed.values())
        found = self.store.read(stage.key) if whole else None
        if found is not None:
            watcher.ended(stage.name, 0.0, was_there=True)
            return found, 0.0
        watcher.begun(stage.name)
        began = time.perf_counter()

        def step(done: int, total: int, /, part: str = "") -> None:
            if halt is not None and halt.is_set():
                raise _HaltedError
            watcher.step(stage.name, done, total, part)

        with cancellable(halt):
            made = stage.work(needed, step)
        seconds = time.perf_counter() - began
        if whole and made.complete:
            self.store.write(stage.key, made)
        elif not whole:
            made = Parcel(made.data, made.tables, complete=False)
        watcher.ended(stage.name, seconds, was_there=False)
        return made, seconds

    @staticmethod
    def _take(stage: Stage, result: tuple[Parcel, float], done: Done) -> None:
        done.parcels[stage.name], done.seconds[stage.name] = result
