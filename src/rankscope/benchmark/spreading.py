"""Stages on other processes or machines: what may go there, and waiting for what comes back.

The driver keeps the plan and writes the experiment. A worker is sent orders (`spread_orders`) by
any `concurrent.futures.Executor`, and does them (`spread_work`). A worker that shares the cache
folder takes from there what a stage needs, and puts there what it made; to any other, these are
sent.

Some systems are asked by the driver alone, as on one machine: those that ask something outside
(rates, budgets and connections are counted in one process), engines that keep an index of their own
open, those that are asked more than once, whose answers are compared, and all if the config limits
the rate.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rankscope.benchmark.artifacts import Content, Store
from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.cache_folder import BOARD
from rankscope.benchmark.installation import installation
from rankscope.benchmark.plan import Cancelled, Output, Results, Stage, Watcher
from rankscope.benchmark.spread_orders import Order, Reply, Setup
from rankscope.benchmark.spread_work import do_stage, forget, read_progress, with_those_below
from rankscope.benchmark.systems import Systems
from rankscope.benchmark.workflow import Workflow
from rankscope.errors import InputError, shown
from rankscope.records import Machine
from rankscope.retrieval.protocol import THIS_PROCESS, all_parts, packages_of, sentence
from rankscope.retrieval.registry import PythonUse
from rankscope.retrieval.remote.loaded_engine import LoadedEngine
from rankscope.temporary import new_folder, remove, unlock

Made = TypeVar("Made")

_log = logging.getLogger(__name__)

_PAUSE = 0.1
_VISIBLE = 10.0
"""Seconds after which what one machine wrote is seen by all that share a file system."""


class WorkerFaultError(RuntimeError):
    """Something went wrong on a worker that is nobody's mistake but ours."""


def check_executor(executor: object) -> None:
    """Refuse what cannot be given work."""
    if executor is not None and not isinstance(executor, Executor):
        raise InputError(
            "executor: expected a concurrent.futures.Executor, such as ProcessPoolExecutor() or "
            f"Client.get_executor(), got {shown(executor)}"
        )


@contextmanager
def spreading(
    benchmark: Benchmark,
    systems: Systems,
    workflow: Workflow,
    executor: Executor,
    *,
    cache: Path,
    python: PythonUse,
) -> Iterator[Spread]:
    """Yield what does stages by means of an executor, which stays open."""
    board, lock = new_folder(cache, BOARD)
    taken: dict[Stage[Any], str] = {}
    for name, stage in workflow.fetches.items():
        reason = why_here(benchmark, systems, workflow, name)
        _log.debug("%s: %s", stage.name, f"done here ({reason})" if reason else "may be spread")
        if not reason:
            taken[stage] = name
    config = benchmark.loaded.config
    needed = {below for name in taken.values() for below in _below(name, benchmark)}
    sent = {name: spec for name, spec in config.systems.items() if name in needed}
    packages = {package for name in taken.values() for package in packages_of(systems[name])}
    setup = Setup(
        config=config.model_copy(update={"systems": sent}),
        folder=benchmark.loaded.folder,
        cache=cache.absolute(),
        board=board.absolute(),
        python=python,
        info=benchmark.collection.info,
        systems=benchmark.systems,
        keys=dict(benchmark.keys),
        installation=installation(*sorted(packages)),
        versions=dict(benchmark.versions),
        targets=benchmark.targets,
        fetches={name: stage.key for name, stage in workflow.fetches.items()},
        again={
            name: tuple(stage.key for stage in stages) for name, stages in workflow.again.items()
        },
        exactness={name: stage.key for name, stage in workflow.exactness.items()},
    )
    here: set[Stage[Any]] = {
        *(stage for stage in workflow.fetches.values() if stage not in taken),
        *(stage for stages in workflow.again.values() for stage in stages),
        *workflow.exactness.values(),
    }
    try:
        yield Spread(executor, setup, benchmark, taken, frozenset(here))
    finally:
        remove(board)  # which ends what workers still do
        unlock(lock)
        forget(setup)


