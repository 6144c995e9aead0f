"""What a worker does: it makes a benchmark from an order, does one stage, and replies.

A process keeps the last benchmark that it made, with what its stages made so far, for as long as
orders for it come: judgments are read and prepared once, and a run is read once. Nothing is raised
from here: what goes wrong is a sentence in the reply, so that it is the same on the driver whatever
brings it there.
"""

from __future__ import annotations

import os
import platform
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.approximating import exactness_title
from rankscope.benchmark.artifacts import Content, PartForm, Store
from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.config.secrets import Secrets
from rankscope.benchmark.environment import machine
from rankscope.benchmark.fetching import FetchedForm, fetch_stage
from rankscope.benchmark.installation import difference, installation
from rankscope.benchmark.plan import Cancelled, Output, Results, Stage, Step
from rankscope.benchmark.spread_orders import Order, Reply, Setup
from rankscope.benchmark.systems import Systems
from rankscope.benchmark.workflow import make_workflow
from rankscope.errors import InputError, RankscopeError
from rankscope.retrieval.progress import cancellable
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.remote.engine_folder import passing_folder
from rankscope.retrieval.stages.stage import Memory
from rankscope.runs.exactness import Exactness

IDLE = 60.0
"""Seconds after which a worker forgets a benchmark that nobody asks about any more."""

_PAUSE = 0.2


def do_stage(order: Order) -> Reply:
    """Do a stage where this is called, and say what became of it."""
    secrets = Secrets({name: os.environ.get(name, "") for name in order.secrets})
    try:
        with secrets.hidden_in_errors():
            return _reply(order, secrets)
    except (Cancelled, CancelledError):
        return Reply(error=f"stage {order.stage} was cancelled")
    except RankscopeError as error:
        return Reply(error=str(error))
    except MemoryError:
        return Reply(error=f"stage {order.stage}: not enough memory on {platform.node()}")
    except OSError as error:
        if error.filename is None:
            return Reply(fault=f"{sentence(error)}\n{traceback.format_exc()}")
        return Reply(error=f"{error.filename}: {error.strerror or error}")
    except Exception as error:
        return Reply(fault=f"{sentence(error)}\n{traceback.format_exc()}")


def _reply(order: Order, secrets: Secrets) -> Reply:
    bench = _KEPT.get(order.setup)
    if order.system is not None:
        with bench.fetching(order, secrets) as fetching:
            return bench.do(order, fetching)
    stage = bench.stages.get(order.key)
    if stage is None:
        raise InputError(
            f"worker {platform.node()} cannot do the stage {order.stage}, as it is another one "
            "there; register analyses and measures of your own on the workers, too"
        )
    missing = bench.missing(order, stage)
    return Reply(missing=missing) if missing else bench.do(order, stage)


