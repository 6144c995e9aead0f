"""The plan: stages with what they need, in an order in which they can be done, and doing them.

A stage is known by its key: a hash of what it does, with what, and by which versions, including the
keys of the stages it needs. What is in the store under that key is not made again, so a benchmark
that was stopped continues where it was, and a change of one system affects its stages only.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from rankscope.benchmark.artifacts import Form, Store
from rankscope.retrieval.progress import cancellable

Made = TypeVar("Made")
Needed = TypeVar("Needed")

_log = logging.getLogger(__name__)


class Step(Protocol):
    """Called with how much of a stage, or of a part of it, is done, and of how much.

    Raises `Cancelled` where the plan has ended and the work is no longer wanted.
    """

    def __call__(self, done: int, total: int, /, part: str = "") -> None:
        """Report progress."""


class Cancelled(Exception):  # noqa: N818  (not an error: nobody waits for the work any more)
    """The plan has ended; what a stage is doing is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Output(Generic[Made]):
    """What a stage made.

    ``complete`` is false where it could not do all of its work (a query failed): it is then never
    kept, nor is what is made from it, so that the next run tries again.
    """

    value: Made
    complete: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Stage(Generic[Made]):
    """One piece of work: its name for people, its key, and what to do.

    ``form`` says how its result is kept, ``needs`` which stages' results it uses, ``after`` which
    stages it only waits for, as both use something that one may use at a time, and ``about`` in a
    few words what it is for.
    """

    name: str
    key: str
    work: Callable[[Results, Step], Output[Made]]
    form: Form[Made]
    needs: tuple[Stage[Any], ...] = ()
    after: tuple[Stage[Any], ...] = ()
    about: str = ""


@dataclass(slots=True)
class Results:
    """What stages made, by stage, and how long each took; 0 for what was in the store."""

    _outputs: dict[Stage[Any], Output[Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, stage: Stage[Needed]) -> Needed:
        """Return what a stage made."""
        value: Needed = self._outputs[stage].value
        return value

    def __contains__(self, stage: Stage[Any]) -> bool:
        return stage in self._outputs

    def complete(self, stage: Stage[Any]) -> bool:
        """Tell whether a stage could do all of its work."""
        return self._outputs[stage].complete

    def add(self, stage: Stage[Made], output: Output[Made], seconds: float) -> None:
        """Take what a stage made."""
        self._outputs[stage] = output
        self.seconds[stage.name] = seconds


class Watcher(Protocol):
    """Is told what happens; may draw a progress bar."""

    def begun(self, stage: str) -> None:
        """A stage is being worked on."""

    def step(self, stage: str, done: int, total: int, part: str = "") -> None:
        """So much of it, or of a part of it, is done."""

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:
        """It is done, or was in the store already."""


class Silent:
    """A watcher that shows nothing."""

    def begun(self, stage: str) -> None:
        """Show nothing."""

    def step(self, stage: str, done: int, total: int, part: str = "") -> None:
        """Show nothing."""

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class StageState:
    """A stage of a plan that was not executed: whether its result is in the store."""

    stage: str
    state: str
    needs: str


def _listed(names: Sequence[str]) -> str:
    """Return names in a few words.

    >>> _listed(["fetch a", "fetch b", "fetch c", "check a", "score"])
    'fetch a, fetch b and 3 more'
    """
    if len(names) <= 3:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages, each after those it needs."""

    stages: Sequence[Stage[Any]]
    store: Store

    def states(self) -> list[StageState]:
        """Tell for each stage whether it is in the store or to be done, and what it needs."""
        return [
            StageState(
                stage.name,
                "there" if self.store.has(stage.key) else "to do",
                _listed([needed.name for needed in stage.needs]) or stage.about,
            )
            for stage in self.stages
        ]

    def execute(self, watcher: Watcher | None = None, *, jobs: int = 1) -> Results:
        """Do what is not in the store, up to ``jobs`` stages at a time.

        An error, or an interruption, ends the stages beside it at their next step.
        """
        results = Results()
        watcher = watcher or Silent()
        if jobs == 1:
            for stage in self.stages:
                results.add(stage, *self._output(stage, results, watcher))
            return results
        cancelled = threading.Event()
        with ThreadPoolExecutor(jobs) as pool:

            def submit(stage: Stage[Any]) -> Future[tuple[Output[Any], float]]:
                return pool.submit(self._output, stage, results, watcher, cancelled)

            try:
                for stage, future in _as_they_end(self.stages, results, submit, jobs):
                    results.add(stage, *future.result())
            except BaseException:
                cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        results.seconds = {stage.name: results.seconds[stage.name] for stage in self.stages}
        return results

    def _output(
        self,
        stage: Stage[Made],
        results: Results,
        watcher: Watcher,
        cancelled: threading.Event | None = None,
    ) -> tuple[Output[Made], float]:
        """Return what a stage made, from the store if it is there, and the seconds it took."""
        whole = all(results.complete(needed) for needed in stage.needs)
        stored = self.store.read(stage.key, stage.form) if whole else None
        if stored is not None:
            _log.debug("%s: taken from the store (%s)", stage.name, stage.key)
            watcher.ended(stage.name, 0.0, was_there=True)
            return Output(stored), 0.0
        watcher.begun(stage.name)
        began = time.perf_counter()

        def step(done: int, total: int, /, part: str = "") -> None:
            if cancelled is not None and cancelled.is_set():
                raise Cancelled
            watcher.step(stage.name, done, total, part)

        with cancellable(cancelled):  # also ends what waits inside a stage, such as a slow engine
            output = stage.work(results, step)
        seconds = time.perf_counter() - began
        if whole and output.complete:
            self.store.write(stage.key, stage.form, output.value)
        _log.debug("%s: done in %.3f s", stage.name, seconds)
        watcher.ended(stage.name, seconds, was_there=False)
        return Output(output.value, complete=whole and output.complete), seconds


def _as_they_end(
    stages: Sequence[Stage[Any]],
    results: Results,
    submit: Callable[[Stage[Any]], Future[Any]],
    jobs: int,
) -> Iterator[tuple[Stage[Any], Future[Any]]]:
    """Submit stages when all they need is in the results, and yield each when it has ended."""
    waiting = list(stages)
    running: dict[Future[Any], Stage[Any]] = {}
    while waiting or running:
        ready = [
            stage
            for stage in waiting
            if all(earlier in results for earlier in (*stage.needs, *stage.after))
        ]
        for stage in ready[: jobs - len(running)]:
            waiting.remove(stage)
            running[submit(stage)] = stage
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in ended:
            yield running.pop(future), future