def why_here(benchmark: Benchmark, systems: Systems, workflow: Workflow, name: str) -> str:
    """Say why a system is asked by the driver only; '' if any worker may ask it."""
    if benchmark.loaded.config.fetch.rate is not None:
        return "fetch.rate holds for all systems together"
    if name in workflow.again:
        return "it is asked more than once"
    if name in workflow.exactness:
        return "it is compared with exact search"
    for part in all_parts(systems[name]):
        if part.capabilities.remote:
            return "it asks something outside"
        if isinstance(part, LoadedEngine):
            return "its engine keeps an index open"
    if THIS_PROCESS in str(systems[name].identity().to_dict()):
        return "what it is cannot be known in another process"
    return ""


def _below(name: str, benchmark: Benchmark) -> list[str]:
    return with_those_below(name, benchmark.systems)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Does stages of one benchmark by means of an executor."""

    executor: Executor
    setup: Setup
    benchmark: Benchmark
    fetches: Mapping[Stage[Any], str]
    """The stages that ask a system, and which."""
    here: frozenset[Stage[Any]]
    """The stages that the driver does."""

    def takes(self, stage: Stage[Any]) -> bool:
        """Tell whether a worker may do a stage."""
        return stage not in self.here

    def output(
        self, stage: Stage[Made], results: Results, watcher: Watcher, cancelled: threading.Event
    ) -> tuple[Output[Made], float]:
        """Let a worker do a stage, and return what it made.

        What could not be kept, as a query has failed, no worker can find, so it is sent; and so is
        whatever a worker says that it misses.
        """
        needs = {needed.key: needed for needed in stage.needs}
        system = self.fetches.get(stage)
        config, secrets = self.benchmark.loaded.config, self.benchmark.loaded.secrets
        order = Order(
            setup=self.setup,
            stage=stage.name,
            key=stage.key,
            system=system,
            secrets=()
            if system is None
            else secrets.names_in(
                [config.systems[name] for name in _below(system, self.benchmark)]
            ),
            is_whole=all(results.complete(needed) for needed in stage.needs),
        )
        missing = [key for key, needed in needs.items() if not results.complete(needed)]
        while True:
            if missing:
                given = {key: _packed(needs[key], results) for key in missing}
                order = replace(order, given={**order.given, **given})
            reply = self._reply(order, watcher, cancelled)
            missing = [key for key in reply.missing if key not in order.given]
            if not missing:
                break
        output = self._made(stage, reply)
        results.places[stage.name] = _known(reply.machine)
        return output, reply.seconds

    def _reply(self, order: Order, watcher: Watcher, cancelled: threading.Event) -> Reply:
        """Hand out an order, show how far it is, and wait for the reply."""
        future: Future[Reply] | None = None
        shown_last: tuple[int, int, str] | None = None
        try:
            future = self.executor.submit(do_stage, order)
            while not future.done():
                if cancelled.wait(_PAUSE):
                    future.cancel()
                    raise Cancelled
                progress = read_progress(self.setup.board / order.key)
                if progress is not None and progress != shown_last:
                    if shown_last is None:
                        watcher.begun(order.stage)
                    if progress[1]:
                        watcher.step(order.stage, *progress)
                    shown_last = progress
            return future.result()
        except Cancelled:
            raise
        except Exception as error:  # of the executor: what a stage raises is in its reply
            raise InputError(
                f"stage {order.stage} could not be done by the executor ({sentence(error)}); see "
                "whether a worker ran out of memory, then run this again: what is done is kept"
            ) from error

    def _made(self, stage: Stage[Made], reply: Reply) -> Output[Made]:
        """Return what a worker made, or raise what it says went wrong."""
        if reply.error:
            raise InputError(reply.error)
        if reply.fault:
            first, _, rest = reply.fault.partition("\n")
            fault = WorkerFaultError(f"stage {stage.name}, {first}")
            fault.add_note(rest)
            raise fault
        if reply.content is not None:
            value = stage.form.unpack(Content.from_bytes(reply.content))
            return Output(value, complete=reply.complete)
        store, end = Store(self.setup.cache), time.monotonic() + _VISIBLE
        while (kept := store.read(stage.key, stage.form)) is None:
            if time.monotonic() > end:
                raise InputError(
                    f"stage {stage.name}: what a worker put into the cache {self.setup.cache} "
                    "cannot be read here; check the file system that they share"
                )
            time.sleep(_PAUSE)
        return Output(kept, kept=True)


def _packed(stage: Stage[Any], results: Results) -> bytes:
    return stage.form.pack(results[stage]).to_bytes()


def _known(machine: Machine | None) -> Machine:
    assert machine is not None
    return machine
