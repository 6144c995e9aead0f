"""Who does the work: this process, processes of its own, any executor, a Dask cluster.

`Workers.map` is the one way to hand out work. Results come in the order of the tasks, and only a
few more tasks are handed out than results were taken, so memory is bounded. What a worker that
died was working on is done again.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

T = TypeVar("T")
R = TypeVar("R")

DEATHS = 3
"""So often in a row workers may die before it is given up."""

_AHEAD = 2  # tasks for each worker that are handed out


class Workers:
    """An executor, or none: then this process works itself."""

    def __init__(self, executor: Executor | None) -> None:
        self._executor = executor
        self._replacement: ProcessPoolExecutor | None = None

    @property
    def count(self) -> int:
        """How many tasks can be worked on at a time, as far as it is known."""
        client = getattr(self._executor, "_client", None)
        if client is not None:  # of Dask
            return max(int(sum(client.nthreads().values())), 1)
        known = getattr(self._executor, "_max_workers", None)
        return int(known) if known else os.cpu_count() or 1

    def map(self, function: Callable[..., R], tasks: Iterable[T], *common: Any) -> Iterator[R]:
        """Yield ``function(task, *common)`` for each task, in their order."""
        if self._executor is None:
            for task in tasks:
                yield function(task, *common)
            return
        coming = iter(tasks)
        waiting: deque[tuple[T, Future[R]]] = deque()
        deaths = 0
        ahead = _AHEAD * self.count
        try:
            while True:
                while len(waiting) < ahead and (task := next(coming, _END)) is not _END:
                    waiting.append((task, self._submit(function, task, *common)))
                if not waiting:
                    return
                try:
                    result = waiting[0][1].result()
                except BaseException as error:
                    if not _is_death(error):
                        raise
                    if isinstance(error, BrokenExecutor) and hasattr(self._executor, "_client"):
                        raise InputError(  # Dask has tried again itself
                            f"the cluster cannot finish the work: {error}; start workers with more "
                            "memory, and run this again"
                        ) from None
                    deaths += 1
                    if deaths > DEATHS:
                        raise InputError(
                            f"workers died {deaths} times in a row at the same piece of work "
                            f"({type(error).__name__}: {shown(str(error), 120)}); give them more "
                            "memory, or take fewer at a time"
                        ) from None
                    waiting = deque(self._again(function, waiting, common))
                    continue
                waiting.popleft()
                deaths = 0
                yield result
        finally:
            for _, future in waiting:
                future.cancel()

    def _again(
        self, function: Callable[..., R], waiting: deque[tuple[T, Future[R]]], common: Any
    ) -> Iterator[tuple[T, Future[R]]]:
        """Hand out once more what died or will never be begun."""
        for task, future in waiting:
            lost = future.cancelled() or (future.done() and _is_death(future.exception()))
            yield task, self._submit(function, task, *common) if lost else future

    def _submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        try:
            return (self._replacement or self._current).submit(function, *arguments)
        except BrokenExecutor:
            # a pool whose process died takes no more work; another of its size goes on
            self._close()
            self._replacement = process_pool(self.count)
            return self._replacement.submit(function, *arguments)

    @property
    def _current(self) -> Executor:
        if self._executor is None:
            raise RuntimeError("there is no executor")
        return self._executor

    def _close(self) -> None:
        if self._replacement is not None:
            self._replacement.shutdown(wait=False, cancel_futures=True)
            self._replacement = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


_END: Any = object()


def _is_death(error: BaseException | None) -> bool:
    """Tell whether an error says that a worker died, and nothing about its work."""
    if isinstance(error, BrokenExecutor | CancelledError):
        return True
    return type(error).__name__ in {"KilledWorker", "CommClosedError", "FutureCancelledError"}


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
