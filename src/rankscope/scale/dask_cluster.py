"""A Dask cluster that somebody started: connecting to it, checking it, and work for its workers.

`connect` refuses a cluster that cannot be reached, has no workers, or whose workers have another
installation than this machine. `executor_of` makes a `concurrent.futures.Executor` of the client.
Dask itself gives the work of a worker that was killed to another one, a few times. What is left to
see here is that the cluster has no worker any more, or is gone: then nothing waits for ever.

Dask sends functions and values as pickles, and workers run what they are sent, so a cluster has to
be trusted, and kept from others.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import engine
from rankscope.retrieval.waiting import TimedOutError, within
from rankscope.scale.installation import difference, installation

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

PATIENCE = 10.0
"""Seconds within which a scheduler has to answer, and to have a worker."""

WITHOUT_WORKERS = 30.0
"""Seconds that a cluster may be without any worker, as when all of them are started again."""

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):([0-9]{1,5})/?")
_PAUSE = 0.5


def connect(address: str, *, patience: float = PATIENCE) -> Any:
    """Return a client of the cluster whose scheduler is at an address such as tcp://host:8786.

    It is closed by whoever asked for it. It is not the default client of the process.

    Raises:
        InputError: nobody answers within ``patience`` seconds, there is no worker, or a worker has
            another installation than this machine.
        MissingExtraError: the package distributed is not installed.
    """
    host, port = _host_and_port(address)
    distributed = engine(
        "distributed", package="distributed", needed_for="a cluster", extra="cluster"
    )
    end = time.monotonic() + patience
    _reach(address, host, port, patience)
    try:
        client = within(
            max(end - time.monotonic(), 1.0), lambda: _client(distributed, address), None
        )
    except (TimedOutError, OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{shown(address)}: no Dask scheduler answered within {patience:g} s; check that this "
            f"is the address of one, and that it has the same version of distributed "
            f"({distributed.__version__})"
        ) from error
    try:
        _check_workers(client, address, patience)
    except BaseException:
        client.close(timeout=1)
        raise
    return client


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Yield an executor of a cluster, for as long as it is needed; Dask logs nothing meanwhile."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # it would write to the terminal, below the progress
    try:
        client = connect(address)
        try:
            with executor_of(client) as executor:
                yield executor
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)
    finally:
        logger.setLevel(level)


def executor_of(client: Any) -> Executor:
    """Return an executor whose calls are made by the workers of a client's cluster.

    A call is made again, by another worker, if its worker was killed, as often as the scheduler
    allows (``distributed.scheduler.allowed-failures``). If that was too often, or there are no more
    workers, its future has a `BrokenExecutor`. Leaving it as a context cancels what is not done;
    the client stays open.
    """
    return _DaskExecutor(client)


def _host_and_port(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise InputError(
            f"expected the address of a Dask scheduler as tcp://host:port, got {shown(address)}"
        )
    return match[2].strip("[]"), int(match[3])


def _reach(address: str, host: str, port: int, patience: float) -> None:
    """Refuse an address where nobody listens, at once and with the reason."""
    try:
        with socket.create_connection((host, port), timeout=patience):
            pass
    except OSError as error:
        raise InputError(
            f"{shown(address)}: no Dask scheduler can be reached there "
            f"({error.strerror or 'no answer'}); start one with 'dask scheduler', or check the "
            "address"
        ) from error


def _client(distributed: Any, address: str) -> Any:
    with warnings.catch_warnings():
        # versions are checked here, and more strictly
        warnings.filterwarnings("ignore", category=distributed.versions.VersionMismatchWarning)
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)


def _check_workers(client: Any, address: str, patience: float) -> None:
    """Refuse a cluster without workers, and workers that would compute something else."""
    end = time.monotonic() + patience
    while not _worker_count(client):
        if time.monotonic() > end:
            raise InputError(
                f"{shown(address)}: the cluster has no workers; start some with 'dask worker "
                f"{address}'"
            )
        time.sleep(0.1)
    here = installation()
    try:
        everywhere = client.run(installation)
    except Exception as error:  # whatever happens where there is no rankscope, or an older one
        raise InputError(
            f"{shown(address)}: a worker cannot run this version of rankscope ({sentence(error)}); "
            "install the same version on all workers"
        ) from error
    for worker, there in everywhere.items():
        problem = difference(here, there)
        if problem is not None:
            raise InputError(
                f"worker {worker} has {problem}; results would not be the same, so install the "
                "same versions everywhere"
            )


def _worker_count(client: Any) -> int:
    return len(client.ncores())


class _DaskExecutor(Executor):
    """Calls on a cluster; a thread looks now and then whether there still is one."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._calls = client.get_executor(pure=False)
        self._pending: dict[Future[Any], Future[Any]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(
        self,
        call: Callable[Arguments, Answer],
        /,
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Future[Answer]:
        """Let a worker make a call."""
        if self._closed.is_set():
            raise RuntimeError("the executor was shut down")
        inner = self._calls.submit(call, *arguments, **options)
        outer: Future[Answer] = Future()
        with self._lock:
            self._pending[outer] = inner
        outer.add_done_callback(self._forget)
        inner.add_done_callback(lambda done: _pass_on(done, outer))
        return outer

    def _forget(self, outer: Future[Any]) -> None:
        with self._lock:
            inner = self._pending.pop(outer, None)
        if inner is not None and outer.cancelled():
            inner.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Cancel what is not done yet: whoever leaves does not want it any more."""
        self._closed.set()
        with self._lock:
            pending = dict(self._pending)
        for outer, inner in pending.items():
            outer.cancel()
            inner.cancel()

    def _watch(self) -> None:
        """End all that is waited for once the cluster is gone, or has had no worker for long."""
        seen = time.monotonic()
        while not self._closed.wait(_PAUSE):
            problem = ""
            try:
                if self._client.status not in ("running", "connecting"):
                    problem = "the connection to the scheduler is lost"
                elif within(WITHOUT_WORKERS, lambda: _worker_count(self._client), None):
                    seen = time.monotonic()
            except Exception as error:  # of whatever kind: nobody answers
                problem = f"the scheduler does not answer ({sentence(error)})"
            if not problem and time.monotonic() - seen > WITHOUT_WORKERS:
                problem = f"the cluster has had no worker for {WITHOUT_WORKERS:g} s"
            if problem:
                self._break(problem)
                return

    def _break(self, problem: str) -> None:
        with self._lock:
            pending = list(self._pending)
        for outer in pending:
            with suppress(InvalidStateError):
                outer.set_exception(BrokenExecutor(problem))


def _pass_on(inner: Future[Any], outer: Future[Any]) -> None:
    """Give a future what another one has; an error of Dask's own is that the executor is broken."""
    with suppress(InvalidStateError):  # cancelled, or broken meanwhile
        if inner.cancelled():
            outer.set_exception(BrokenExecutor("the scheduler dropped the call"))
            return
        error = inner.exception()
        if error is None:
            outer.set_result(inner.result())
        elif type(error).__name__ == "KilledWorker":
            times = getattr(error, "allowed_failures", 0) + 1
            outer.set_exception(
                BrokenExecutor(f"{times} workers were killed while they worked on it")
            )
        else:
            outer.set_exception(error)
