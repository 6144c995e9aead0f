"""Who does the work: this process, processes of its own, any executor, a Dask cluster.

`Workers.map` is the one way to hand out work. Results come in the order of the tasks, and only a
few more tasks are handed out than results were taken, so memory is bounded. What a worker that
died was working on is done again.
"""

from __future__ import annotations

import os
import time
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from rankscope.errors import InputError, shown
from rankscope.retrieval.waiting import within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

T = TypeVar("T")
R = TypeVar("R")

DEATHS = 3
"""So often in a row workers may die before it is given up."""

WITHOUT_WORKERS = 30.0
"""Seconds that a cluster may be without any worker, as when all of them are started again."""

_AHEAD = 2  # tasks for each worker that are handed out
_PAUSE = 1.0  # seconds after which a cluster is asked whether it is still there


class Workers:
    """An executor, or none: then this process works itself."""

    def __init__(self, executor: Executor | None) -> None:
        self._executor = executor
        self._cluster: Any = getattr(executor, "_client", None)  # of Dask
        self._replacement: ProcessPoolExecutor | None = None

    @property
    def count(self) -> int:
        """How many tasks can be worked on at a time, as far as it is known."""
        if self._cluster is not None:
            return max(int(sum(self._cluster.nthreads().values())), 1)
        known = getattr(self._executor, "_max_workers", None)
        return int(known) if known else os.cpu_count() or 1

    def map(self, function: Callable[..., R], tasks: Iterable[T], *common: Any) -> Iterator[R]:
        """Yield ``function(task, *common)`` for each task, in their order."""
        if self._executor is None:
            yield from (function(task, *common) for task in tasks)
            return
        coming, deaths, ahead = iter(tasks), 0, _AHEAD * self.count
        waiting: deque[tuple[T, Future[R]]] = deque()
        try:
            while True:
                for task in islice(coming, ahead - len(waiting)):
                    waiting.append((task, self._submit(function, task, *common)))
                if not waiting:
                    return
                try:
                    result = self._result(waiting[0][1])
                except BaseException as error:
                    if not _is_death(error):
                        raise
                    deaths += 1
                    self._give_up(error, deaths)
                    for place, (task, future) in enumerate(waiting):
                        if future.done() and (future.cancelled() or _is_death(future.exception())):
                            waiting[place] = task, self._submit(function, task, *common)
                    continue
                waiting.popleft()
                deaths = 0
                yield result
        finally:
            for _, future in waiting:
                future.cancel()

    def _result(self, future: Future[R]) -> R:
        """Wait for a result, but not for a cluster that is gone."""
        seen = time.monotonic()
        while self._cluster is not None and not future.done():
            try:
                return future.result(timeout=_PAUSE)
            except TimeoutError:
                if has_workers(self._cluster):
                    seen = time.monotonic()
                if time.monotonic() - seen > WITHOUT_WORKERS:
                    raise InputError(
                        f"the cluster has had no worker for {WITHOUT_WORKERS:g} s; start some"
                    ) from None
        return future.result()

    def _give_up(self, error: BaseException, deaths: int) -> None:
        """Raise if workers die again and again; Dask has tried by itself."""
        if type(error).__name__ == "KilledWorker" or deaths > DEATHS:
            raise InputError(
                "workers died again and again; give them more memory "
                f"({type(error).__name__}: {shown(str(error), 120)})"
            ) from None

    def _submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        assert self._executor is not None
        try:
            return (self._replacement or self._executor).submit(function, *arguments)
        except BrokenExecutor:
            # a pool whose process died takes no more work; another of its size goes on
            self._close()
            self._replacement = process_pool(self.count)
            return self._replacement.submit(function, *arguments)
        except Exception as error:  # of Dask's own, of any kind
            if self._cluster is None:
                raise
            raise InputError(f"the cluster takes no work ({error}); start it again") from None

    def _close(self) -> None:
        if self._replacement is not None:
            self._replacement.shutdown(wait=False, cancel_futures=True)
            self._replacement = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _is_death(error: BaseException | None) -> bool:
    """Tell whether an error says that a worker died, and nothing about its work."""
    if isinstance(error, BrokenExecutor | CancelledError):
        return True
    return type(error).__name__ in {"KilledWorker", "CommClosedError", "FutureCancelledError"}


def has_workers(client: Any) -> bool:
    """Tell whether a Dask cluster answers, and has a worker."""
    try:
        return bool(within(WITHOUT_WORKERS, client.ncores, None))
    except Exception:  # of whatever kind: nobody answers
        return False


def process_pool(count: int) -> ProcessPoolExecutor:
    """Return a pool of new processes, which share the cores among them."""
    from multiprocessing import get_context  # noqa: PLC0415

    cores = max((os.cpu_count() or 1) // count, 1)
    return ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_begin, initargs=(cores,)
    )


def _begin(cores: int) -> None:
    """Set a new process up, before Polars is loaded in it."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(cores))


@contextmanager
def workers_of(*, workers: int = 1, cluster: str | None = None) -> Iterator[Executor | None]:
    """Start processes, or connect to a Dask cluster; None if this process is to work itself."""
    if cluster is not None:
        from rankscope.scale.dask_cluster import connected  # noqa: PLC0415

        with connected(cluster) as executor:
            yield executor
    elif workers > 1:
        with process_pool(workers) as pool:
            yield pool
    else:
        yield None