class _Bench:
    """A benchmark, made again from its setup."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        node = platform.node()
        problem = difference(setup.installation, installation(*setup.installation))
        if problem is not None:
            raise InputError(
                f"worker {node} has {problem}; results would not be the same, so install the same "
                "versions everywhere"
            )
        self.shares_cache = setup.board.is_dir()
        self.cache = setup.cache if self.shares_cache else passing_folder(self)
        loaded = LoadedConfig(setup.config, setup.folder, {}, Secrets(), ())
        try:
            collection = load_collection(loaded, self.cache)
        except RankscopeError as error:
            raise InputError(
                f"worker {node} cannot read the collection ({error}); a worker reads the files of "
                "a config by the same paths as this machine"
            ) from error
        for name, value in setup.info:
            if name != "training" and value != getattr(collection.info, name):
                raise InputError(
                    f"worker {node} reads another collection than this machine ({name} differs); "
                    "put the same files under the same paths"
                )
        self.benchmark = Benchmark(
            loaded,
            replace(collection, info=setup.info),
            setup.systems,
            setup.keys,
            setup.versions,
            setup.targets,
        )
        self.store = Store(self.cache)
        workflow = make_workflow(
            self.benchmark,
            {name: _made_before(f"fetch {name}", key) for name, key in setup.fetches.items()},
            again={
                name: [_made_before(f"fetch {name} again", key) for key in keys]
                for name, keys in setup.again.items()
            },
            exactness={
                name: Stage(exactness_title(name), key, _not_here, PartForm(Exactness))
                for name, key in setup.exactness.items()
            },
        )
        self.stages = {stage.key: stage for stage in workflow.stages()}
        self.results = Results()
        self._reading = threading.Lock()

    @contextmanager
    def fetching(self, order: Order, secrets: Secrets) -> Iterator[Stage[Any]]:
        """Yield the stage that makes the run of a system, which is closed afterwards."""
        assert order.system is not None
        for name in order.secrets:
            if not os.environ.get(name):
                raise InputError(
                    f"system {order.system}: the environment variable {name} is not set on the "
                    f"worker {platform.node()}; set it where workers are started, as secrets are "
                    "not sent to them"
                )
        setup, loaded = self.setup, replace(self.benchmark.loaded, secrets=secrets)
        wanted = with_those_below(order.system, setup.systems)
        specs = secrets.expand({name: setup.config.systems[name] for name in wanted})
        systems = Systems(
            specs,
            self.benchmark.collection,
            folder=setup.folder,
            cache=self.cache,
            memory=Memory(),
            python=setup.python,
        )
        with closing(systems):
            if systems[order.system].identity().key != setup.keys[order.system]:
                raise InputError(
                    f"system {order.system} is another one on the worker {platform.node()}; put "
                    "the same code, models and packages there"
                )
            benchmark = replace(self.benchmark, loaded=loaded)
            yield fetch_stage(benchmark, systems, self.cache, order.system, after=())

    def missing(self, order: Order, stage: Stage[Any]) -> tuple[str, ...]:
        """Get what a stage needs, and return the keys of what cannot be had here."""
        missing = []
        with self._reading:
            for needed in stage.needs:
                if needed in self.results:
                    continue
                content = order.given.get(needed.key)
                if content is not None:
                    value = needed.form.unpack(Content.from_bytes(content))
                else:
                    value = self.store.read(needed.key, needed.form) if self.shares_cache else None
                if value is None:
                    missing.append(needed.key)
                else:
                    self.results.add(needed, Output(value), 0.0)
        return tuple(missing)

    def do(self, order: Order, stage: Stage[Any]) -> Reply:
        """Do a stage, and keep its result where the driver finds it, or send it."""
        began = time.perf_counter()
        with _watched(self.setup.board, order.key) as (step, cancelled), cancellable(cancelled):
            output = stage.work(self.results, step)
            if cancelled.is_set():
                raise Cancelled
        seconds = time.perf_counter() - began
        here = machine()
        if self.shares_cache and order.is_whole and output.complete:
            self.store.write(stage.key, stage.form, output.value)
            return Reply(seconds, here)
        content = stage.form.pack(output.value).to_bytes()
        return Reply(seconds, here, complete=output.complete, content=content)


def with_those_below(name: str, systems: Mapping[str, Any]) -> list[str]:
    """Return a system and all that it asks, through others too."""
    wanted, waiting = [name], [name]
    while waiting:
        more = [below for below in systems[waiting.pop()].of if below not in wanted]
        wanted += more
        waiting += more
    return wanted


def _made_before(title: str, key: str) -> Stage[Any]:
    """Return the stage of a run that is made by another order."""
    return Stage(title, key, _not_here, FetchedForm())


def _not_here(_: Results, __: Step) -> Output[Any]:
    raise AssertionError("this stage is not done here")


# --- what a process keeps -------------------------------------------------------------------------


class _Kept:
    """The benchmark that this process works on; it is forgotten if nobody asks for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bench: _Bench | None = None
        self._timer: threading.Timer | None = None

    def get(self, setup: Setup) -> _Bench:
        with self._lock:
            bench = self._bench
            if bench is None or bench.setup.board != setup.board:
                self._bench = None  # two of them may not fit into memory
                bench = _Bench(setup)
                self._bench = bench
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE, self.forget, [setup.board])
            self._timer.daemon = True
            self._timer.start()
        return bench

    def forget(self, board: Path) -> None:
        with self._lock:
            if self._bench is not None and self._bench.setup.board == board:
                self._bench = None


_KEPT = _Kept()


def forget(setup: Setup) -> None:
    """Forget a benchmark, if this process has worked on it."""
    _KEPT.forget(setup.board)


# --- the board ------------------------------------------------------------------------------------


@contextmanager
def _watched(board: Path, key: str) -> Iterator[tuple[Step, threading.Event]]:
    """Yield what writes on the board how far a stage is, and what is set once the board is gone.

    Without a board, as of a driver on another file system, nothing is written, and nobody cancels.
    """
    cancelled, over = threading.Event(), threading.Event()
    place, last = board / key, 0.0

    def look() -> None:
        while not over.wait(_PAUSE):
            if not board.is_dir():
                cancelled.set()
                return

    def step(done: int, total: int, /, part: str = "") -> None:
        nonlocal last
        if cancelled.is_set():
            raise Cancelled
        if has_board and (done == total or time.monotonic() - last > _PAUSE):
            last = time.monotonic()
            write_progress(place, done, total, part)

    has_board = board.is_dir()
    if has_board:
        write_progress(place, 0, 0)
        threading.Thread(target=look, daemon=True).start()
    try:
        yield step, cancelled
    finally:
        over.set()


def write_progress(place: Path, done: int, total: int, part: str = "") -> None:
    """Write how far a stage is; it is only to be looked at, so it may fail."""
    with suppress(OSError):
        new = place.with_name(f"{place.name}.{threading.get_ident()}.{os.getpid()}")
        new.write_text(f"{done} {total} {part}", encoding="utf-8")
        new.replace(place)


def read_progress(place: Path) -> tuple[int, int, str] | None:
    """Return how far a stage is; None if it has not begun, or nobody can see it."""
    try:
        done, total, part = place.read_text(encoding="utf-8").split(" ", 2)
        return int(done), int(total), part
    except (OSError, ValueError):
        return None
